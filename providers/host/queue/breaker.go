package queue

import (
	"cmp"
	"fmt"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

// The share of failures by one cause is told from minFinished finished jobs
// on, and warned about at two thirds of what opens the breaker.
const (
	minFinished = 20
	warnPart    = 2.0 / 3
)

// A breaker stops starts of a phase whose jobs fail for one cause.
type breaker struct {
	Open     bool           `json:"open,omitempty"`
	Warned   bool           `json:"warned,omitempty"`
	Last     string         `json:"last,omitempty"` // signature of the last failure
	Same     int            `json:"same,omitempty"` // how many times in a row
	Finished int            `json:"finished,omitempty"`
	Causes   map[string]int `json:"causes,omitempty"`
}

// count enters a job that ended for good.
func (q *queue) count(j *job, v failure.Verdict) {
	policy := j.spec.Breaker
	if policy.SameError == 0 && policy.Share == 0 {
		return
	}
	p := j.place
	b := p.breakers[j.spec.Phase]
	if b == nil {
		b = &breaker{}
		p.breakers[j.spec.Phase] = b
	}
	b.Finished++
	if v.Class == "" {
		b.Last, b.Same = "", 0
	} else {
		b.failed(v.Signature)
		if kind, text := b.judge(policy, v); kind != "" {
			q.note(p, providers.Note{Kind: kind, Phase: j.spec.Phase, Text: text})
		}
	}
	q.put(entry{Breaker: &breakerEntry{Place: p.n, Phase: j.spec.Phase, Breaker: *b}})
}

func (b *breaker) failed(signature string) {
	if b.Causes == nil {
		b.Causes = map[string]int{}
	}
	b.Causes[signature]++
	if b.Last != signature {
		b.Last, b.Same = signature, 0
	}
	b.Same++
}

// judge opens the breaker or warns, and says so; "" if there is nothing to say.
func (b *breaker) judge(policy providers.Breaker, v failure.Verdict) (kind, text string) {
	if b.Open {
		return "", ""
	}
	if policy.SameError > 0 && b.Same >= policy.SameError {
		b.Open = true
		return "breaker", fmt.Sprintf("stopped after the same error %d times in a row: %s", b.Same, said(v))
	}
	share := float64(b.Causes[v.Signature]) / float64(b.Finished)
	switch {
	case policy.Share <= 0 || b.Finished < minFinished:
	case share >= policy.Share:
		b.Open = true
		return "breaker", fmt.Sprintf("stopped: %d of %d finished jobs failed for one cause: %s", b.Causes[v.Signature], b.Finished, said(v))
	case share >= policy.Share*warnPart && !b.Warned:
		b.Warned = true
		return "info", fmt.Sprintf("%d of %d finished jobs failed for one cause: %s", b.Causes[v.Signature], b.Finished, said(v))
	}
	return "", ""
}

// said is the error that a verdict is about: a job may say nothing.
func said(v failure.Verdict) string { return cmp.Or(v.Line, v.Signature) }
