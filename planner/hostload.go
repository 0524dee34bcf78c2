package planner

import "time"

// A hostLoad is how long every host is busy with all that it has, as if it were cut
// into shares: a job of which a host runs eight at once takes an eighth of its
// time. It goes over all phases of one arrangement.
type hostLoad struct {
	busy  map[[2]string]float64 // seconds, by backend and host
	index map[string]int        // of hosts with files of their own, for masks
}

// newHostLoad is that of hosts with nothing to do.
func newHostLoad() *hostLoad {
	return &hostLoad{busy: map[[2]string]float64{}, index: map[string]int{}}
}

// A host is one that jobs of a request may go to.
type host struct {
	Backend, Pool string
	Place         uint16  // its placement in the phase
	Share         float64 // of it that one job takes, of a slow host more
	Bit           uint64  // of its files; 0 = they are everybody's
}

// Bit is the bit of a host's files in masks; the few hosts after the 64th have
// none, and no job stays near them.
func (l *hostLoad) Bit(files string) uint64 {
	at, ok := l.index[files]
	if !ok {
		at = len(l.index)
		l.index[files] = at
	}
	if at >= 64 {
		return 0
	}
	return 1 << at
}

// Apart reports whether any host has files of its own.
func (l *hostLoad) Apart() bool { return len(l.index) > 0 }

// Begin counts in how long a host is waited for, unless it is known already.
func (l *hostLoad) Begin(h host, wait time.Duration) {
	key := [2]string{h.Backend, h.Pool}
	if _, ok := l.busy[key]; !ok {
		l.busy[key] = wait.Seconds()
	}
}

// Add counts in seconds for which a host is busy.
func (l *hostLoad) Add(backend, pool string, seconds float64) {
	l.busy[[2]string{backend, pool}] += seconds
}

// Put counts in a job that takes so long on a host.
func (l *hostLoad) Put(h host, each time.Duration) { l.Add(h.Backend, h.Pool, h.Share*each.Seconds()) }

// Choose is the host that is through with a job first. A host to which its
// inputs must be copied first counts as if the job took as long again for each.
func (l *hostLoad) Choose(of []host, each time.Duration, near *nearness, cell int) host {
	best, least := of[0], 0.0
	for k, h := range of {
		end := l.busy[[2]string{h.Backend, h.Pool}] + (h.Share+float64(near.away(cell, h.Bit)))*each.Seconds()
		if k == 0 || end < least {
			best, least = h, end
		}
	}
	return best
}
