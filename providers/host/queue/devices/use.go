package devices

import (
	"strconv"
	"time"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
)

// An owner is whose a process on a device is.
type owner struct {
	token, attempt string
	session        int
}

// ownersOf asks /proc about the processes on devices.
func ownersOf(list []gpu.Device) map[int]owner {
	owners := map[int]owner{}
	for _, d := range list {
		for _, p := range d.Processes {
			environ := kernel.Environ(p.PID)
			var o owner
			o.session, _ = process.Session(p.PID)
			o.token, _ = process.Variable(environ, "MUSTER_TOKEN")
			o.attempt, _ = process.Variable(environ, "MUSTER_ATTEMPT")
			owners[p.PID] = o
		}
	}
	return owners
}

// A Running is a job on its devices: its processes are those that hold its
// token, and those of the session that its wrapper leads.
type Running struct {
	Token   string
	Attempt int
	Session int // 0 = unknown
	Devices []string
	Before  Snapshot // nil = unknown
}

// Used is the most memory that a job has in use on one of its devices, in bytes; -1 = unknown
// for one of them.
func (s Reading) Used(l Running) int64 {
	devices := map[string]gpu.Device{}
	for _, d := range s.List {
		devices[d.ID()] = d
	}
	most := int64(0)
	for _, id := range l.Devices {
		before := int64(-1)
		if was, ok := l.Before[id]; ok {
			before = was.used
		}
		d, ok := devices[id]
		n := d.Own(func(pid int) bool { return s.owners[pid].of(l) }, before)
		if !ok || n < 0 {
			return -1
		}
		most = max(most, n)
	}
	return most
}

// Utilization is the percentage for which each of some devices was busy in the last reading;
// nil = unknown for one of them, or the reading began longer ago than within. Then soon reports
// whether another is under way.
func (r *Allocator) Utilization(names []string, within time.Duration) (percent []int, soon bool) {
	switch {
	case monotonic.Uptime()-(r.read-r.took) > within:
		return nil, r.reading
	case r.err != nil:
		return nil, false
	}
	return gpu.Selection(names).Utilization(r.list), false
}

// of reports whether a process is one of a launch.
func (o owner) of(l Running) bool {
	return o.token == l.Token && o.attempt == strconv.Itoa(l.Attempt) || o.session != 0 && o.session == l.Session
}
