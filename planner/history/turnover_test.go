package history

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestTurnover: what a pool takes between two jobs in one place is told from
// when they started and ended, and not from what they waited for besides.
func TestTurnover(t *testing.T) {
	t.Parallel()
	type launch struct {
		queued, started, ended float64 // seconds
		depends                bool
	}
	for name, c := range map[string]struct {
		seen  []launch
		each  float64 // seconds
		late  float64
		turns int
	}{
		"nothing":                    {nil, 0, 0, 0},
		"one wave":                   {[]launch{{0, 2, 9, false}, {0, 1, 9, false}, {0, 1.5, 8, false}}, 1.5, 1.9, 0},
		"a long queue":               {[]launch{{0, 9000, 9009, false}}, 60, 60, 0},
		"one place, one by one":      {[]launch{{0, 1, 10, false}, {0, 12, 20, false}, {0, 22, 30, false}, {0, 33, 40, false}}, 2, 2.8, 3},
		"two places":                 {[]launch{{0, 1, 10, false}, {0, 1, 12, false}, {0, 11, 20, false}, {0, 13, 25, false}, {0, 21, 30, false}, {0, 27, 30, false}}, 1, 1.7, 4},
		"in any order":               {[]launch{{0, 33, 40, false}, {0, 12, 20, false}, {0, 1, 10, false}, {0, 22, 30, false}}, 2, 2.8, 3},
		"a second apply, days later": {[]launch{{0, 1, 10, false}, {0, 1, 12, false}, {90000, 90001.5, 90010, false}, {90000, 90001, 90010, false}}, 1, 1.35, 0},
		"ready after it started":     {[]launch{{5, 1, 10, false}, {11, 10.5, 20, false}}, 0, 0, 0},
		"waited for other jobs":      {[]launch{{0, 1, 10, true}, {0, 400, 500, true}, {0, 900, 1000, true}, {0, 1500, 1600, true}}, 0, 0, 0},
		"strangers in between":       {[]launch{{0, 1, 10, false}, {0, 90000, 90010, false}, {0, 190000, 190010, false}, {0, 290000, 290010, false}}, 600, 600, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(s float64) time.Time {
				return time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(s * float64(time.Second)))
			}
			var turns turnover
			for _, l := range c.seen {
				ready := at(l.queued)
				if l.depends {
					ready = time.Time{}
				}
				turns.add(&state.Attempt{Queued: at(l.queued), Started: at(l.started), Ended: at(l.ended)}, ready)
			}
			each, late, n := turns.takes()
			if math.Abs(each.Seconds()-c.each) > 1e-6 || math.Abs(late.Seconds()-c.late) > 1e-6 || n != c.turns {
				t.Errorf("%v, %v, seen %d times; want %v, %v, %d", each, late, n, c.each, c.late, c.turns)
			}
		})
	}
}

// TestSpreadOfWaits: how far waits differ is told from launches that waited for
// the queue, and not from those that waited for a place which our own had.
func TestSpreadOfWaits(t *testing.T) {
	t.Parallel()
	type launch struct{ queued, began, ended float64 } // minutes
	differ := []launch{{0, 10, 300}, {0, 20, 310}, {0, 40, 320}, {0, 80, 330}, {0, 160, 340}, {0, 200, 350}}
	behind := []launch{{0, 300, 600}, {0, 310, 600}, {0, 320, 600}} // of those before: six at once is the most
	for name, c := range map[string]struct {
		seen []launch
		want float64
	}{
		"nothing":             {nil, 0},
		"too few":             {differ[:4], 0},
		"waits that differ":   {differ, 1.18},
		"and some behind":     {append(slices.Clone(differ), behind...), 1.18},
		"full for a while":    {append([]launch{{0, 10, 30}, {0, 12, 30}, {0, 14, 30}}, launch{0, 90, 120}, launch{0, 180, 200}, launch{0, 300, 310}), 1.51},
		"all alike":           {[]launch{{0, 30, 90}, {0, 30, 90}, {0, 30, 90}, {0, 30, 90}, {0, 30, 90}}, 0},
		"waits of a few secs": {[]launch{{0, 0.1, 9}, {0, 0.2, 9}, {0, 0.3, 9}, {0, 0.05, 9}, {0, 0.4, 9}}, 0},
	} {
		at := func(m float64) time.Time {
			return time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(m * float64(time.Minute)))
		}
		var turns turnover
		for _, l := range c.seen {
			turns.add(&state.Attempt{Queued: at(l.queued), Started: at(l.began), Ended: at(l.ended)}, at(l.queued))
		}
		if got := turns.spread(); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s: %.3f, not %.2f", name, got, c.want)
		}
	}
}
