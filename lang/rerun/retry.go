package rerun

import (
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
)

// Retry says which failures are tried again.
type Retry struct {
	On          []string      // failure classes
	MaxAttempts int           // launches, the first included; 1 without a block
	Delay       time.Duration // before the next launch
	Scale       map[string]Scale
}

// Scale multiplies resources for the next launch after a failure class.
type Scale struct {
	Memory, CPUs, GPUs, Walltime, Disk float64 // factors; 0 = unchanged
}

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

// Retry reads a retry block.
func (l *Reader) Retry(b *syntax.Block) Retry {
	if b == nil {
		return Retry{MaxAttempts: 1}
	}
	r := Retry{On: l.Texts(b, "on"), MaxAttempts: l.Integer(b, "max_attempts", 1, retryAttempts), Delay: l.Duration(b, "delay", 0)}
	if e := b.Expr("on"); e != nil && len(r.On) == 0 {
		if v, ok := l.Peek(e, nil); ok && value.IsList(v) && v.LengthInt() == 0 {
			l.Wrong(e, "on", "The list is empty, so nothing would be tried again. Name failure classes such as \"oom\", or leave retry out.")
		}
	}
	for _, class := range r.On {
		l.class(b.Expr("on"), "on", class)
	}
	for _, s := range b.All("scale") {
		if r.Scale == nil {
			r.Scale = map[string]Scale{}
		}
		class := s.Name()
		l.classAt(s.Syntax.LabelRanges[0], "scale", class)
		if !covered(r.On, class) && slices.Contains(l.classes, class) && b.Expr("on") != nil && len(r.On) > 0 {
			l.Sure.Warnat(s.Range, "This scale is never used", "The class %q is not in retry.on, so no launch follows such a failure.", class)
		}
		factor := func(name string) float64 { return l.Number(s, name, 0.01, 1000, 0) }
		r.Scale[class] = Scale{Memory: factor("memory"), CPUs: factor("cpus"), GPUs: factor("gpus"), Walltime: factor("walltime"), Disk: factor("disk")}
	}
	return r
}

// covered reports whether a class is in a list, by itself or by its family.
func covered(on []string, class string) bool {
	for _, c := range on {
		if c == class || strings.HasPrefix(class, c+"_") || strings.HasPrefix(c, class+"_") {
			return true
		}
	}
	return false
}

// Breaker reads a breaker block.
func (l *Reader) Breaker(b *syntax.Block) Breaker {
	if b == nil {
		return Breaker{SameError: breakerInRow, Share: breakerShare}
	}
	return Breaker{SameError: l.Integer(b, "same_error", 0, breakerInRow), Share: l.Number(b, "share", 0, 1, breakerShare)}
}
