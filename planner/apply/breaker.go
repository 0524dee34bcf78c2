package apply

import (
	"fmt"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

const (
	breakerBatch = 20   // finished jobs from which the share of one cause counts
	breakerWarn  = 0.10 // share at which it is said
	crashBatch   = 2    // jobs that crash alike, with none that succeeded, when the cause is deterministic
)

// A breaker stops starting in a phase when everything fails alike.
type breaker struct {
	open     bool
	last     string // signature of the last failure
	row      int    // failures with it in a row
	finished int    // in this batch: since the run or a resume
	good     int
	causes   map[string]int
	warned   bool
}

func (b *breaker) success() {
	b.finished++
	b.good++
	b.row, b.last = 0, ""
}

func (e *engine) loadBreakers() {
	for name := range e.st.Breakers {
		if p := e.byName[name]; p != nil {
			p.breaker.open = true
		}
	}
}

// countFailure tells a phase's breaker of a job that failed for good.
func (e *engine) countFailure(f *flight, o *offer.Observation) {
	b, policy := &f.p.breaker, f.p.Breaker
	v := failure.Classify(evidence(o), Rules(e.Campaign))
	sig := v.Signature
	if sig == "" || v.Class != o.Class {
		sig = o.Class + ": " + failureText(o)
	}
	b.finished++
	if sig == b.last {
		b.row++
	} else {
		b.last, b.row = sig, 1
	}
	if b.causes == nil {
		b.causes = map[string]int{}
	}
	b.causes[o.Class]++
	if b.open {
		return
	}
	n, share := b.causes[o.Class], float64(b.causes[o.Class])/float64(b.finished)
	switch {
	case policy.SameError > 0 && b.row >= policy.SameError:
		e.openBreaker(f.p, o.Class, fmt.Sprintf("the same error %d times in a row: %s", b.row, failureText(o)), b.row)
	case policy.SameError > 0 && b.good == 0 && b.row >= crashBatch && deterministic(o):
		e.openBreaker(f.p, o.Class, "everything crashes alike: "+failureText(o), b.row)
	case policy.Share > 0 && b.finished >= breakerBatch && share >= policy.Share:
		e.openBreaker(f.p, o.Class, fmt.Sprintf("%d of %d finished jobs failed with %s", n, b.finished, o.Class), n)
	case policy.Share > 0 && b.finished >= breakerBatch && share >= breakerWarn && !b.warned:
		b.warned = true
		e.report.note(e, "phase."+f.p.Name, fmt.Sprintf("phase.%s: %d of %d finished jobs failed with %s; at %.0f %% nothing more is started", f.p.Name, n, b.finished, o.Class, policy.Share*100), true)
	}
}

// deterministic reports whether a failure would repeat wherever it is tried:
// the program or a module of it is not there.
func deterministic(o *offer.Observation) bool {
	// 126 and 127: POSIX shell, 2.8.2, "Exit Status for Commands".
	return o.Class == failure.MissingModule || o.Exit != nil && (*o.Exit == 126 || *o.Exit == 127)
}

// openBreaker stops starts in a phase, here and in the queues, until resume.
func (e *engine) openBreaker(p *phase, cause, reason string, count int) {
	if p.breaker.open {
		return
	}
	p.breaker.open = true
	e.emit(state.BreakerOpened{Breaker: state.Breaker{Phase: p.Name, Cause: cause, Count: count, Reason: reason, At: e.Clock()}})
	text := fmt.Sprintf("phase.%s starts nothing more: %s. Mend it, then: muster resume phase.%s", p.Name, reason, p.Name)
	e.report.note(e, "phase."+p.Name, text, true)
	e.notify("breaker", "phase."+p.Name, text)
	e.controlQueued(func(f *flight) bool { return f.p == p }, true)
}
