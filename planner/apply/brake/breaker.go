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

// A Breaker counts how the jobs of a phase end, in this batch: since the run
// or a resume. Open stops starts there.
type Breaker struct {
	Open     bool
	row      row // of the jobs that failed for good
	finished int
	good     int
	causes   map[string]int
	again    map[string]row // by job, of launches that others follow
	warned   bool
}

// A row is failures with one signature, one after another.
type row struct {
	signature string
	n         int
}

func (r row) add(signature string) row {
	if r.signature != signature {
		return row{signature, 1}
	}
	r.n++
	return r
}

// Success counts a job that completed. One that makes the batch large enough
// for shares to count may trip it, too: nobody knows when the next one fails.
func (b *Breaker) Success(policy lang.Breaker) (trip *Trip, warning string) {
	b.finished++
	b.good++
	b.row, b.again = row{}, nil
	if b.Open || b.finished != failure.ShareFrom {
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

// A Failure is how one launch of a job failed.
type Failure struct {
	Job       string // address
	Class     string
	Signature string
	Exit      *int
	Text      string // in words
}

// A Trip says why a breaker opens: Count failures for Reason.
type Trip struct {
	Cause  string // class
	Count  int
	Reason string
}

// Again counts a launch that failed and is made again as it was. It counts
// for its own job alone, which may do better next time: jobs that are flaky
// side by side stop nothing. A job that fails alike in every launch, with none
// of its phase that succeeded between, trips the breaker.
func (b *Breaker) Again(f Failure, policy lang.Breaker) *Trip {
	if !failure.Repeats(f.Class) {
		return nil
	}
	if b.again == nil {
		b.again = map[string]row{}
	}
	r := b.again[f.Job].add(f.Signature)
	b.again[f.Job] = r
	if b.Open || policy.SameError <= 0 || r.n < policy.SameError {
		return nil
	}
	return &Trip{f.Class, r.n, inRow(r.n, f.Text)}
}

// Failed counts a job that failed for good; a preemption is somebody else's
// doing, and counts for nothing. It returns a trip when the breaker has to
// open, and a warning when that is near.
func (b *Breaker) Failed(f Failure, policy lang.Breaker) (trip *Trip, warning string) {
	delete(b.again, f.Job)
	if f.Class == failure.Preempted {
		return nil, ""
	}
	b.finished++
	b.row = b.row.add(f.Signature)
	if b.causes == nil {
		b.causes = map[string]int{}
	}
	b.causes[f.Class]++
	if b.Open {
		return nil, ""
	}
	switch {
	case policy.SameError > 0 && b.row.n >= policy.SameError:
		return &Trip{f.Class, b.row.n, inRow(b.row.n, f.Text)}, ""
	case policy.SameError > 0 && b.good == 0 && b.row.n >= failure.CrashAlike && failure.Deterministic(f.Class, f.Exit):
		return &Trip{f.Class, b.row.n, "everything crashes alike: " + f.Text}, ""
	}
	return b.share(f.Class, policy)
}

func inRow(n int, text string) string {
	return fmt.Sprintf("the same error %d times in a row: %s", n, text)
}

// share looks at how many of the finished jobs failed with a class.
func (b *Breaker) share(class string, policy lang.Breaker) (trip *Trip, warning string) {
	n := b.causes[class]
	share := float64(n) / float64(b.finished)
	switch {
	case policy.Share <= 0 || b.finished < failure.ShareFrom || n == 0:
		return nil, ""
	case share >= policy.Share:
		return &Trip{class, n, fmt.Sprintf("%d of %d finished jobs failed with %s", n, b.finished, class)}, ""
	case share >= failure.ShareWarn && !b.warned:
		b.warned = true
		return nil, fmt.Sprintf("%d of %d finished jobs failed with %s; at %.0f %% nothing more is started", n, b.finished, class, policy.Share*100)
	}
	return nil, ""
}
