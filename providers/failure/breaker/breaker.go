// Package breaker decides when a phase stops because its jobs fail for the same
// cause. The engine and the queue of a machine use it, so they agree. Nodes of
// a cluster share no memory and count in files, with the same numbers.
package breaker

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/providers/failure"
)

// A Policy is when a phase stops; 0 is off.
type Policy struct {
	SameError int     // failures with one error, one job after another
	Share     float64 // of the finished jobs, for one cause
	Jobs      int     // of the phase, in all; 0 = not known
}

// A Count is how the jobs of a phase have ended since its first job, or since a resume. It is
// stored unchanged; the zero value is the beginning. The caller that stops the phase opens it.
type Count struct {
	Open     bool           `json:"open,omitempty"`
	Warned   bool           `json:"warned,omitempty"`
	Last     string         `json:"last,omitempty"` // signature of the last job that failed for good
	Same     int            `json:"same,omitempty"` // how many times in a row
	Finished int            `json:"finished,omitempty"`
	Good     int            `json:"good,omitempty"`   // of the finished jobs, the completed ones
	Causes   map[string]int `json:"causes,omitempty"` // of the others, by class
	// Corners are failures close together, by class.
	Corners map[string]corner `json:"corners,omitempty"`
	Batch   int               `json:"batch,omitempty"` // how many came before it
}

// A corner counts groups of failures that are close together.
type corner struct {
	N    int `json:"n"`
	Last int `json:"last"` // which of the finished jobs the last of them was
}

// enter counts a failure with a class in its corner.
func (c *Count) enter(class string) {
	if c.Causes == nil {
		c.Causes = map[string]int{}
	}
	if c.Corners == nil {
		c.Corners = map[string]corner{}
	}
	c.Finished++
	c.Causes[class]++
	at := c.Corners[class]
	if at.N == 0 || c.Finished-at.Last > failure.Neighbours {
		at.N++
	}
	at.Last = c.Finished
	c.Corners[class] = at
}

// A Failure is how one launch of a job failed.
type Failure struct {
	Class     string
	Signature string
	Exit      *int
	Text      string // in words
}

// A Trip is why a phase stops: the number of failures with a cause.
type Trip struct {
	Cause  string // class
	Count  int
	Reason string
}

// Well counts a completed job. One that makes the batch large enough for shares to count may
// trip it, too, without waiting for the next failure.
func (c *Count) Well(p Policy) (trip *Trip, warning string) {
	c.Finished++
	c.Good++
	c.Last, c.Same = "", 0
	if c.Open || c.Finished != failure.ShareFrom {
		return nil, "" // a success makes no share larger
	}
	most := ""
	for _, class := range slices.Sorted(maps.Keys(c.Causes)) {
		if c.Causes[class] > c.Causes[most] {
			most = class
		}
	}
	return c.share(p, most)
}

// Failed counts a job that failed for good. A failure that is not the job's fault counts for
// nothing (failure.Counts). A failure that depends on the job's resources counts in its share,
// and in no row. A warning says that the end is near.
func (c *Count) Failed(p Policy, f Failure) (trip *Trip, warning string) {
	if !failure.Counts(f.Class) {
		return nil, ""
	}
	c.enter(f.Class)
	if !failure.Repeats(f.Class) {
		if c.Open {
			return nil, ""
		}
		return c.share(p, f.Class)
	}
	if c.Last != f.Signature {
		c.Last, c.Same = f.Signature, 0
	}
	c.Same++
	switch {
	case c.Open:
		return nil, ""
	case p.SameError > 0 && c.Same >= p.SameError:
		return inRow(c.Same, f), ""
	case p.SameError > 0 && c.Good == 0 && c.Same >= failure.CrashAlike && failure.Deterministic(f.Class, f.Exit):
		return &Trip{f.Class, c.Same, "all jobs crash with the same error: " + f.Text}, ""
	}
	return c.share(p, f.Class)
}

// share looks at how many of the finished jobs failed with a class.
func (c *Count) share(p Policy, class string) (trip *Trip, warning string) {
	n := c.Causes[class]
	text := fmt.Sprintf("%d of %d finished jobs failed with %s", n, c.Finished, class)
	part := float64(n) / float64(c.Finished)
	switch {
	case failure.ClassCount{Class: class, N: n, Corners: c.Corners[class].N, Finished: c.Finished, Jobs: p.Jobs}.Reaches(p.Share):
		return &Trip{class, n, text}, ""
	case p.Share > 0 && c.Finished >= failure.ShareFrom && part >= failure.ShareWarn && part < p.Share && !c.Warned:
		c.Warned = true
		return nil, text
	}
	return nil, ""
}

func inRow(n int, f Failure) *Trip {
	return &Trip{f.Class, n, fmt.Sprintf("the same error %d times in a row: %s", n, f.Text)}
}
