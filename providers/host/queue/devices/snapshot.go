package devices

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers/host/gpu"
)

// A Snapshot is how each of a job's devices was when the job was started, by the
// device's name.
type Snapshot map[string]deviceState

type deviceState struct {
	xids int   // critical errors (Xid) that it had reported
	used int64 // bytes in use; -1 = unknown
}

// Snapshot takes devices as they were last read.
func (r *Allocator) Snapshot(names []string) Snapshot {
	if len(names) == 0 {
		return nil
	}
	m := Snapshot{}
	for _, d := range r.list {
		if slices.Contains(names, d.ID()) {
			m[d.ID()] = deviceState{len(d.Xid), d.Used}
		}
	}
	return m
}

// Since reads the devices and returns the errors that have come up on them.
func (m Snapshot) Since(ctx context.Context, r gpu.Reader) (xids []int) {
	if len(m) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, readTimeout)
	defer stop()
	list, err := r.Devices(ctx)
	if err != nil {
		return nil // without an answer from the driver, no job is at fault
	}
	for _, d := range list {
		if was, ours := m[d.ID()]; ours && len(d.Xid) > was.xids {
			xids = append(xids, d.Xid[was.xids:]...)
		}
	}
	return xids
}
