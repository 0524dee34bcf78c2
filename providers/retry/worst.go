package retry

import (
	"slices"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Phase is the policy of the jobs of a phase, with the facts that count launches before any
// has failed.
type Phase struct {
	Policy
	Resumes   bool     // they have a checkpoint to go on from, so that a walltime may end them again and again
	Sometimes []string // classes that a failure block of the campaign retries where it finds its sign
	Once      bool     // max_attempts = 1 is written: no launch follows another, whatever the class
	// Place are the backends, in order, that a job goes to after a failure, by class
	// or "oom".
	Place map[string][]string
}

// Spare reports whether a launch that failed with a class is made once more though the policy
// does not say so: its machine failed, and not the job. There is one, and none where retry.on
// names the class or max_attempts is 1. earlier are the classes of the launches before it. No
// ceiling counts it: muster makes it where the approval still covers it.
func (p Phase) Spare(class string, earlier []string) bool {
	spare := func(class string) bool { return failure.Infrastructure(class) && !p.Covers(class) }
	return !p.Once && spare(class) && !slices.ContainsFunc(earlier, spare)
}

// InSegments is the policy of a job whose work is cut into so many segments:
// the walltime ends each but the last, and the next launch goes on from its
// checkpoint.
func (p Phase) InSegments(n int) Phase {
	if n <= 1 {
		return p
	}
	if !p.Covers(failure.Walltime) {
		p.On = append(slices.Clone(p.On), failure.Walltime)
	}
	p.Max, p.Resumes = p.Launches()+n-1, true
	return p
}

// slowGrowth is how many launches in a row a forecast grows one by one. A policy that allows
// more counts as growing as far as it can at once.
const slowGrowth = 1000

// Worst lists shapes that no launch of a job can exceed: the n-th launch,
// whatever the failures before it, asks for no more of any resource than the
// n-th here, and there are no more launches than here.
func (p Phase) Worst(s offer.Shape, most Bound) []offer.Shape {
	n := p.Count(s, most)
	out := append(make([]offer.Shape, 0, n), s)
	for by := p.worst(); len(out) < n; {
		if len(out) == slowGrowth {
			by = by.atOnce()
		}
		s = most.within(by.times(s), s)
		out = append(out, s)
	}
	return out
}

// Alike reports whether all launches of a shape that there can be ask for the
// same.
func (p Phase) Alike(s offer.Shape, most Bound) bool {
	return p.Count(s, most) == 1 || !larger(most.within(p.worst().times(s), s), s)
}

// Count is how many launches there can be: all that the policy allows where one
// of its classes may come up again and again, else as many as it takes until each
// class is given all that there is.
func (p Phase) Count(s offer.Shape, most Bound) int {
	n := 1
	if len(p.Place) > 0 && len(p.classes()) > 0 {
		return p.Launches() // elsewhere there may be more
	}
	for _, class := range p.classes() {
		if by, _ := p.ScaleFor(class); by.shrinks() {
			return p.Launches() // a resource that shrinks may grow again
		}
		for at, steps := s, 0; ; n++ {
			if n >= p.Launches() || steps == slowGrowth {
				return p.Launches()
			}
			if p.hopeless(class, p.Resumes, at, most) != "" {
				break
			}
			next := p.Grow(at, class, most)
			if !larger(next, at) { // it may fail so for ever
				return p.Launches()
			}
			at = next
			steps++
		}
	}
	return n
}

// classes are those that may be retried: of a family its members.
func (p Phase) classes() (out []string) {
	for _, on := range append(slices.Clone(p.On), p.Sometimes...) {
		if on != failure.OOM {
			out = append(out, on)
			continue
		}
		out = append(out, failure.OOMGPU, failure.OOMHost, failure.OOMSched)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// worst is the largest factor of each resource, over the classes that may be
// retried; nothing shrinks.
func (p Phase) worst() (out Scale) {
	out = Scale{1, 1, 1, 1, 1}
	for _, class := range p.classes() {
		by, _ := p.ScaleFor(class)
		out.Memory, out.CPUs, out.GPUs = factor(out.Memory, by.Memory), factor(out.CPUs, by.CPUs), factor(out.GPUs, by.GPUs)
		out.Walltime, out.Disk = factor(out.Walltime, by.Walltime), factor(out.Disk, by.Disk)
	}
	return out
}

func (by Scale) shrinks() bool {
	for _, f := range []float64{by.Memory, by.CPUs, by.GPUs, by.Walltime, by.Disk} {
		if f > 0 && f < 1 {
			return true
		}
	}
	return false
}

// factor is the larger of two factors; one that is no number is none.
func factor(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

// atOnce is the scale that takes each resource that grows to its bound.
func (by Scale) atOnce() Scale {
	for _, f := range []*float64{&by.Memory, &by.CPUs, &by.GPUs, &by.Walltime, &by.Disk} {
		if *f > 1 {
			*f = mostBytes
		}
	}
	return by
}
