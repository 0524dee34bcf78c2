package room

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Unwritable says why a folder could not be written to, "" if it could: it is
// there, or its nearest parent would take it.
func Unwritable(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		switch {
		case err == nil && !fi.IsDir():
			return at + " is not a directory"
		case err == nil:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return fmt.Sprintf("%s cannot be written to: %v", at, err)
			}
			return ""
		case !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at):
			return err.Error()
		}
	}
}
