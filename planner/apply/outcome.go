package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/results"
	"github.com/muster-run/muster/planner/apply/standing"
	"github.com/muster-run/muster/planner/apply/wish"
	"github.com/muster-run/muster/state"
)

// counts sums the cells by what they are at the end.
func (e *engine) counts() standing.Outcome {
	o := standing.Count(e.nodes)
	for _, p := range e.phases {
		for _, c := range p.Gate.Order {
			if p.Gate.Smokes[c] == cells.Failed && o.Smoke == "" {
				o.Smoke = p.Address(int(c))
			}
		}
		o.Queued -= p.parked[unsubmitted] + p.parked[heldThere]
		o.HeldThere += p.parked[heldThere]
		o.Left += p.parked[unsubmitted]
	}
	for _, f := range e.flights {
		if f.parked == unsubmitted && f.Unsent != "" {
			o.Left--
			o.Unsent++
		}
	}
	return o
}

// outcome is how the run ended.
func (e *engine) outcome() standing.Outcome {
	o := e.counts()
	if o.Stopped, o.Why = e.halted, e.why; o.Stopped == standing.Beyond && o.Why == "" {
		o.Stopped = standing.None
	}
	o.Deleted, o.Undeleted = e.deletion.Gone, e.deletion.Left
	o.Handed, o.First, o.Spent = e.fleet.Handed, e.first, e.budgets.Spent.Text()
	if o.Stopped == standing.None {
		switch {
		case e.Mode == Detach:
			o.Stopped = standing.Detached
		case e.holds.Any() && o.Waiting() > 0:
			o.Stopped, o.Why = standing.Hold, e.holds.Text
		case e.Mode == Drive && o.Held+o.Failed+o.Cancelled+o.Blocked == 0 && o.Waiting() > 0:
			// Nothing has failed for good, and yet not all is done: a breaker holds what
			// its backend would have tried again.
			if why := e.braked(); why != "" {
				o.Stopped, o.Why = standing.Hold, why
			}
		}
	}
	if e.Plan.Destroy {
		o.Cancelled = e.cancelled
	}
	if o.Held > 0 && e.Saved {
		o.LetGo = e.letGo()
	}
	if e.Mode != Drive && o.Running+o.Waiting() > 0 || o.Stopped == standing.Interrupted {
		o.Next = "muster apply"
		if e.Mode != Drive && o.Stopped != standing.Beyond {
			o.Next = "muster apply -once"
		}
	}
	by, kept, reasons := map[string]int{}, map[string]int{}, map[string]string{}
	var holders []string
	for _, f := range e.flights {
		switch {
		case f.short != "" && (f.Status == cells.Queued || f.Status == cells.Waiting):
			if f.p != nil && !f.smoke && f.Status == cells.Queued {
				switch f.parked {
				case free:
					o.Queued--
					o.Left++
				case heldThere: // muster had its queue hold it
					o.HeldThere--
					o.Left++
				}
			}
		case f.Unsent != "":
			o.UnsentWhy = f.Unsent
		case f.HeldThere():
			if why := f.holder(); !slices.Contains(holders, why) {
				holders = append(holders, why)
			}
		case f.NeedsMuster():
			kept[f.B.Title()]++
			if rec := e.st.Jobs[f.Key]; rec != nil && rec.Reason != "" {
				reasons[f.B.Title()] = rec.Reason
			}
		case f.Status == cells.Queued:
			by[f.B.Name]++
		}
	}
	slices.Sort(holders)
	o.HeldWhy = strings.Join(holders, "; ")
	for _, title := range sortedKeys(kept) {
		if o.First == "" && e.handingOver() {
			o.First = fmt.Sprintf("%s takes no more jobs now; %s as room appears", title, request.Jobs(kept[title], "follows", "follow"))
			if why := reasons[title]; why != "" {
				o.First += ": " + why
			}
		}
	}
	o.QueueOn(by)
	if len(e.Campaign.Results) > 0 {
		o.Results = results.Of(e.Campaign, e.st)
	}
	return o
}

// letGo counts the jobs that a saved plan leaves held and that nothing holds any
// more: a person let them go after it was made.
func (e *engine) letGo() (n int) {
	for _, p := range e.phases {
		if p.breaker.Open || slices.ContainsFunc(p.Gate.Order, func(c int32) bool { return p.Gate.Smokes[c] == cells.Failed }) {
			continue
		}
		for i := range p.At {
			cell := int32(i)
			if p.At[cell] != cells.Held || wish.Kind(p.plan, cell) != planner.HeldKind || e.covers(p, cell) {
				continue
			}
			if rec := e.st.Jobs[p.Address(i)]; rec == nil || rec.Status != state.Held {
				n++
			}
		}
	}
	return n
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
