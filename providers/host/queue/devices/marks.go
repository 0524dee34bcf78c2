package devices

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers/host/gpu"
)

// Marks are how each of a job's devices was when the job was started, by the
// device's name.
type Marks map[string]mark

type mark struct {
	xids int   // critical errors (Xid) that it had told
	used int64 // bytes in use; -1 = unknown
}

// Mark takes devices as they were last read.
func (r *Rack) Mark(names []string) Marks {
	if len(names) == 0 {
		return nil
	}
	m := Marks{}
	for _, d := range r.list {
		if slices.Contains(names, d.ID()) {
			m[d.ID()] = mark{len(d.Xid), d.Used}
		}
	}
	return m
}

// Since reads the devices and returns the errors that have come up on them.
func (m Marks) Since(ctx context.Context, r gpu.Reader) (xids []int) {
	if len(m) == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, readTimeout)
	defer stop()
	list, err := r.Devices(ctx)
	if err != nil {
		return nil // a driver that does not answer tells of no job in particular
	}
	for _, d := range list {
		if was, ours := m[d.ID()]; ours && len(d.Xid) > was.xids {
			xids = append(xids, d.Xid[was.xids:]...)
		}
	}
	return xids
}
