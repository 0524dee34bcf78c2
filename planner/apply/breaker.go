package apply

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func (e *engine) loadBreakers() {
	for name := range e.st.Breakers {
		if p := e.byName[name]; p != nil {
			p.breaker.Open = true
		}
	}
}

// breakerPolicy is what stops a phase.
func (p *phase) breakerPolicy() breaker.Policy {
	return breaker.Policy{SameError: p.Breaker.SameError, Share: p.Breaker.Share, Jobs: len(p.At)}
}

// countFailure tells a phase's breaker of a job that failed for good.
func (e *engine) countFailure(f *flight, o *offer.Observation) {
	trip, warning := f.p.breaker.Failed(e.failure(f, o), f.p.breakerPolicy())
	e.heed(f.p, trip, warning)
}

// countAgain tells it of a launch that failed and that another follows; one
// that asks for more is not the same again.
func (e *engine) countAgain(f *flight, o *offer.Observation) {
	if why, ok := strings.CutPrefix(o.Reason, offer.Stopped); ok { // its backend has counted
		e.openBreaker(f.p, o.Class, why, f.p.Breaker.SameError)
		return
	}
	if _, ok := f.policy().ScaleFor(o.Class); !ok {
		e.heed(f.p, f.p.breaker.Again(e.failure(f, o), f.p.breakerPolicy()), "")
	}
}

func (e *engine) failure(f *flight, o *offer.Observation) brake.Failure {
	return brake.Failure{Job: f.Addr, Failure: breaker.Failure{Class: o.Class, Signature: relaunch.Signature(o, relaunch.Rules(e.Campaign)), Exit: o.Exit, Text: relaunch.Text(o)}}
}

// countSuccess tells it of one that is done.
func (e *engine) countSuccess(p *phase) {
	trip, warning := p.breaker.Success(p.breakerPolicy())
	e.heed(p, trip, warning)
}

// heed does what a breaker says.
func (e *engine) heed(p *phase, trip *brake.Trip, warning string) {
	if warning != "" {
		e.report.Note("phase."+p.Name, "phase."+p.Name+": "+warning, true)
	}
	if trip != nil {
		e.openBreaker(p, trip.Cause, trip.Reason, trip.Count)
	}
}

// openBreaker stops starts in a phase, here and in the queues, until resume.
func (e *engine) openBreaker(p *phase, cause, reason string, count int) {
	if p.breaker.Open {
		return
	}
	p.breaker.Open = true
	e.emit(state.BreakerOpened{Breaker: state.Breaker{Phase: p.Name, Cause: cause, Count: count, Reason: reason, At: e.Clock()}})
	text := fmt.Sprintf("phase.%s starts nothing more: %s. Mend it, then: muster resume phase.%s", p.Name, reason, p.Name)
	e.report.Note("phase."+p.Name, text, true)
	e.controlQueued(func(f *flight) bool { return f.p == p }, true)
}
