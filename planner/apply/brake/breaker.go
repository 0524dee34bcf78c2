// Package brake decides when starting has to stop: by a breaker when
// everything fails alike, by a ceiling on launches that come of launches, and
// by holds.
package brake

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
)

const (
	breakerBatch = 20   // finished jobs from which the share of one cause counts
	breakerWarn  = 0.10 // share at which it is said
	crashBatch   = 2    // jobs that crash alike, with none that succeeded, when the cause is deterministic
)

// A Breaker counts how the jobs of a phase end, in this batch: since the run
// or a resume. Open stops starts there.
type Breaker struct {
	Open     bool
	last     string // signature of the last failure
	row      int    // failures with it in a row
	finished int
	good     int
	causes   map[string]int
	warned   bool
}

// Success counts a job that completed. One that makes the batch large enough
// for shares to count may trip it, too: nobody knows when the next one fails.
func (b *Breaker) Success(policy lang.Breaker) (trip *Trip, warning string) {
	b.finished++
	b.good++
	b.row, b.last = 0, ""
	if b.Open || b.finished != breakerBatch {
		return nil, "" // a success makes no share larger
	}
	most := ""
	for _, class := range slices.Sorted(maps.Keys(b.causes)) {
		if b.causes[class] > b.causes[most] {
			most = class
		}
	}
	return b.share(most, policy)
}

// A Failure is one job that failed for good.
type Failure struct {
	Class     string
	Signature string
	Exit      *int
	Text      string // in words
}

// deterministic reports whether a failure would repeat wherever it is tried:
// the program or a module of it is not there.
func (f Failure) deterministic() bool {
	// 126 and 127: POSIX shell, 2.8.2, "Exit Status for Commands".
	return f.Class == failure.MissingModule || f.Exit != nil && (*f.Exit == 126 || *f.Exit == 127)
}

// A Trip says why a breaker opens: Count failures for Reason.
type Trip struct {
	Cause  string // class
	Count  int
	Reason string
}

// Failed counts a failure. It returns a trip when the breaker has to open,
// and a warning when that is near.
func (b *Breaker) Failed(f Failure, policy lang.Breaker) (trip *Trip, warning string) {
	b.finished++
	if f.Signature == b.last {
		b.row++
	} else {
		b.last, b.row = f.Signature, 1
	}
	if b.causes == nil {
		b.causes = map[string]int{}
	}
	b.causes[f.Class]++
	if b.Open {
		return nil, ""
	}
	switch {
	case policy.SameError > 0 && b.row >= policy.SameError:
		return &Trip{f.Class, b.row, fmt.Sprintf("the same error %d times in a row: %s", b.row, f.Text)}, ""
	case policy.SameError > 0 && b.good == 0 && b.row >= crashBatch && f.deterministic():
		return &Trip{f.Class, b.row, "everything crashes alike: " + f.Text}, ""
	}
	return b.share(f.Class, policy)
}

// share looks at how many of the finished jobs failed with a class.
func (b *Breaker) share(class string, policy lang.Breaker) (trip *Trip, warning string) {
	n := b.causes[class]
	share := float64(n) / float64(b.finished)
	switch {
	case policy.Share <= 0 || b.finished < breakerBatch || n == 0:
		return nil, ""
	case share >= policy.Share:
		return &Trip{class, n, fmt.Sprintf("%d of %d finished jobs failed with %s", n, b.finished, class)}, ""
	case share >= breakerWarn && !b.warned:
		b.warned = true
		return nil, fmt.Sprintf("%d of %d finished jobs failed with %s; at %.0f %% nothing more is started", n, b.finished, class, policy.Share*100)
	}
	return nil, ""
}
