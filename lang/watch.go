package lang

import (
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/providers/failure"
)

// Watch says what ends a job, or is reported, while it runs.
type Watch struct {
	Forbid       []string      // RE2 patterns on lines that the job prints
	StalledAfter time.Duration // without output and without a checkpoint; 0 = never
	Ready        string        // RE2 pattern on a line that the job prints when it began its work; "" = none
	ReadyWithin  time.Duration // after its start; 0 without Ready
	OnStall      string        // "tell", "cancel", "retry"; "" without StalledAfter and Ready
}

// The actions on a stalled job.
const (
	StallTell   = "tell"
	stallCancel = "cancel"
	stallRetry  = "retry"
)

// leastStall bounds stalled_after from below: logs are looked at every second,
// and file servers show growth late.
const leastStall = 10 * time.Second

// Watch reads a watch block.
func (l *rerunReader) Watch(b *syntax.Block) Watch {
	if b == nil {
		return Watch{}
	}
	w := Watch{Forbid: l.Texts(b, "forbid"), StalledAfter: l.Duration(b, "stalled_after", 0), OnStall: l.OneOf(b, "on_stall", StallTell, stallCancel, stallRetry)}
	l.Forbidden(b, w.Forbid)
	l.leastSilence(b, "stalled_after", w.StalledAfter)
	ready := b.One("ready")
	if ready != nil {
		w.Ready, w.ReadyWithin = l.Text(ready, "match"), l.Duration(ready, "within", 0)
		l.leastSilence(ready, "within", w.ReadyWithin)
		if e := ready.Expr("match"); e != nil && w.Ready == "" && !l.Broken {
			l.Wrong(e, "match", "An empty pattern matches every line.")
		}
		l.Pattern(ready, "match", w.Ready, false)
	}
	switch watched := w.StalledAfter > 0 || ready != nil; {
	case watched && w.OnStall == "":
		w.OnStall = StallTell
	case !watched && w.OnStall != "" && !l.Broken:
		l.Wrong(b.Expr("on_stall"), "on_stall", "It needs stalled_after = \"20m\", or the like, or a ready block beside it.")
	}
	return w
}

// leastSilence checks a time after which a job counts as stalled.
func (l *rerunReader) leastSilence(b *syntax.Block, name string, d time.Duration) {
	if e := b.Expr(name); e != nil && d < leastStall && (d > 0 || name == "within" && isZero(l.Text(b, name))) {
		l.Wrong(e, name, "%s is less than %s, after which a job may still be silent for no reason.", units.FormatDuration(d), units.FormatDuration(leastStall))
	}
}

// Forbidden checks the patterns of a block's forbid list.
func (l *rerunReader) Forbidden(b *syntax.Block, patterns []string) {
	for _, pattern := range patterns {
		if pattern == "" {
			l.Wrong(b.Expr("forbid"), "forbid", "An empty pattern matches every line.")
			continue
		}
		l.Pattern(b, "forbid", pattern, false)
	}
}

// stallLaunches is how often a job is launched whose watch block retries stalls,
// where no retry block says otherwise.
const stallLaunches = 2

// Retry is a retry policy that covers stalls, where the block says so.
func (w Watch) Retry(r Retry) Retry {
	if w.OnStall != stallRetry || r.Covers(failure.Stalled) {
		return r
	}
	if len(r.On) == 0 {
		r.Max = max(r.Max, stallLaunches)
	}
	r.On = append(slices.Clone(r.On), failure.Stalled)
	return r
}
