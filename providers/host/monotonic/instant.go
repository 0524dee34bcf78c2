package monotonic

import "time"

// The wall clock may be set while jobs run, even by days; the time since boot only grows.
// Durations use the time since boot. Times for people use the wall clock as it is now, so that
// they can say how long ago something was.

// wasSet is by how much the wall clock must be off to have been set; less is
// a clock that is kept right, in small steps.
const wasSet = time.Minute

// An Instant is a moment by both clocks.
type Instant struct {
	Wall time.Time
	Up   time.Duration
	Boot string
}

// Now is this moment.
func Now() Instant { return Instant{time.Now(), Uptime(), ID()} }

// A Stamp is an Instant as it is written down when something begins.
type Stamp struct {
	Boot string `json:"boot"`
	Up   int64  `json:"up"` // uptime in ns
	At   int64  `json:"at"` // wall clock, Unix ns
}

// MarkNow is the mark of this moment.
func StampNow() Stamp { return Stamp{ID(), int64(Uptime()), time.Now().UnixNano()} }

// Began is when the event of a stamp began, by the wall clock as it is at an instant.
func (m Stamp) Began(at Instant) time.Time {
	then := time.Unix(0, m.At)
	if m.Boot != at.Boot {
		return then
	}
	if t := at.Wall.Add(time.Duration(m.Up) - at.Up).Round(0); t.Sub(then).Abs() > wasSet {
		return t
	}
	return then
}

// Ended is when it ended, if its record was written last at a time of the wall
// clock as it showed then; zero = it is not known. at is when that is asked.
func (m Stamp) Ended(record time.Time, at Instant) time.Time {
	began, then := m.Began(at), time.Unix(0, m.At)
	ran := record.Sub(then) // if the clock was not set between the two
	switch {
	case record.IsZero():
		return at.Wall
	case m.Boot != at.Boot:
		return later(record, then)
	case ran >= 0 && ran <= at.Up-time.Duration(m.Up)+wasSet:
		return began.Add(ran)
	case !record.Before(began) && !record.After(at.Wall):
		return record
	}
	return at.Wall // after it was set twice; between the start and now, at any rate
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// A Due is the earliest time for something, by the wall clock and by the time since boot. The
// zero value is at once.
type Due struct {
	Wall int64  `json:"ready,omitempty"` // Unix ns; 0 = at once
	Up   int64  `json:"up,omitempty"`    // ns since boot
	Boot string `json:"boot,omitempty"`
}

// DueIn is due after a while from an instant.
func DueIn(d time.Duration, at Instant) Due {
	return Due{at.Wall.Add(d).UnixNano(), int64(at.Up + d), at.Boot}
}

// Left is how much of a delay is left, never more than all of it.
func (d Due) Left(delay time.Duration, at Instant) time.Duration {
	left := time.Unix(0, d.Wall).Sub(at.Wall)
	if d.Boot == at.Boot {
		left = time.Duration(d.Up) - at.Up
	}
	return max(0, min(left, delay))
}
