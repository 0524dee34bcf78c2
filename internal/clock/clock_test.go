package clock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/clock"
)

var start = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

func wait(c clock.Clock, d time.Duration) {
	t, _ := c.Timer(d)
	c.Park(func() bool { return len(t) > 0 })
	<-t
}

func TestTimePassesWhenEverybodyWaits(t *testing.T) {
	t.Parallel()
	story := func() (out []string) {
		v := clock.NewVirtual(start)
		v.Run(func() {
			left := 3
			for i := range left {
				v.Go(func() {
					for n := range 3 {
						wait(v, time.Duration(i+1)*time.Hour)
						out = append(out, fmt.Sprintf("%d.%d at %s", i, n, v.Now().Sub(start)))
					}
					left--
				})
			}
			v.Park(func() bool { return left == 0 })
			out = append(out, "end at "+v.Now().Sub(start).String())
		})
		return out
	}
	want := []string{"0.0 at 1h0m0s", "1.0 at 2h0m0s", "0.1 at 2h0m0s", "2.0 at 3h0m0s", "0.2 at 3h0m0s", "1.1 at 4h0m0s", "2.1 at 6h0m0s", "1.2 at 6h0m0s", "2.2 at 9h0m0s", "end at 9h0m0s"}
	for range 50 {
		if got := story(); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}

func TestMessagesComeBeforeTime(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	v.Run(func() {
		c := make(chan int, 1)
		late, stop := v.Timer(time.Hour)
		v.Go(func() { c <- 1 })
		v.Park(func() bool { return len(c) > 0 || len(late) > 0 })
		if len(c) == 0 || !v.Now().Equal(start) {
			t.Errorf("at %s, %d messages", v.Now(), len(c))
		}
		stop()
		wait(v, 2*time.Hour)
		if len(late) > 0 {
			t.Error("a stopped timer went off")
		}
	})
}

func TestStuck(t *testing.T) {
	t.Parallel()
	v := clock.NewVirtual(start)
	free := false
	v.Stuck = func() { free = true }
	v.Run(func() { v.Park(func() bool { return free }) })
	if !v.Now().Equal(start) {
		t.Errorf("time passed with no timer: %s", v.Now())
	}
}
