package apply

import (
	"fmt"

	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// breakers stop a phase whose jobs fail alike. They count in the phases.
type breakers struct {
	*jobs
	holds *holds
}

func (bs *breakers) load() {
	for name := range bs.st.Breakers {
		if p := bs.byName[name]; p != nil {
			p.breaker.Open = true
		}
	}
}

// breakerPolicy is what stops a phase.
func (p *phase) breakerPolicy() breaker.Policy {
	return breaker.Policy{SameError: p.Breaker.SameError, Share: p.Breaker.Share, Jobs: len(p.At)}
}

// countFailure tells a phase's breaker of a job that failed for good.
func (bs *breakers) countFailure(f *attempt, o *offer.Observation) {
	trip, warning := f.p.breaker.Failed(bs.failure(f, o), f.p.breakerPolicy())
	bs.heed(f.p, trip, warning)
}

// countAgain tells it of a launch that failed and that another follows; one
// that asks for more is not the same again.
func (bs *breakers) countAgain(f *attempt, o *offer.Observation) {
	if why, ok := o.StoppedBy(); ok { // its backend has counted
		bs.openBreaker(f.p, o.Class, why, f.p.Breaker.SameError)
		return
	}
	if _, ok := f.policy().ScaleFor(o.Class); !ok {
		bs.heed(f.p, f.p.breaker.Again(bs.failure(f, o), f.p.breakerPolicy()), "")
	}
}

func (bs *breakers) failure(f *attempt, o *offer.Observation) retry.Failure {
	return retry.Failure{Job: f.Addr, Failure: breaker.Failure{Class: o.Class, Signature: retry.Signature(o, retry.Rules(bs.Campaign)), Exit: o.Exit, Text: retry.Text(o)}}
}

// countSuccess tells it of one that is done.
func (bs *breakers) countSuccess(p *phase) {
	trip, warning := p.breaker.Success(p.breakerPolicy())
	bs.heed(p, trip, warning)
}

// heed does what a breaker says.
func (bs *breakers) heed(p *phase, trip *retry.Trip, warning string) {
	if warning != "" {
		bs.Note("phase."+p.Name, "phase."+p.Name+": "+warning, true)
	}
	if trip != nil {
		bs.openBreaker(p, trip.Cause, trip.Reason, trip.Count)
	}
}

// openBreaker stops starts in a phase, here and in the queues, until resume.
func (bs *breakers) openBreaker(p *phase, cause, reason string, count int) {
	if p.breaker.Open {
		return
	}
	p.breaker.Open = true
	bs.Emit(state.BreakerOpened{Breaker: state.Breaker{Phase: p.Name, Cause: cause, Count: count, Reason: reason, At: bs.Clock()}})
	text := fmt.Sprintf("phase.%s starts nothing more: %s. Fix it, then run: muster resume phase.%s", p.Name, reason, p.Name)
	bs.Note("phase."+p.Name, text, true)
	bs.holds.controlQueued(func(f *attempt) bool { return f.p == p }, true)
}

// breakerReason names the phase that its breaker holds, "" if none. muster reported it when
// the breaker opened.
func (bs *breakers) breakerReason() string {
	for _, p := range bs.phases {
		if p.breaker.Open {
			return "phase." + p.Name + " is held by its breaker: " + bs.st.Breakers[p.Name].Reason
		}
	}
	return ""
}
