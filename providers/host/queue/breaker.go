package queue

import (
	"cmp"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/offer"
)

// breakers stop a phase whose jobs fail alike, or a setting of its trial. They count in the places.
type breakers struct{ *core }

// count enters a job that ended for good.
func (bs *breakers) count(j *job, v failure.Verdict) {
	b, policy := bs.breakerOf(j), policyOf(j)
	if b == nil || !failure.Counts(v.Class) {
		return
	}
	var trip *breaker.Trip // warnings are the engine's, which counts the same ends
	if v.Class == "" {
		trip, _ = b.Well(policy)
	} else {
		trip, _ = b.Failed(policy, failureOf(j, v))
	}
	bs.apply(j, b, trip)
}

// countAgain enters a launch that failed and is made again as it was.
func (bs *breakers) countAgain(j *job, v failure.Verdict) {
	b := bs.breakerOf(j)
	if b == nil {
		return
	}
	var trip *breaker.Trip
	if j.Alike, trip = b.Again(policyOf(j), j.Alike, failureOf(j, v)); trip != nil {
		bs.apply(j, b, trip)
	}
}

func policyOf(j *job) breaker.Policy {
	b := j.spec.Breaker
	return breaker.Policy{SameError: b.SameError, Share: b.Share, Jobs: b.Jobs}
}

// failureOf is a verdict as the breaker counts it. A job may say nothing.
func failureOf(j *job, v failure.Verdict) breaker.Failure {
	return breaker.Failure{Class: v.Class, Signature: v.Signature, Exit: j.Obs.Exit, Text: cmp.Or(v.Line, v.Signature)}
}

// breakerOf is the breaker of a job, nil where it has none. A smoke is
// in no batch: it holds its phase by itself.
func (bs *breakers) breakerOf(j *job) *breaker.Count {
	if j.spec.Smoke || j.spec.Breaker.SameError <= 0 && j.spec.Breaker.Share <= 0 {
		return nil
	}
	b := j.place.breakers[j.spec.StoppedAs()]
	if b == nil {
		b = &breaker.Count{}
		j.place.breakers[j.spec.StoppedAs()] = b
	}
	return b
}

// apply applies a breaker's decision and records the breaker's state.
func (bs *breakers) apply(j *job, b *breaker.Count, trip *breaker.Trip) {
	if trip != nil {
		b.Open = true
		bs.note(j.place, providers.Note{Kind: "breaker", Phase: j.spec.StoppedAs(), Text: offer.Stopped + trip.Reason})
	}
	bs.put(entry{Breaker: &breakerEntry{Place: j.place.n, Phase: j.spec.StoppedAs(), Breaker: *b}})
}

// closeBreaker resets the count of a breaker.
func (bs *breakers) closeBreaker(p *place, of string) {
	b := &breaker.Count{Batch: 1}
	if old := p.breakers[of]; old != nil {
		b.Batch += old.Batch
	}
	p.breakers[of] = b
	bs.put(entry{Breaker: &breakerEntry{Place: p.n, Phase: of, Breaker: *b}})
}
