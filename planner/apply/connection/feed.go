package connection

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
)

const feedWindow = 150 * time.Millisecond // of work kept ahead of slots that empty fast

// A Feed is how much of ours one queue has, and how fast it takes more.
type Feed struct {
	Slots    int // jobs it runs at once
	inflight int
	has      map[quota]int
	window   time.Time // of the feed's measure
	ended    int       // in this window
	rate     int       // jobs that ended in the last whole window
}

// A quota is a group of jobs counted against one limit: those of a pool, and in it those with
// the same limits of their own. Its provider keeps a limit that several groups share.
type quota struct {
	pool string
	own  offer.Limits
}

func quotaOf(pool string, own offer.Limits) quota {
	own.MaxTime = 0
	return quota{pool, own}
}

// Give counts a job that the queue gets (1) or is rid of (-1).
func (f *Feed) Give(pool string, own offer.Limits, n int) {
	if f.has == nil {
		f.has = map[quota]int{}
	}
	f.inflight += n
	f.has[quotaOf(pool, own)] += n
}

// Takes reports whether the queue takes one more job of a pool now, under its own
// limits, with so many of our jobs that may run at once on all queues of the place. A
// queue that runs by itself takes all; one that muster drives gets a few more jobs
// than may start: asleep counts its jobs that may not.
func (f *Feed) Takes(c *Backend, pool string, own offer.Limits, driven bool, asleep, with int) bool {
	if driven && c.Can.FeedSlots > 0 && f.inflight-asleep >= max(c.Can.FeedSlots*f.Slots, f.Slots+f.rate) {
		return false
	}
	p, has := own.On(c.Pools[pool]), f.has[quotaOf(pool, own)]
	if p.MaxSubmit > 0 && has >= p.MaxSubmit {
		return false
	}
	if c.Can.HostQueue { // its queue keeps the other caps, but for that of several
		return !c.Splits() || c.Conf.MaxParallel <= 0 || with <= c.Conf.MaxParallel
	}
	if p.MaxJobs > 0 && p.MaxSubmit == 0 && !c.Can.Arrays && has >= p.MaxJobs {
		return false
	}
	return c.Conf.MaxParallel <= 0 || with <= c.Conf.MaxParallel
}

// Pulse measures how fast slots empty, so that the feed is deep enough for
// jobs that are over before an answer could travel.
func (f *Feed) Pulse(now time.Time) {
	if now.Sub(f.window) >= feedWindow {
		if now.Sub(f.window) < 2*feedWindow {
			f.rate = f.ended
		} else {
			f.rate = 0
		}
		f.window, f.ended = now, 0
	}
	f.ended++
}
