package file

import (
	"os"
	"time"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/state/store"
)

// A holder identifies one process among all others.
type holder struct {
	host    string
	machine string // id of this installation
	boot    string // id of this boot
	space   string // pid namespace: pids mean nothing outside it
	booted  time.Time
	pid     int
	start   uint64 // of the process
}

// How a holder looks from here.
const (
	alive   = "alive"
	stopped = "stopped" // by a signal, such as Ctrl-Z in its terminal
	dead    = "dead"
	unknown = "unknown"
)

func self() holder {
	h := holder{pid: os.Getpid()}
	h.host, _ = os.Hostname()
	h.machine, h.boot, h.space, h.booted = kernel.Machine(), kernel.Boot(), kernel.Space(), kernel.Booted()
	h.start, _ = startOf(h.pid)
	return h
}

// place is a lease's boot and pid namespace.
func (h holder) place() string {
	if h.boot == "" || h.space == "" {
		return ""
	}
	return h.boot + " " + h.space
}

// judge says how the holder of a lease looks from here, and whether that is
// proven. Only the system that ran a process can prove that it ended: by its
// pid and start time, or because it was booted since. From elsewhere a holder
// that gave no sign for long looks dead, and may still be a laptop asleep.
func (h holder) judge(l store.Lease, now time.Time) (looks string, proven bool) {
	if l.Host == h.host && l.Boot != "" && l.Boot == h.place() {
		switch start, running := startOf(l.PID); {
		case !running, start != 0 && l.PIDStart != 0 && start != l.PIDStart:
			return dead, true
		}
		if p, err := kernel.Look(l.PID); err == nil && p.State == 'T' {
			return stopped, true
		}
		return alive, true
	}
	if l.Host == h.host && l.Machine != "" && l.Machine == h.machine && h.boot != "" &&
		bootOf(l.Boot) != "" && bootOf(l.Boot) != h.boot && l.Heartbeat.Before(h.booted) {
		return dead, true
	}
	switch since := now.Sub(l.Heartbeat); {
	case since > missed*heartbeat:
		return dead, false
	case since > 2*heartbeat:
		return unknown, false
	}
	return alive, false
}

func bootOf(place string) string {
	for i := range place {
		if place[i] == ' ' {
			return place[:i]
		}
	}
	return place
}
