package backends

import (
	"context"
	"time"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
)

// rooms look whether the volumes where jobs work take files.
type rooms struct {
	*core
	endings *endings
}

// How often a volume is looked at: where jobs are started, and where launches
// wait for room.
const (
	roomEvery = time.Minute
	roomAgain = 5 * time.Second
)

// volumes is when those of a place were looked at.
type volumes struct {
	looking bool      // now
	looked  bool      // in this run
	next    time.Time // when again
}

// Look asks places whether the volumes where our jobs work have room: before
// anything is started there, then again and again. Wants says whether
// something waits for room in a queue. It returns when something that waits may
// be looked for, and when any volume is.
func (rs *rooms) Look(wants func(*Backend) bool) (wake, glance time.Time) {
	for _, c := range rs.Contacts {
		v, waits := &c.volumes, c.waitsForRoom(wants)
		switch {
		case !rs.hasVolumes(c) || v.looking || v.looked && c.load == 0 && !waits:
		case v.looked && rs.Time.Now().Before(v.next):
			if waits {
				wake = earliest(wake, v.next)
			}
			glance = earliest(glance, v.next)
		default:
			rs.askRoom(c)
		}
	}
	return wake, glance
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// hasVolumes reports whether a place has volumes of its own to look at, for
// free: a host, or a login node that sees what its nodes do. On a virtual clock
// nothing fills a disk.
func (rs *rooms) hasVolumes(c *Contact) bool {
	return c.Provider != nil && (c.Can.HostQueue || c.Can.Arrays) && !clock.IsVirtual(rs.Time)
}

func (c *Contact) waitsForRoom(wants func(*Backend) bool) bool {
	for _, b := range c.Lines {
		if b.Full != "" && wants(b) {
			return true
		}
	}
	return false
}

// WaitsForRoom reports whether something may start if only a volume that is
// being looked at takes files again.
func (rs *rooms) WaitsForRoom(wants func(*Backend) bool) bool {
	for _, c := range rs.Contacts {
		if c.volumes.looking && c.waitsForRoom(wants) {
			return true
		}
	}
	return false
}

// LookAtOnce has the volumes of a place looked at in the next turn: a job found
// one full.
func (c *Contact) LookAtOnce() { c.volumes.next = time.Time{} }

// askRoom asks a place beside the calls to it: nothing waits for the answer but the first
// launches.
func (rs *rooms) askRoom(c *Contact) {
	v := &c.volumes
	first := !v.looked
	v.looking, v.looked = true, true
	if first {
		rs.Unanswered++
	}
	var lines []*Backend
	var checks []providers.Check
	for _, b := range c.Lines {
		if b.Pool == "" && c.Splits() {
			continue // no host of it
		}
		lines = append(lines, b)
		checks = append(checks, providers.Check{Workdir: c.Filesystem(b.Pool).Workdir, Pool: b.Pool})
	}
	provider := c.Provider
	rs.Spawn(func() {
		ctx, cancel := context.WithTimeout(rs.Ctx, connection.AskTimeout)
		defer cancel()
		found, err := provider.Preflight(ctx, c.Name, checks)
		rs.Post(func() {
			v.looking = false
			if first {
				rs.Unanswered--
				rs.endings.Cancel() // those that were found meanwhile
			}
			v.next = rs.Time.Now().Add(roomEvery)
			if err == nil { // else its trouble is reported elsewhere
				rs.sawRoom(lines, found)
			}
			for _, b := range lines {
				if b.Full != "" {
					v.next = rs.Time.Now().Add(roomAgain)
				}
			}
		})
	})
}

// sawRoom takes the findings about the queues of a place, in order.
func (rs *rooms) sawRoom(lines []*Backend, found []providers.Finding) {
	for i, b := range lines {
		full := ""
		for _, f := range found {
			if f.Pauses && (f.Check == i || f.Check < 0) {
				full = f.Detail
				break
			}
		}
		was := b.Full
		b.Full = full
		rs.Hear(Room{b, was})
	}
}
