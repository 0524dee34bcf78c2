//go:build !linux

package gpu

import (
	"errors"
	"os"
)

// Lock needs Linux's abstract sockets.
func Lock(string) (*os.File, error) {
	return nil, errors.New("GPUs can be locked on Linux only")
}

// Holder needs Linux's abstract sockets.
func Holder(string) string { return "" }
