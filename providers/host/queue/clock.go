package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/boot"
)

// The wall clock may be set, by days even, while jobs run; what has passed
// since boot only grows. What is measured is measured by the latter. What is
// told is told by the wall clock as it shows now, so that whoever asks can say
// how long ago it was.

// wasSet is by how much the wall clock must be off to have been set; less is
// a clock that is kept right, in small steps.
const wasSet = time.Minute

// An instant is a moment by both clocks.
type instant struct {
	wall time.Time
	up   time.Duration
	boot string
}

func now() instant { return instant{time.Now(), boot.Uptime(), boot.ID()} }

// began is when a launch began, by the wall clock as it shows at an instant.
func (l *launch) began(at instant) time.Time {
	then := time.Unix(0, l.At)
	if l.Boot != at.boot {
		return then
	}
	if t := at.wall.Add(time.Duration(l.Up) - at.up).Round(0); t.Sub(then).Abs() > wasSet {
		return t
	}
	return then
}

// ended is when a launch ended whose record was written last at a time of the
// wall clock as it showed then; zero = it is not known. at is when that is asked.
func (l *launch) ended(record time.Time, at instant) time.Time {
	began, then := l.began(at), time.Unix(0, l.At)
	ran := record.Sub(then) // if the clock was not set between the two
	switch {
	case record.IsZero():
		return at.wall
	case l.Boot != at.boot:
		return later(record, then)
	case ran >= 0 && ran <= at.up-time.Duration(l.Up)+wasSet:
		return began.Add(ran)
	case !record.Before(began) && !record.After(at.wall):
		return record
	}
	return at.wall // after it was set twice; between the start and now, at any rate
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// A due is when a job may be started, by both clocks: by that which only grows
// while the machine is up.
type due struct {
	Wall int64  `json:"ready,omitempty"` // Unix ns; 0 = at once
	Up   int64  `json:"up,omitempty"`    // ns since boot
	Boot string `json:"boot,omitempty"`
}

func dueIn(d time.Duration, at instant) due {
	return due{at.wall.Add(d).UnixNano(), int64(at.up + d), at.boot}
}

// left is how much of a delay is left, never more than all of it.
func (d due) left(delay time.Duration, at instant) time.Duration {
	left := time.Unix(0, d.Wall).Sub(at.wall)
	if d.Boot == at.boot {
		left = time.Duration(d.Up) - at.up
	}
	return max(0, min(left, delay))
}
