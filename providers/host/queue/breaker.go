package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

// A breaker stops starts of a phase whose jobs fail for one cause, by the rule
// that the engine and Slurm's nodes go by, too. It counts a batch: since the
// first job, or a resume.
type breaker struct {
	Open     bool           `json:"open,omitempty"`
	Warned   bool           `json:"warned,omitempty"`
	Last     string         `json:"last,omitempty"` // signature of the last job that failed for good
	Same     int            `json:"same,omitempty"` // how many times in a row
	Finished int            `json:"finished,omitempty"`
	Good     int            `json:"good,omitempty"`   // of the finished jobs, those that did well
	Causes   map[string]int `json:"causes,omitempty"` // of the others, by class
	Batch    int            `json:"batch,omitempty"`  // how many came before it
}

// A row is launches of one job that failed with the same signature and that
// others follow, while none of its phase did well.
type row struct {
	Signature string `json:"signature"`
	N         int    `json:"n"`
	Batch     int    `json:"batch,omitempty"` // the breaker's, when it began
	Good      int    `json:"good,omitempty"`
}

// after is the row with one launch more.
func (r *row) after(signature string, b *breaker) *row {
	if r == nil || r.Signature != signature || r.Batch != b.Batch || r.Good != b.Good {
		return &row{signature, 1, b.Batch, b.Good}
	}
	return &row{signature, r.N + 1, b.Batch, b.Good}
}

// count enters a job that ended for good. A preemption is somebody else's
// doing, and counts for nothing.
func (q *queue) count(j *job, v failure.Verdict) {
	b := q.breakerOf(j)
	if b == nil || v.Class == failure.Preempted {
		return
	}
	var kind, text string
	if v.Class == "" {
		kind, text = b.well(j.spec.Breaker)
	} else {
		kind, text = b.failed(j.spec.Breaker, v, j.Obs.Exit)
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
	if j.Alike = j.Alike.after(v.Signature, b); j.Alike.N >= most && !b.Open {
		b.Open = true
		q.tellBreaker(j, b, "breaker", inRow(j.Alike.N, v))
	}
}

// breakerOf is the breaker of a job's phase, nil where it has none. A smoke is
// in no batch: it holds its phase by itself.
func (q *queue) breakerOf(j *job) *breaker {
	if j.spec.Smoke || j.spec.Breaker.SameError <= 0 && j.spec.Breaker.Share <= 0 {
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

// closeBreaker begins a phase's batch anew.
func (q *queue) closeBreaker(p *place, phase string) {
	b := &breaker{Batch: 1}
	if old := p.breakers[phase]; old != nil {
		b.Batch += old.Batch
	}
	p.breakers[phase] = b
	q.put(entry{Breaker: &breakerEntry{Place: p.n, Phase: phase, Breaker: *b}})
}

// well counts a job that did well. One that makes the batch large enough for
// shares to count may open the breaker, too: nobody knows when the next fails.
func (b *breaker) well(policy providers.Breaker) (kind, text string) {
	b.Finished++
	b.Good++
	b.Last, b.Same = "", 0
	if b.Open || b.Finished != failure.ShareFrom {
		return "", "" // a success makes no share larger
	}
	worst := ""
	for _, class := range slices.Sorted(maps.Keys(b.Causes)) {
		if b.Causes[class] > b.Causes[worst] {
			worst = class
		}
	}
	return b.share(policy, worst)
}

// failed counts a job that failed for good, and opens the breaker or warns.
func (b *breaker) failed(policy providers.Breaker, v failure.Verdict, exit *int) (kind, text string) {
	if b.Causes == nil {
		b.Causes = map[string]int{}
	}
	b.Finished++
	b.Causes[v.Class]++
	if b.Last != v.Signature {
		b.Last, b.Same = v.Signature, 0
	}
	b.Same++
	switch {
	case b.Open:
		return "", ""
	case policy.SameError > 0 && b.Same >= policy.SameError:
		b.Open = true
		return "breaker", inRow(b.Same, v)
	case policy.SameError > 0 && b.Good == 0 && b.Same >= failure.CrashAlike && failure.Deterministic(v.Class, exit):
		b.Open = true
		return "breaker", "stopped: everything crashes alike: " + said(v)
	}
	return b.share(policy, v.Class)
}

// share opens the breaker or warns when so many of the finished jobs failed
// with a class.
func (b *breaker) share(policy providers.Breaker, class string) (kind, text string) {
	n := b.Causes[class]
	share := float64(n) / float64(b.Finished)
	text = fmt.Sprintf("%d of %d finished jobs failed with %s", n, b.Finished, class)
	switch {
	case policy.Share <= 0 || b.Finished < failure.ShareFrom || n == 0:
		return "", ""
	case share >= policy.Share:
		b.Open = true
		return "breaker", "stopped: " + text
	case share >= failure.ShareWarn && !b.Warned:
		b.Warned = true
		return "info", text
	}
	return "", ""
}

func inRow(n int, v failure.Verdict) string {
	return fmt.Sprintf("stopped after the same error %d times in a row: %s", n, said(v))
}

// said is the error that a verdict is about: a job may say nothing.
func said(v failure.Verdict) string { return cmp.Or(v.Line, v.Signature) }
