package lang

import (
	"slices"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/retry"
)

// Retry says which failures are tried again, and Scale the request of the next
// launch.
type (
	Retry = retry.Phase
	Scale = retry.Scale
)

// Breaker stops starting when everything fails alike.
type Breaker struct {
	SameError int     // in a row; 0 is off; 3 by default
	Share     float64 // of the finished jobs of a batch, one cause; 0.15 by default
}

// Defaults of the breaker, where no block says otherwise.
const (
	breakerInRow = 3    // failures of one cause, one after another
	breakerShare = 0.15 // of the finished jobs of a batch
)

// retryAttempts is how often a job is launched under a retry block that says
// nothing else, the first launch included.
const retryAttempts = 3

// mostAttempts is the most that max_attempts may be: each launch is counted ahead.
const mostAttempts = 10_000

// Retry reads a retry block.
func (l *rerunReader) Retry(b *syntax.Block) Retry {
	if b == nil {
		return Retry{Policy: retry.Policy{Max: 1}}
	}
	r := Retry{Sometimes: l.retried, Policy: retry.Policy{On: l.Texts(b, "on"), Max: l.Integer(b, "max_attempts", 1, retryAttempts), Delay: l.Duration(b, "delay", 0)}}
	if e := b.Expr("on"); e != nil && len(r.On) == 0 {
		if v, ok := l.Peek(e, nil); ok && value.IsList(v) && v.LengthInt() == 0 {
			l.Wrong(e, "on", "The list is empty, so nothing would be tried again. Name failure classes such as \"oom\", or leave retry out.")
		}
	}
	if r.Max > mostAttempts {
		l.Wrong(b.Expr("max_attempts"), "max_attempts", "At most %d launches are possible, %d was found.", mostAttempts, r.Max)
		r.Max = mostAttempts
	}
	r.Once = r.Max == 1
	for _, class := range r.On {
		if class == "unverified" {
			l.Wrong(b.Expr("on"), "on", "A job whose outputs could not be verified is held, and never launched again by itself. Raise verify_timeout or verify_max_size in its output.")
			continue
		}
		l.known(b.Expr("on").Range(), class)
	}
	for _, s := range b.All("scale") {
		if r.Scale == nil {
			r.Scale = map[string]Scale{}
		}
		class := s.Name()
		l.used(b, r, s)
		factor := func(name string) float64 { return l.Number(s, name, 0.01, 1000, 0) }
		r.Scale[class] = Scale{Memory: factor("memory"), CPUs: factor("cpus"), GPUs: factor("gpus"), Walltime: factor("walltime"), Disk: factor("disk")}
	}
	return r
}

// leaves reads where jobs go after failures, from a retry block.
func (pr *phaseReader) leaves(b *syntax.Block, r *Retry) {
	if b == nil {
		return
	}
	for _, on := range b.All("on") {
		if r.Place == nil {
			r.Place = map[string][]string{}
		}
		pr.rerun.used(b, *r, on)
		if to := pr.backends.Choice(on, "place", "the block"); len(to) > 0 {
			r.Place[on.Name()] = to
		}
	}
}

// used reports a block of a class that there is not, or that no launch follows.
func (l *rerunReader) used(b *syntax.Block, r Retry, of *syntax.Block) {
	class := of.Name()
	l.known(of.Syntax.LabelRanges[0], class)
	if !reached(r, class) && slices.Contains(l.classes, class) && b.Expr("on") != nil && len(r.On) > 0 {
		l.Sure.Warnat(of.Range, "This "+of.Spec.Name+" is never used", "The class %q is not in retry.on, so no launch follows such a failure.", class)
	}
}

// reached reports whether a class that is retried takes the scale of a name,
// which may be a family's.
func reached(r Retry, name string) bool {
	return r.Covers(name) || slices.Contains(r.Sometimes, name) || slices.ContainsFunc(r.On, func(on string) bool { return failure.Is(on, name) })
}

// Breaker reads a breaker block.
func (l *rerunReader) Breaker(b *syntax.Block) Breaker {
	if b == nil {
		return Breaker{SameError: breakerInRow, Share: breakerShare}
	}
	return Breaker{SameError: l.Integer(b, "same_error", 0, breakerInRow), Share: l.Number(b, "share", 0, 1, breakerShare)}
}
