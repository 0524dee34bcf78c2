// Package gpu reads the GPUs of this machine and locks them machine-wide. It
// never mistakes a driver that does not answer for a machine without GPUs.
package gpu

import (
	"context"
	"errors"
)

// A Device is one GPU, or one MIG slice of one.
type Device struct {
	Index   int    // as nvidia-smi counts; of a slice, its parent's
	UUID    string // "GPU-…", "MIG-…": the name for CUDA_VISIBLE_DEVICES
	Name    string // "NVIDIA A100-SXM4-40GB"
	Model   string // "A100"
	Memory  int64  // bytes; 0 = unknown
	Used    int64  // bytes in use by any process, without the driver's reserve; -1 = unknown
	MIG     bool   // a slice
	Parent  string // a slice's device, "" otherwise
	Healthy bool   // false: it cannot be used; Reason says why
	Reason  string
	Xid     []int // critical errors since Open, where the driver reports them
	// Utilization is the percentage of the driver's last sample, a second at most, during which a
	// kernel ran; nil = unknown, as for slices.
	Utilization *int
	// Processes are the visible ones that compute on it. In a container, or on some drivers,
	// the list is empty while Used is not.
	Processes []Process
	// Openers have the device file open where no living one of Processes uses the memory: one
	// of them may have left it behind.
	Openers []Process
}

// A Process is one process on a device.
type Process struct {
	PID     int
	User    string // name, else number; "" = unknown
	Command string // the program, and the script it runs; "" = unknown
	Used    int64  // bytes; -1 = unknown
	Defunct bool   // it has ended, and its parent has not waited for it
	Gone    bool   // it is not to be seen: dead, or of another container
}

// A Reader reads the devices of this machine. It may be used concurrently.
type Reader interface {
	// Devices answers within a few seconds; an error means that nothing is
	// known, never that there are none.
	Devices(ctx context.Context) ([]Device, error)
	Close() error
}

// ErrHeld says that another process on this machine, of whatever user, holds
// the device.
var ErrHeld = errors.New("the GPU is held by another process")

// None is a machine without GPUs.
type None struct{}

// Devices has nothing to say.
func (None) Devices(context.Context) ([]Device, error) { return nil, nil }

// Close does nothing.
func (None) Close() error { return nil }

var _ Reader = None{}

// Unreadable is a machine whose GPUs cannot be read, for the reason Err.
type Unreadable struct{ Err error }

// Devices fails.
func (u Unreadable) Devices(context.Context) ([]Device, error) { return nil, u.Err }

// Close does nothing.
func (Unreadable) Close() error { return nil }
