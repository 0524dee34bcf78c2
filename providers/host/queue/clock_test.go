package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/host/gpu"
)

// TestAClockThatIsSet: a launch began and ended when it did, by the clock as it
// shows when that is asked, whenever it was set meanwhile.
func TestAClockThatIsSet(t *testing.T) {
	const day = 24 * time.Hour
	start := instant{time.Unix(1_800_000_000, 0), 1000 * time.Second, "b"}
	l := launch{Boot: "b", Up: int64(start.up), At: start.wall.UnixNano()}
	for name, c := range map[string]struct{ before, after time.Duration }{ // set between its start and its end, and between its end and the question
		"never": {0, 0}, "on, while it ran": {3 * day, 0}, "back, while it ran": {-3 * day, 0}, "on, after it": {0, 3 * day}, "back, after it": {0, -3 * day},
		"from 1970 to now, after it": {0, 56 * 365 * day},
	} {
		const ran, ago = 90 * time.Second, 30 * time.Second
		record := start.wall.Add(ran + c.before)
		at := instant{record.Add(ago + c.after), start.up + ran + ago, "b"}
		if got := at.wall.Sub(l.began(at)); got != ran+ago {
			t.Errorf("%s: it began %v ago, want %v", name, got, ran+ago)
		}
		ended := l.ended(record, at)
		if got := ended.Sub(l.began(at)); got != ran {
			t.Errorf("%s: it ran %v, want %v", name, got, ran)
		}
		if got := at.wall.Sub(ended); got != ago {
			t.Errorf("%s: it ended %v ago, want %v", name, got, ago)
		}
		if got := l.ended(time.Time{}, at); got != at.wall {
			t.Errorf("%s: an end that left no record is told as %v", name, got)
		}
	}
	// After a reboot there is the record alone, and a clock that may be another.
	for _, record := range []time.Duration{-day, time.Minute} {
		at := instant{start.wall.Add(time.Hour), time.Second, "another"}
		if ran := l.ended(start.wall.Add(record), at).Sub(l.began(at)); ran != max(0, record) {
			t.Errorf("a record %v after the start: it ran %v", record, ran)
		}
	}
	// Set on while it ran, and on again: all that is known is that it ended.
	at := instant{start.wall.Add(9 * day), start.up + time.Hour, "b"}
	if ended, began := l.ended(start.wall.Add(3*day), at), l.began(at); ended.Before(began) || ended.After(at.wall) {
		t.Errorf("it began at %v and ended at %v, and it is %v", began, ended, at.wall)
	}
}

// TestADelayWhileTheClockIsSet: what is left of a delay goes by what has passed.
func TestADelayWhileTheClockIsSet(t *testing.T) {
	const delay = time.Minute
	start := instant{time.Unix(1_800_000_000, 0), 1000 * time.Second, "b"}
	d := dueIn(delay, start)
	for _, c := range []struct {
		passed, set time.Duration
		boot        string
		want        time.Duration
	}{
		{0, 0, "b", delay}, {20 * time.Second, 0, "b", 40 * time.Second}, {2 * delay, 0, "b", 0},
		{20 * time.Second, 24 * time.Hour, "b", 40 * time.Second}, {20 * time.Second, -24 * time.Hour, "b", 40 * time.Second},
		{20 * time.Second, 0, "another", 40 * time.Second}, {20 * time.Second, -24 * time.Hour, "another", delay}, {20 * time.Second, 24 * time.Hour, "another", 0},
	} {
		if got := d.left(delay, instant{start.wall.Add(c.passed + c.set), start.up + c.passed, c.boot}); got != c.want {
			t.Errorf("%+v: %v is left", c, got)
		}
	}
	if left := (due{}).left(delay, start); left != 0 {
		t.Errorf("of no delay %v is left", left)
	}
	if old := (due{Wall: start.wall.Add(delay).UnixNano()}); old.left(delay, start) != delay { // as older versions wrote it
		t.Error("a time without an uptime does not count")
	}
}

// TestFewAreNeverForgotten: a clock that is set on by years makes all that is
// known of ended jobs old, and none of it dispensable: a token that comes again
// must not run again, and what comes after it waits for it.
func TestFewAreNeverForgotten(t *testing.T) {
	q, _ := inside(t, gpu.None{})
	q.do(t.Context(), func() {
		for i := range minDead + 10 {
			token := fmt.Sprint("dead", i)
			q.graves[token] = graveEntry{Token: token, grave: grave{Ended: int64(i)}} // of 1970
		}
		q.forget()
		if len(q.graves) != minDead {
			t.Errorf("%d are remembered, want %d", len(q.graves), minDead)
		}
		if _, ok := q.graves["dead9"]; ok {
			t.Error("one of the oldest is remembered instead of a younger")
		}
		q.forget()
		if len(q.graves) != minDead {
			t.Errorf("%d are remembered after another look, want %d", len(q.graves), minDead)
		}
		clear(q.graves)
		for i := range maxDead + 10 {
			token := fmt.Sprint("dead", i)
			q.graves[token] = graveEntry{Token: token, grave: grave{Ended: time.Now().Unix() - int64(i)}}
		}
		q.forget()
		if _, ok := q.graves["dead0"]; len(q.graves) != maxDead || !ok {
			t.Errorf("of too many young ones %d are remembered, the youngest: %v", len(q.graves), ok)
		}
		clear(q.graves)
	})
}
