package devices

import (
	"strconv"

	"github.com/muster-run/muster/providers/host/gpu"
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
			environ := process.Environ(p.PID)
			var o owner
			o.session, _ = process.Session(p.PID)
			o.token, _ = process.Variable(environ, "MUSTER_TOKEN")
			o.attempt, _ = process.Variable(environ, "MUSTER_ATTEMPT")
			owners[p.PID] = o
		}
	}
	return owners
}

// A Launch is a job on its devices: its processes are those that hold its
// token, and those of the session that its wrapper leads.
type Launch struct {
	Token   string
	Attempt int
	Session int // 0 = unknown
	Devices []string
	Before  Marks // nil = unknown
}

// Used is what a launch had in use on one of its devices, the most of them, in
// bytes; -1 = of which it was the most nobody knows.
func (s Reading) Used(l Launch) int64 {
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

// of reports whether a process is one of a launch.
func (o owner) of(l Launch) bool {
	return o.token == l.Token && o.attempt == strconv.Itoa(l.Attempt) || o.session != 0 && o.session == l.Session
}
