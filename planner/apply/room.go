package apply

import (
	"context"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// How often a volume is looked at: where jobs are started, and where launches
// wait for room.
const (
	roomEvery = time.Minute
	roomAgain = 5 * time.Second
)

// lookForRoom asks places whether the volumes where our jobs work have room:
// before anything is started there, then again and again.
func (e *engine) lookForRoom() {
	if e.halted != None || e.Plan.Destroy {
		return
	}
	for _, c := range e.contacts {
		switch now := e.Clock(); {
		case !e.looksForRoom(c) || c.looking || c.looked && c.given == 0 && !e.wantsRoom(c):
		case c.looked && now.Before(c.roomAt):
			if e.wantsRoom(c) {
				e.wakeAt(c.roomAt)
			}
			e.glance = earliest(e.glance, c.roomAt)
		default:
			e.askRoom(c)
		}
	}
}

// looksForRoom reports whether a place has volumes of its own to look at, for
// free: a host, or a login node that sees what its nodes do. On a virtual clock
// nothing fills a disk.
func (e *engine) looksForRoom(c *contact) bool {
	return c.Provider != nil && (c.Can.HostQueue || c.Can.Arrays) && !clock.IsVirtual(e.Time)
}

// wantsRoom reports whether something waits for room at a place.
func (e *engine) wantsRoom(c *contact) bool {
	for _, b := range c.lines {
		for _, p := range e.phases {
			if b.full != "" && p.queues[b.ord].Len() > 0 && !e.stopped(p) {
				return true
			}
		}
	}
	return false
}

// waitsForRoom reports whether something may start if only a volume that is
// being looked at has room again.
func (e *engine) waitsForRoom() bool {
	for _, c := range e.contacts {
		if c.looking && e.halted == None && e.wantsRoom(c) {
			return true
		}
	}
	return false
}

// askRoom asks a place beside the calls to it: nothing waits for the answer
// but, before the first one, what is to start.
func (e *engine) askRoom(c *contact) {
	first := !c.looked
	c.looking, c.looked = true, true
	if first {
		e.recovered++
	}
	var lines []*backend
	var checks []providers.Check
	for _, b := range c.lines {
		if b.pool == "" && c.Splits() {
			continue // no host of it
		}
		lines = append(lines, b)
		checks = append(checks, providers.Check{Workdir: c.Spot(b.pool).Workdir, Pool: b.pool})
	}
	provider := c.Provider
	e.Spawn(func() {
		ctx, cancel := context.WithTimeout(e.ctx, line.AskTimeout)
		defer cancel()
		found, err := provider.Preflight(ctx, c.Name, checks)
		e.Post(func() {
			c.looking = false
			if first {
				e.recovered--
				e.cancelFlights() // those that were found meanwhile
			}
			c.roomAt = e.Clock().Add(roomEvery)
			if err == nil { // else its trouble is told where it matters
				e.sawRoom(lines, found)
			}
			for _, b := range lines {
				if b.full != "" {
					c.roomAt = e.Clock().Add(roomAgain)
				}
			}
		})
	})
}

// sawRoom takes what was found of the hosts of a place, in order.
func (e *engine) sawRoom(lines []*backend, found []providers.Finding) {
	for i, b := range lines {
		full := ""
		for _, f := range found {
			if f.Pauses && (f.Check == i || f.Check < 0) {
				full = f.Detail
				break
			}
		}
		e.pause(b, full)
	}
}

// pause stops launches on a queue while its volume is full, here and in the
// queue itself, and lets them go on when there is room.
func (e *engine) pause(b *backend, full string) {
	name := providers.At(b.Name, b.pool)
	_, noted := e.st.Pauses[name] // by an earlier run, too
	was := b.full
	b.full = full
	switch {
	case full != "" && was == "":
		if !noted {
			e.emit(state.Paused{Pause: state.Pause{Backend: name, Reason: full, At: e.Clock()}})
		}
		e.report.note(e, b.title(), b.title()+" starts nothing until there is room, and the others go on: "+full, true)
		e.withdrawUnsent(b, b.title()+" has no room")
		e.controlQueued(func(f *flight) bool { return f.b == b }, true)
	case full == "" && noted:
		e.emit(state.Unpaused{Backend: name, At: e.Clock()})
		e.report.note(e, b.title(), b.title()+" has room again", false)
		e.controlQueued(func(f *flight) bool { return f.b == b && e.mayStart(f) }, false)
	}
}

// mayStart reports whether nothing keeps a queue from starting a flight.
func (e *engine) mayStart(f *flight) bool {
	return f.b.full == "" && !e.covers(f.p, f.cell) && (f.p == nil || !f.p.breaker.Open)
}

// roomLost looks at a volume at once where a job found it full.
func (e *engine) roomLost(f *flight, class string) {
	if class == failure.DiskFull || class == failure.NoInodes {
		f.b.roomAt = time.Time{}
	}
}
