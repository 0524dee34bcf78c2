package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// TestWaitsSeen: where the backend quotes no wait, that of this campaign's own
// jobs counts: the shortest of a phase, which no cap of ours has held up, of
// phases that wait for nothing else.
func TestWaitsSeen(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3, 4}, lr: "1", wall: "1h"}, phaseSpec{name: "b", seeds: []int{1}, lr: "1", input: "a"})
	first := planned(t, input(c, nil))
	for name, tt := range map[string]struct {
		quoted time.Duration
		waits  map[string]time.Duration // by address; of jobs that are done
		want   time.Duration
		note   string
	}{
		"nothing seen":         {-1, nil, -1, "is not known and counted as none"},
		"seen":                 {-1, map[string]time.Duration{"a0": 3 * time.Hour, "a1": 20 * time.Minute}, 20 * time.Minute, "20m is counted, as this campaign's jobs waited there"},
		"at once":              {-1, map[string]time.Duration{"a0": 0}, 0, "0s is counted"},
		"quoted":               {time.Hour, map[string]time.Duration{"a0": 20 * time.Minute}, time.Hour, ""},
		"quoted as it was":     {20 * time.Minute, map[string]time.Duration{"a0": 20 * time.Minute}, 20 * time.Minute, ""},
		"waited for its input": {-1, map[string]time.Duration{"b0": 5 * time.Hour}, -1, "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := state.New("lineage")
			st.Jobs = map[string]*state.Job{}
			for i, pp := range first.Phases {
				for cell := range pp.Kind {
					d, ok := tt.waits[string("ab"[i])+string('0'+rune(cell))]
					if !ok {
						continue
					}
					job := record(pp, cell, state.Completed)
					at := &job.Attempts[0]
					at.Queued, at.Started, at.Ended = now.Add(-8*time.Hour), now.Add(-8*time.Hour+d), now.Add(-8*time.Hour+d+time.Minute)
					st.Jobs[job.Address] = job
				}
			}
			in := input(c, st)
			in.Pools[0].Wait = tt.quoted
			p := planned(t, in)
			if got := p.Phases[0].Decision(2).Wait; got != tt.want {
				t.Errorf("%v is counted, not %v", got, tt.want)
			}
			said := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, "The queue wait") && strings.Contains(n, tt.note) })
			if said != (tt.note != "") {
				t.Errorf("%q", p.Notes)
			}
		})
	}
}
