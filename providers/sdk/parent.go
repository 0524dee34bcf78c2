package sdk

import (
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-plugin"

	"github.com/muster-run/muster/internal/kernel"
)

const parentPoll = 500 * time.Millisecond // between two looks at the parent

// onOrphaned stops the process when the muster that started it is gone. On
// Linux the parent-death signal is faster; this also covers a parent that
// died before it was asked for, and other systems.
func (s *stopper) onOrphaned(parent string) {
	want, named := kernel.ParseID(parent)
	first := os.Getppid()
	for ; ; time.Sleep(parentPoll) {
		now := os.Getppid()
		if now == first && (!named || want.Alive()) {
			continue
		}
		s.deadline()
		removeSocket()
		s.stop()
		return
	}
}

// removeSocket removes the socket, as the parent would have done after the
// end.
func removeSocket() {
	dir := os.Getenv(plugin.EnvUnixSocketDir)
	if dir == "" {
		return
	}
	_ = os.RemoveAll(dir)
	_ = os.Remove(filepath.Dir(dir)) // the last one takes the parent's folder along
}
