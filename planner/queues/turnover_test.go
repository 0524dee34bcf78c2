package queues

import (
	"math"
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
