package monotonic

import (
	"testing"
	"time"
)

// TestAClockThatIsSet: a launch began and ended when it did, by the clock as it
// shows when that is asked, whenever it was set meanwhile.
func TestAClockThatIsSet(t *testing.T) {
	const day = 24 * time.Hour
	start := Instant{time.Unix(1_800_000_000, 0), 1000 * time.Second, "b"}
	l := Stamp{Boot: "b", Up: int64(start.Up), At: start.Wall.UnixNano()}
	for name, c := range map[string]struct{ before, after time.Duration }{ // set between its start and its end, and between its end and the question
		"never": {0, 0}, "on, while it ran": {3 * day, 0}, "back, while it ran": {-3 * day, 0}, "on, after it": {0, 3 * day}, "back, after it": {0, -3 * day},
		"from 1970 to now, after it": {0, 56 * 365 * day},
	} {
		const ran, ago = 90 * time.Second, 30 * time.Second
		record := start.Wall.Add(ran + c.before)
		at := Instant{record.Add(ago + c.after), start.Up + ran + ago, "b"}
		if got := at.Wall.Sub(l.Began(at)); got != ran+ago {
			t.Errorf("%s: it began %v ago, want %v", name, got, ran+ago)
		}
		ended := l.Ended(record, at)
		if got := ended.Sub(l.Began(at)); got != ran {
			t.Errorf("%s: it ran %v, want %v", name, got, ran)
		}
		if got := at.Wall.Sub(ended); got != ago {
			t.Errorf("%s: it ended %v ago, want %v", name, got, ago)
		}
		if got := l.Ended(time.Time{}, at); got != at.Wall {
			t.Errorf("%s: an end that left no record is told as %v", name, got)
		}
	}
	// After a reboot there is the record alone, and a clock that may be another.
	for _, record := range []time.Duration{-day, time.Minute} {
		at := Instant{start.Wall.Add(time.Hour), time.Second, "another"}
		if ran := l.Ended(start.Wall.Add(record), at).Sub(l.Began(at)); ran != max(0, record) {
			t.Errorf("a record %v after the start: it ran %v", record, ran)
		}
	}
	// Set on while it ran, and on again: all that is known is that it ended.
	at := Instant{start.Wall.Add(9 * day), start.Up + time.Hour, "b"}
	if ended, began := l.Ended(start.Wall.Add(3*day), at), l.Began(at); ended.Before(began) || ended.After(at.Wall) {
		t.Errorf("it began at %v and ended at %v, and it is %v", began, ended, at.Wall)
	}
}

// TestADelayWhileTheClockIsSet: the rest of a delay depends on the time that has passed, not
// on the clock.
func TestADelayWhileTheClockIsSet(t *testing.T) {
	const delay = time.Minute
	start := Instant{time.Unix(1_800_000_000, 0), 1000 * time.Second, "b"}
	d := DueIn(delay, start)
	for _, c := range []struct {
		passed, set time.Duration
		boot        string
		want        time.Duration
	}{
		{0, 0, "b", delay}, {20 * time.Second, 0, "b", 40 * time.Second}, {2 * delay, 0, "b", 0},
		{20 * time.Second, 24 * time.Hour, "b", 40 * time.Second}, {20 * time.Second, -24 * time.Hour, "b", 40 * time.Second},
		{20 * time.Second, 0, "another", 40 * time.Second}, {20 * time.Second, -24 * time.Hour, "another", delay}, {20 * time.Second, 24 * time.Hour, "another", 0},
	} {
		if got := d.Left(delay, Instant{start.Wall.Add(c.passed + c.set), start.Up + c.passed, c.boot}); got != c.want {
			t.Errorf("%+v: %v is left", c, got)
		}
	}
	if left := (Due{}).Left(delay, start); left != 0 {
		t.Errorf("of no delay %v is left", left)
	}
	if old := (Due{Wall: start.Wall.Add(delay).UnixNano()}); old.Left(delay, start) != delay { // as older versions wrote it
		t.Error("a time without an uptime does not count")
	}
}
