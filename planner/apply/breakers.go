package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// breakers stop a phase whose jobs fail alike, or a setting of its trial. They count in the
// phases.
type breakers struct {
	*jobs
	holds *holds
}

func (bs *breakers) load() {
	for of, b := range bs.st.Breakers {
		if p := bs.byName[b.Phase]; p != nil {
			p.breaker(of).Open = true
		}
	}
}

// breaker is the breaker of a phase or a setting, named as in state.Breaker.
func (p *phase) breaker(of string) *retry.Breaker {
	b := p.breakers[of]
	if b == nil {
		if p.breakers == nil {
			p.breakers = map[string]*retry.Breaker{}
		}
		b = &retry.Breaker{}
		p.breakers[of] = b
	}
	return b
}

// stops names the jobs that the breaker of a cell stops: by the name of the phase, or by the
// address of the cell's setting.
func (p *phase) stops(cell int32) string {
	if p.Trial == nil {
		return p.Name
	}
	return lang.BreakerOf(p.Phase, int(cell))
}

// tripped reports whether a breaker keeps a cell from starting.
func (p *phase) tripped(cell int32) bool {
	return len(p.breakers) > 0 && (p.allTripped() || p.Trial != nil && p.isOpen(p.stops(cell)))
}

// allTripped reports whether a breaker keeps the whole phase from starting.
func (p *phase) allTripped() bool { return p.isOpen(p.Name) }

func (p *phase) isOpen(of string) bool {
	b := p.breakers[of]
	return b != nil && b.Open
}

// open lists the phase or settings whose breakers are open, in order.
func (p *phase) open() (list []string) {
	for _, of := range slices.Sorted(maps.Keys(p.breakers)) {
		if p.breakers[of].Open {
			list = append(list, of)
		}
	}
	return list
}

// breakerPolicy is when the breaker of a cell opens.
func (p *phase) breakerPolicy(cell int32) breaker.Policy {
	return breaker.Policy{SameError: p.Breaker.SameError, Share: p.Breaker.Share, Jobs: lang.BreakerJobs(p.Phase, int(cell))}
}

// countFailure tells a breaker of a job that failed for good.
func (bs *breakers) countFailure(f *attempt, o *offer.Observation) {
	trip, warning := f.p.breaker(f.p.stops(f.cell)).Failed(bs.failure(f, o), f.p.breakerPolicy(f.cell))
	bs.heed(f.p, f.p.stops(f.cell), trip, warning)
}

// countAgain tells it of a launch that failed and that another follows; one
// that asks for more is not the same again.
func (bs *breakers) countAgain(f *attempt, o *offer.Observation) {
	if why, ok := o.StoppedBy(); ok { // its backend has counted
		bs.openBreaker(f.p, f.p.stops(f.cell), o.Class, why, f.p.Breaker.SameError)
		return
	}
	if _, ok := f.policy().ScaleFor(o.Class); !ok {
		bs.heed(f.p, f.p.stops(f.cell), f.p.breaker(f.p.stops(f.cell)).Again(bs.failure(f, o), f.p.breakerPolicy(f.cell)), "")
	}
}

func (bs *breakers) failure(f *attempt, o *offer.Observation) retry.Failure {
	return retry.Failure{Job: f.Addr, Failure: breaker.Failure{Class: o.Class, Signature: retry.Signature(o, retry.Rules(bs.Campaign)), Exit: o.Exit, Text: retry.Text(o)}}
}

// countSuccess tells it of one that is done.
func (bs *breakers) countSuccess(f *attempt) {
	trip, warning := f.p.breaker(f.p.stops(f.cell)).Success(f.p.breakerPolicy(f.cell))
	bs.heed(f.p, f.p.stops(f.cell), trip, warning)
}

// heed follows the decision of a breaker.
func (bs *breakers) heed(p *phase, of string, trip *retry.Trip, warning string) {
	if title := (state.Breaker{Phase: p.Name, Of: setting(of)}).Address(); warning != "" {
		bs.Note("phase."+p.Name, title+": "+warning, true)
	}
	if trip != nil {
		bs.openBreaker(p, of, trip.Cause, trip.Reason, trip.Count)
	}
}

// setting is the address of a setting's jobs, "" where a breaker stops a whole phase.
func setting(of string) string {
	if addr.ValidName(of) {
		return ""
	}
	return of
}

// trip opens the breaker that a backend opened, unless the campaign has nothing that it stops.
func (bs *breakers) trip(n backends.Tripped) {
	to := history.MovedOf(bs.Campaign.Moved) // a queue has the names that its jobs were submitted with
	of := n.Phase
	if setting(of) == "" {
		of = "phase." + of
	}
	of, _ = to.Follow(of)
	name, key, _ := addr.Split(of)
	if n.Phase = of; key == "" {
		n.Phase = name
	}
	p := bs.byName[name]
	if p == nil || n.Phase != name && !p.hasSetting(n.Phase) {
		return
	}
	bs.openBreaker(p, n.Phase, n.By, strings.TrimPrefix(n.Why, offer.Stopped), 0)
}

// hasSetting reports whether an address is that of the jobs of a setting of the phase's trial.
func (p *phase) hasSetting(of string) bool {
	for cell := range p.At {
		if p.Trial != nil && p.stops(int32(cell)) == of {
			return true
		}
	}
	return false
}

// openBreaker stops starts in a phase, or in a setting of its trial, here and in the queues,
// until resume.
func (bs *breakers) openBreaker(p *phase, of, cause, reason string, count int) {
	if p.isOpen(of) {
		return
	}
	p.breaker(of).Open = true
	b := state.Breaker{Phase: p.Name, Of: setting(of), Cause: cause, Count: count, Reason: reason, At: bs.Clock()}
	bs.Emit(state.BreakerOpened{Breaker: b})
	resume := "muster resume " + shell.Quote(b.Address())
	text := fmt.Sprintf("%s starts nothing more: %s. Fix it, then run: %s", b.Address(), reason, resume)
	if b.Of != "" {
		text = fmt.Sprintf("%s starts nothing more: %s. The other settings go on. To start it again, run: %s", b.Address(), reason, resume)
	}
	bs.Note("phase."+p.Name, text, true)
	bs.holds.controlQueued(func(f *attempt) bool { return f.p == p && p.tripped(f.cell) }, true)
}

// breakerReason names the jobs that a breaker holds, "" if none does. muster reported it when
// the breaker opened.
func (bs *breakers) breakerReason() string {
	for _, p := range bs.phases {
		for _, of := range p.open() {
			b := bs.st.Breakers[of]
			return b.Address() + " is held by its breaker: " + b.Reason
		}
	}
	return ""
}
