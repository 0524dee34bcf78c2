package advice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// TestPlanAndAdviceAgreeOnMemory: of one state, a plan calls memory too much where
// advice asks for less, too little where it asks for more, and neither says
// anything else.
func TestPlanAndAdviceAgreeOnMemory(t *testing.T) {
	const mib = 1 << 20
	used := func(bytes int64) deed {
		return deed{run: time.Hour, usage: state.Usage{MaxRSS: bytes, CPU: 3600, GPUMaxMem: -1}}
	}
	ended := func(class string, d deed) deed { d.class = class; return d }
	each := func(n int, d ...deed) func(*world) {
		return func(w *world) {
			for i := range n {
				w.did("train", i, d...)
			}
		}
	}
	for name, c := range map[string]struct {
		memory string
		did    func(*world)
		says   string // of the plan; "" for nothing
		title  string // of the advice
	}{
		"far too much":                       {"64GB", each(5, used(9*gb)), "asks for 64GB of memory, and the most that any of its 5 runs used was", "Ask for less memory"},
		"about right":                        {"12GB", each(5, used(9*gb)), "", ""},
		"used more than was asked for":       {"1GB", each(5, used(9*gb)), "asks for 1GB of memory, and the most that any of its 5 runs used was", "Ask for more memory"},
		"killed before a peak was seen":      {"200MiB", each(6, ended("oom_host", used(34*mib))), "asks for 200MiB of memory, and 6 of its 6 runs ran out of it", "Ask for more memory"},
		"killed, and then enough":            {"200MiB", each(6, ended("oom_host", used(34*mib)), used(34*mib)), "asks for 200MiB of memory, and 6 of its 12 runs ran out of it", "Ask for more memory"},
		"failed with much, completed little": {"20GB", each(5, ended("nan", used(15*gb)), used(34*mib)), "", ""},
		"moved": {"64GB", func(w *world) {
			each(5, used(9*gb))(w)
			for i := range 5 {
				now := fmt.Sprintf("phase.train[\"i=%d\"]", i+1)
				job := w.st.Jobs[now]
				delete(w.st.Jobs, now)
				job.Address, job.Phase = strings.Replace(now, "train", "fit", 1), "fit"
				w.st.Jobs[job.Address] = job
			}
			w.c.Moved = []lang.Moved{{From: "phase.fit", To: "phase.train"}}
		}, "asks for 64GB of memory, and the most that any of its 5 runs used was", "Ask for less memory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, phase("train", resources(fmt.Sprintf("memory = %q", c.memory)), ""))
			c.did(w)
			var titles []string
			for _, p := range w.advice().Proposals {
				if p.Kind == "memory" || p.Kind == "retry" {
					titles = append(titles, p.Title)
				}
			}
			if got := strings.Join(titles, "; "); got != c.title {
				t.Errorf("advice: %q, not %q", got, c.title)
			}
			plan, _ := planner.Make(planner.Input{Campaign: w.c, State: w.st, Pools: w.pools, Now: began.Add(24 * time.Hour)})
			notes := ""
			for _, n := range plan.Notes {
				if strings.Contains(n, "memory") {
					notes += n + "\n"
				}
			}
			if (notes == "") != (c.says == "") || !strings.Contains(notes, c.says) {
				t.Errorf("plan: %q, not %q", notes, c.says)
			}
		})
	}
}
