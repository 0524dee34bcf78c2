package rehearse_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// limited writes a campaign with a cap over all of it.
func (y *yard) limited(limit, hcl string) {
	y.t.Helper()
	text := "campaign \"c\" { max_parallel = " + limit + " }\n" + hcl
	if err := os.WriteFile(filepath.Join(y.dir, "c.muster.hcl"), []byte(text), 0o644); err != nil {
		y.t.Fatal(err)
	}
}

// atOnce is how many launches of phases ran at once, at most.
func (y *yard) atOnce(phases ...string) (most int) {
	type edge struct {
		at time.Time
		by int
	}
	var edges []edge
	for _, j := range y.state.Jobs {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if a.Started.IsZero() || len(phases) > 0 && !slices.Contains(phases, j.Phase) {
				continue
			}
			edges = append(edges, edge{a.Started, 1})
			if !a.Ended.IsZero() {
				edges = append(edges, edge{a.Ended, -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	n := 0
	for _, e := range edges {
		n += e.by
		most = max(most, n)
	}
	return most
}

func kept(limit, text string) string {
	return strings.Replace(text, "place {", "max_parallel = "+limit+"\n  place {", 1)
}

// TestWhatAThrottleHoldsBackTakesNoRoom: jobs that wait for their own array
// leave the room under the campaign's cap, and the backend's, to other phases,
// and no cap is passed.
func TestWhatAThrottleHoldsBackTakesNoRoom(t *testing.T) {
	t.Parallel()
	twoOfTwo := kept("2", phase("a", 12, "")) + kept("2", phase("b", 12, ""))
	hourly := func(more, phases string) string {
		return "backend \"sim\" \"x\" {\n" + more + "\n pool \"p\" {\n usd_per_hour = 1\n }\n jobs {\n runtime = \"1h\"\n }\n}\n" + phases
	}
	for name, c := range map[string]struct {
		limit string
		hcl   string
		then  string        // what the campaign is after an interruption; "" = as it was
		stop  time.Duration // when it is interrupted; 0 = never
		hours float64       // 24 jobs of an hour, four at once
		a     int           // of phase a at once
	}{
		"two phases share the campaign's cap":   {limit: "4", hcl: hourly("", twoOfTwo), hours: 6, a: 2},
		"and the backend's":                     {limit: "100", hcl: hourly("max_parallel = 4", twoOfTwo), hours: 6, a: 2},
		"another has the rest":                  {limit: "4", hcl: hourly("", kept("1", phase("a", 6, ""))+phase("b", 18, "")), hours: 6, a: 1},
		"a throttle above the cap is no help":   {limit: "4", hcl: hourly("", kept("9", phase("a", 12, ""))+phase("b", 12, "")), hours: 6, a: 4},
		"the next apply counts as the last did": {limit: "4", hcl: hourly("", twoOfTwo), stop: 90 * time.Minute, hours: 6, a: 2},
		// What waits under the old throttle may run three at once, and holds
		// back the other phase until it has.
		"a cap that was changed meanwhile": {limit: "4", hcl: hourly("", kept("3", phase("a", 12, ""))+kept("1", phase("b", 12, ""))),
			then: hourly("", kept("2", phase("a", 12, ""))+kept("2", phase("b", 12, ""))), stop: 90 * time.Minute, a: 3},
		"launches that fail and come again": {limit: "4", hcl: strings.ReplaceAll(strings.Replace(hourly("", twoOfTwo), "\"1h\"", "\"1h\"\nfails = { preempted = 0.3 }", 1),
			"place {", "retry {\n    max_attempts = 9\n    on = [\"preempted\"]\n  }\n  place {"), a: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t, "")
			y.limited(c.limit, c.hcl)
			o := y.apply(c.stop)
			if c.stop > 0 {
				if c.then != "" {
					y.limited(c.limit, c.then)
				}
				o = y.apply(0)
			}
			if done := y.done(); done != 24 || o.Left != 0 {
				t.Fatalf("%d jobs are done: %+v", done, o)
			}
			if n := y.atOnce(); n != 4 {
				t.Errorf("%d jobs ran at once", n)
			}
			if n := y.atOnce("a"); n != c.a {
				t.Errorf("%d jobs of phase.a ran at once, not %d", n, c.a)
			}
			if took := lastEnd(y.state).Sub(start).Hours(); c.hours > 0 && took != c.hours {
				t.Errorf("it took %.1f h, not %.1f", took, c.hours)
			}
		})
	}
}

func (y *yard) done() (n int) {
	for _, j := range y.state.Jobs {
		if j.Status == state.Completed {
			n++
		}
	}
	return n
}
