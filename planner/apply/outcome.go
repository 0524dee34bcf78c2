package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/results"
)

// counts sums the cells by what they are at the end.
func (e *engine) counts() Outcome {
	var o Outcome
	blocked := cells.Blocked(e.nodes)
	for i, p := range e.phases {
		c := &p.Counts
		o.Done += c[cells.Done]
		o.Failed += c[cells.Failed]
		o.Held += c[cells.Held]
		o.Unknown += c[cells.Unknown]
		o.Running += c[cells.Running] + c[cells.Verifying] + c[cells.Ending]
		o.Queued += c[cells.Queued] + c[cells.Submitting]
		o.Cancelled += c[cells.Cancelled]
		o.Skipped += c[cells.Skipped] + c[cells.SkippedDone]
		o.Blocked += blocked[i]
		o.Left += c[cells.Pending] + c[cells.Ready] + c[cells.Waiting] - blocked[i]
		o.Total += len(p.At) - c[cells.Skipped] - c[cells.SkippedDone]
		o.Smokes += p.Gate.Flying()
		for _, c := range p.Gate.Order {
			if p.Gate.Smokes[c] == cells.Failed && o.Smoke == "" {
				o.Smoke = p.Address(int(c))
			}
		}
	}
	return o
}

// outcome is how the run ended.
func (e *engine) outcome() Outcome {
	o := e.counts()
	o.Stopped, o.Why = e.halted, e.why
	o.Deleted, o.Undeleted = e.removed, e.undeleted
	o.Handed, o.First, o.Spent = e.fleet.Handed, e.first, e.budgets.Spent.Text()
	if o.Stopped == None {
		switch {
		case e.Mode == Detach:
			o.Stopped = Detached
		case e.holds.Any() && o.Left+o.Queued > 0:
			o.Stopped, o.Why = Hold, e.holds.Text
		case e.Mode == Drive && o.Held+o.Failed+o.Cancelled+o.Blocked == 0 && o.Left+o.Queued > 0:
			// Nothing has failed for good, and yet not all is done: a breaker holds what
			// its backend would have tried again.
			if why := e.braked(); why != "" {
				o.Stopped, o.Why = Hold, why
			}
		}
	}
	if e.Mode != Drive && o.Left+o.Running+o.Queued > 0 || o.Stopped == Interrupted {
		o.Next = "muster apply"
		if e.Mode != Drive && o.Stopped != Beyond {
			o.Next = "muster apply -once"
		}
	}
	by, kept := map[string]int{}, map[string]int{}
	for _, f := range e.flights {
		switch {
		case f.Kept && f.Status == cells.Queued:
			if f.p != nil && !f.smoke {
				o.Queued--
				o.Left++
			}
			kept[f.B.Title()]++
		case f.Status == cells.Queued || f.Status == cells.Submitting:
			by[f.B.Name]++
		}
	}
	for _, title := range sortedKeys(kept) {
		if o.First == "" && e.handingOver() {
			o.First = fmt.Sprintf("%s takes no more jobs now; %s as room appears", title, jobs(kept[title], "follows", "follow"))
		}
	}
	for name, n := range by {
		o.QueuedOn = append(o.QueuedOn, BackendCount{name, n})
	}
	slices.SortFunc(o.QueuedOn, func(a, b BackendCount) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Backend, b.Backend))
	})
	if len(e.Campaign.Results) > 0 {
		o.Results = results.Of(e.Campaign, e.st)
	}
	return o
}

// braked says which phase its breaker holds, "" if none. That it opened was told
// when it did.
func (e *engine) braked() string {
	for _, p := range e.phases {
		if p.breaker.Open {
			return "phase." + p.Name + " is held by its breaker: " + e.st.Breakers[p.Name].Reason
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
