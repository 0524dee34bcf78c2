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
	Good     int            `json:"good,omitempty"` // of the finished jobs, those that did well
	Causes   map[string]int `json:"causes,omitempty"`
}

// A row is failures of one job with the same signature, one after another,
// while none of its phase did well.
type row struct {
	signature string
	of        *breaker
	good      int // the breaker's
	n         int
}

func (r *row) add(signature string, b *breaker) int {
	if r.signature != signature || r.of != b || r.good != b.Good {
		*r = row{signature: signature, of: b, good: b.Good}
	}
	r.n++
	return r.n
}

// count enters a job that ended for good. A preemption is somebody else's
// doing, and counts for nothing.
func (q *queue) count(j *job, v failure.Verdict) {
	b := q.breakerOf(j)
	if b == nil || v.Class == failure.Preempted {
		return
	}
	b.Finished++
	kind, text := "", ""
	if v.Class == "" {
		b.Good++
		b.Last, b.Same = "", 0
	} else {
		b.failed(v.Signature)
		kind, text = b.judge(j.spec.Breaker, v)
	}
	q.tellBreaker(j, b, kind, text)
}

// countAgain enters a launch that failed and is made again as it was. It
// counts for its own job alone, which may do better next time: jobs that are
// flaky side by side stop nothing, but one that fails alike in every launch
// does, where none of its phase did well between.
func (q *queue) countAgain(j *job, v failure.Verdict) {
	b, most := q.breakerOf(j), j.spec.Breaker.SameError
	if b == nil || most <= 0 || !failure.Repeats(v.Class) {
		return
	}
	if n := j.alike.add(v.Signature, b); n >= most && !b.Open {
		b.Open = true
		q.tellBreaker(j, b, "breaker", inRow(n, v))
	}
}

// breakerOf is the breaker of a job's phase, nil where it has none.
func (q *queue) breakerOf(j *job) *breaker {
	if j.spec.Breaker.SameError == 0 && j.spec.Breaker.Share == 0 {
		return nil
	}
	b := j.place.breakers[j.spec.Phase]
	if b == nil {
		b = &breaker{}
		j.place.breakers[j.spec.Phase] = b
	}
	return b
}

// tellBreaker writes down where a breaker stands, and what there is to say.
func (q *queue) tellBreaker(j *job, b *breaker, kind, text string) {
	if kind != "" {
		q.note(j.place, providers.Note{Kind: kind, Phase: j.spec.Phase, Text: text})
	}
	q.put(entry{Breaker: &breakerEntry{Place: j.place.n, Phase: j.spec.Phase, Breaker: *b}})
}

func inRow(n int, v failure.Verdict) string {
	return fmt.Sprintf("stopped after the same error %d times in a row: %s", n, said(v))
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
		return "breaker", inRow(b.Same, v)
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
