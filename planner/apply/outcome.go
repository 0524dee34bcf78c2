package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

// counts sums the cells by their final status.
func (sm *summary) counts() progress.Outcome {
	o := progress.Count(sm.nodes)
	for _, p := range sm.phases {
		if c, stopped := p.Gate.Stopped(); stopped && o.Smoke == "" {
			o.Smoke = p.Address(int(c))
		}
		o.Queued -= p.parked[unsubmitted] + p.parked[heldThere]
		o.HeldThere += p.parked[heldThere]
		o.Left += p.parked[unsubmitted]
	}
	for _, f := range sm.attempts {
		if f.parked == unsubmitted && f.Unsent != "" {
			o.Left--
			o.Unsent++
		}
	}
	return o
}

// outcome is how the run ended.
func (sm *summary) outcome() progress.Outcome {
	o := sm.counts()
	o.Stopped, o.Why = sm.stopped(&o)
	o.Approval = o.Stopped == progress.Budget && sm.accounts.budgets.Approval
	o.Deleted, o.Undeleted = sm.rows.deletions.gone, sm.rows.deletions.left
	o.Submitted, o.First, o.Spent = sm.backends.Submitted, sm.first, sm.accounts.budgets.Spent.Text()
	if sm.Plan.Destroy {
		o.Cancelled = sm.outcomes.cancelled
		for _, r := range sm.Plan.Loose {
			if m, known := sm.st.Rentals[r.Address]; r.Machine() && known && !m.Rented() {
				o.Released++
			}
		}
	}
	if o.Held > 0 {
		o.LeftOut, o.LeftOutWhy = sm.leftOut()
	}
	if o.Held > 0 && sm.Saved {
		o.LetGo = sm.letGo()
	}
	if sm.Mode == Drive && !sm.Plan.Destroy && o.Stopped == progress.None && o.Held+o.Failed+o.Cancelled+o.Blocked+o.Changed+o.Unknown == 0 {
		o.Idle = o.Left
	}
	if sm.Mode != Drive && o.Running+o.Unknown+o.Waiting() > 0 || o.Stopped == progress.Interrupted {
		o.Next = "muster apply"
		if sm.Mode != Drive && o.Stopped != progress.Beyond {
			o.Next = "muster apply -once"
		}
	}
	if sm.Plan.Destroy && o.Stopped == progress.Interrupted {
		o.Next = "muster destroy"
	}
	for _, id := range slices.Sorted(maps.Keys(sm.st.Rentals)) {
		if r := sm.st.Rentals[id]; r.Rented() {
			o.Rentals = append(o.Rentals, r)
		}
	}
	sm.open(&o)
	if len(sm.Campaign.Results) > 0 {
		o.Results = staging.Results(sm.Campaign, sm.st)
	}
	return o
}

// stopped says what ended the run before all jobs were done, and why.
func (sm *summary) stopped(o *progress.Outcome) (by progress.Stop, why string) {
	if sm.halted != progress.None && (sm.halted != progress.Beyond || sm.why != "") {
		return sm.halted, sm.why
	}
	switch {
	case sm.Mode == Detach:
		return progress.Detached, sm.why
	case sm.holds.Any() && o.Waiting() > 0:
		return progress.Hold, sm.holds.Text
	case sm.Mode == Drive && o.Held+o.Failed+o.Cancelled+o.Blocked+o.Changed == 0 && o.Waiting() > 0:
		// No job has failed for good, and yet not all are done: a breaker holds jobs
		// that their backend would have tried again.
		if why := sm.breakers.breakerReason(); why != "" {
			return progress.Hold, why
		}
	}
	return progress.None, sm.why
}

// open sums the attempts that have not ended: which wait, where, and for whom.
func (sm *summary) open(o *progress.Outcome) {
	by, kept := map[string]int{}, map[string]*keptJobs{}
	var holders []string
	for _, f := range sm.attempts {
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
			k := kept[f.B.Title()]
			if k == nil {
				k = &keptJobs{on: f.B}
				kept[f.B.Title()] = k
			}
			k.jobs++
			if rec := sm.st.Jobs[f.Key]; rec != nil && rec.Reason != "" {
				k.why = rec.Reason
			}
		case f.Status == cells.Queued:
			by[f.B.Name]++
		}
	}
	slices.Sort(holders)
	o.HeldWhy = strings.Join(holders, "; ")
	for _, title := range sortedKeys(kept) {
		if o.First == "" && sm.leavesJobs() {
			o.First = kept[title].text()
		}
	}
	o.QueueOn(by)
}

// keptJobs are jobs that a backend accepted, and that its scheduler or its machines do not
// have.
type keptJobs struct {
	on   *backends.Backend
	jobs int
	why  string // as the backend said of one of them
}

func (k *keptJobs) text() string {
	text, why := fmt.Sprintf("%s takes no more jobs now; %s as room appears", k.on.Title(), request.Jobs(k.jobs, "follows", "follow")), k.why
	if k.on.Can.Rents {
		text = fmt.Sprintf("%s for a machine of %s", request.Jobs(k.jobs, "waits", "wait"), k.on.Title())
		why = strings.TrimPrefix(strings.TrimPrefix(why, "waits for a machine"), ": ")
	}
	return term.Join(": ", text, why)
}

// letGo counts the jobs that a saved plan leaves held and that nothing holds any
// more: a person let them go after it was made.
func (sm *summary) letGo() (n int) {
	for _, p := range sm.phases {
		if _, stopped := p.Gate.Stopped(); stopped || p.allTripped() {
			continue
		}
		for i := range p.At {
			cell := int32(i)
			if p.At[cell] != cells.Held || p.plan.Does(cell) != planner.HeldKind || p.plan.Away(i) != "" || sm.holds.covers(p, cell) {
				continue
			}
			if rec := sm.st.Jobs[p.Address(i)]; rec == nil || rec.Status != state.Held {
				n++
			}
		}
	}
	return n
}

// leftOut counts the jobs that the plan left out because their backend cannot be asked; why is the
// first one's reason.
func (sm *summary) leftOut() (n int, why string) {
	for _, p := range sm.phases {
		for i, at := range p.At {
			if reason := p.plan.Away(i); reason != "" && at == cells.Held {
				n, why = n+1, cmp.Or(why, reason)
			}
		}
	}
	return n, why
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
