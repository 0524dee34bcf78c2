package apply

import (
	"cmp"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
)

// counts sums the cells by what they are at the end.
func (e *engine) counts() Outcome {
	var o Outcome
	blocked := e.blocked()
	for i, p := range e.phases {
		c := &p.counts
		o.Done += c[done]
		o.Failed += c[failed]
		o.Held += c[held]
		o.Unknown += c[unknown]
		o.Running += c[running] + c[verifying] + c[ending]
		o.Queued += c[queued] + c[submitting]
		o.Cancelled += c[cancelled]
		o.Skipped += c[skipped] + c[skippedDone]
		o.Blocked += blocked[i]
		o.Left += c[pending] + c[ready] + c[waiting] - blocked[i]
		o.Total += len(p.at) - c[skipped] - c[skippedDone]
		o.Smokes += p.gate.flying()
	}
	return o
}

// blocked counts, by phase, the cells that wait for something that will not
// come by itself: failed, held, cancelled, skipped, or blocked in turn.
func (e *engine) blocked() []int {
	out := make([]int, len(e.phases))
	var stuck map[*phase][]bool
	for i, p := range e.phases {
		mine := e.stuckCells(p, stuck)
		if mine == nil {
			continue
		}
		if stuck == nil {
			stuck = map[*phase][]bool{}
		}
		stuck[p] = mine
		for c, s := range p.at {
			if mine[c] && (s == pending || s == ready) {
				out[i]++
			}
		}
	}
	return out
}

// stuckCells marks the cells of a phase that will not complete; nil when
// there are none.
func (e *engine) stuckCells(p *phase, before map[*phase][]bool) []bool {
	var out []bool
	mark := func(c int32) {
		if out == nil {
			out = make([]bool, len(p.at))
		}
		out[c] = true
	}
	if p.counts[failed]+p.counts[held]+p.counts[cancelled]+p.counts[skipped] > 0 {
		for c, s := range p.at {
			if s == failed || s == held || s == cancelled || s == skipped {
				mark(int32(c))
			}
		}
	}
	for _, ed := range p.inputs {
		from := before[ed.from]
		for m, bad := range from {
			if g := ed.group[m]; bad && g >= 0 {
				for _, c := range ed.consumers(int(g)) {
					mark(c)
				}
			}
		}
	}
	whole := p.gate.failed
	for _, name := range p.DependsOn {
		if from := e.byName[name]; from != nil && slices.Contains(before[from], true) {
			whole = true
		}
	}
	for c := range p.gate.pilots {
		if s := p.at[c]; s == failed || s == held || s == cancelled {
			whole = true
		}
	}
	if whole {
		for c := range p.at {
			if p.at[c] == pending || p.at[c] == ready {
				mark(int32(c))
			}
		}
	}
	return out
}

// outcome is how the run ended.
func (e *engine) outcome() Outcome {
	o := e.counts()
	o.Stopped, o.Why = e.halted, e.why
	o.Deleted, o.Undeleted = e.removed, e.undeleted
	o.Handed, o.First, o.Spent = e.handed, e.first, e.spent.text()
	if o.Stopped == None {
		switch {
		case e.Mode == Detach:
			o.Stopped = Detached
		case e.holds.any() && o.Left+o.Queued > 0:
			o.Stopped, o.Why = Hold, e.holds.text
		}
	}
	if e.Mode != Drive && o.Left+o.Running+o.Queued > 0 || o.Stopped == Interrupted {
		o.Next = "muster apply"
		if e.Mode != Drive {
			o.Next = "muster apply -once"
		}
	}
	by := map[string]int{}
	for _, f := range e.flights {
		if f.status == queued || f.status == submitting {
			by[f.b.name]++
		}
	}
	for name, n := range by {
		o.QueuedOn = append(o.QueuedOn, BackendCount{name, n})
	}
	slices.SortFunc(o.QueuedOn, func(a, b BackendCount) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Backend, b.Backend))
	})
	o.Results = e.results()
	return o
}

// results evaluates the campaign's results over what is completed. Nothing
// fails because of them.
func (e *engine) results() (out []lang.ResultValue) {
	if len(e.Campaign.Results) == 0 {
		return nil
	}
	return Results(e.Campaign, e.st)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func compareText(a, b string) int { return cmp.Compare(a, b) }
