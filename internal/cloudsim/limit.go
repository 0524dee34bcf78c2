package cloudsim

import "time"

// A Limit is how often one client may make one call. The zero value is no limit.
type Limit struct {
	Every     time.Duration // least time between two calls
	Penalty   time.Duration // a call that was refused puts the next off by this
	PerMinute int           // most calls in 60 s
}

// limits remember the calls of each client, and their times.
type limits map[limited]*calls

type limited struct{ op, who string }

type calls struct {
	next  time.Time
	times []time.Time // of the last minute
}

// allow reports whether a call may pass, and counts it if so.
func (ls limits) allow(op, who string, l Limit, now time.Time) bool {
	if l == (Limit{}) {
		return true
	}
	c := ls[limited{op, who}]
	if c == nil {
		c = &calls{}
		ls[limited{op, who}] = c
	}
	if l.PerMinute > 0 {
		for len(c.times) > 0 && now.Sub(c.times[0]) >= time.Minute {
			c.times = c.times[1:]
		}
		if len(c.times) >= l.PerMinute {
			return false
		}
		c.times = append(c.times, now)
		return true
	}
	if now.Before(c.next) {
		if late := now.Add(l.Penalty); late.After(c.next) {
			c.next = late
		}
		return false
	}
	c.next = now.Add(l.Every)
	return true
}
