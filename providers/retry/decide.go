package retry

import (
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Failure is one launch that failed.
type Failure struct {
	Class string
	// Action is that of the campaign's own failure block: "retry", "hold" or
	// "fail"; "" leaves it to the policy.
	Action string
	Launch int  // counted from 1, of those that the policy counts
	Moved  bool // a checkpoint moved while it ran
	Leaves bool // the next launch goes elsewhere
}

// A Reason says why no launch follows.
type Reason string

// The reasons.
const (
	NotCovered Reason = "retry.on does not name its class"
	Held       Reason = "a failure block of the campaign holds it"
	Failed     Reason = "a failure block of the campaign fails it"
	UsedUp     Reason = "its launches are used up"
	NoProgress Reason = "no checkpoint has moved, so it is not started again"
	OtherInput Reason = "a file that it reads is not the one that was recorded"
	TooSmall   Reason = "the next attempt needs more than there is"
)

// Next is the step after a failure.
type Next struct {
	Again bool
	Shape offer.Shape // of the next launch
	Grown bool        // it is not the shape of the one before
	Why   Reason      // "" if Again
}

// After decides what follows a launch of a shape that failed, on a place that
// gives at most so much.
func (p Policy) After(f Failure, s offer.Shape, most Bound) Next {
	switch {
	case f.Class == failure.InputChanged:
		return Next{Why: OtherInput} // it would find the same again
	case f.Action == "hold":
		return Next{Why: Held}
	case f.Action == "fail":
		return Next{Why: Failed}
	case f.Action != "retry" && !p.Covers(f.Class):
		return Next{Why: NotCovered}
	}
	if why := p.hopeless(f.Class, f.Moved, s, most); why != "" && !f.Leaves {
		return Next{Why: why}
	}
	if f.Launch >= p.Launches() {
		return Next{Why: UsedUp}
	}
	next := p.Grow(s, f.Class, most)
	return Next{Again: true, Shape: next, Grown: differ(next, s)}
}

// NeedsProgress reports whether a launch that failed with a class is made again
// only if its checkpoint moved: one that its walltime ended, and that gets no
// longer one.
func (p Policy) NeedsProgress(class string, s offer.Shape, most Bound) bool {
	return class == failure.Walltime && p.Grow(s, class, most).Walltime <= s.Walltime
}

// hopeless says why another launch would come to the same end.
func (p Policy) hopeless(class string, moved bool, s offer.Shape, most Bound) Reason {
	if p.NeedsProgress(class, s, most) {
		if moved {
			return ""
		}
		return NoProgress
	}
	if by, _ := p.ScaleFor(class); shortOfMemory(class) && by.Memory > 1 && s.Memory > 0 && p.Grow(s, class, most).Memory <= s.Memory {
		return TooSmall
	}
	return ""
}

// shortOfMemory reports whether a class says that the memory in the job's shape
// was too small. Device memory is not in it.
func shortOfMemory(class string) bool { return class == failure.OOMHost || class == failure.OOMSched }

// differ reports whether two shapes ask for different things.
func differ(a, b offer.Shape) bool { return larger(a, b) || larger(b, a) }
