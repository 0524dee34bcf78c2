package retry

import (
	"slices"

	"github.com/muster-run/muster/providers/failure"
)

// An Ended is a launch that failed: how, and where.
type Ended struct{ Class, Backend string }

// Leaves is the name under which Place has the backends that a job goes to after a
// failure with a class on a backend; false where its next launch, if any, is made
// where it is.
func (p Phase) Leaves(class, backend string) (name string, ok bool) {
	name, to, ok := forClass(p.Place, class)
	if !ok || slices.Contains(to, backend) || !slices.Contains(p.classes(), class) {
		return "", false
	}
	return name, true
}

// Went is the name under which Place has the backends where a job is after these
// launches, oldest first; "" where none of them made it leave.
func (p Phase) Went(launches []Ended) (name string) {
	for _, l := range launches {
		if to, ok := p.Leaves(l.Class, l.Backend); ok {
			name = to
		}
	}
	return name
}

// At is the policy that a queue of a backend carries out: without the classes after
// which a job goes elsewhere, because it cannot submit there.
func (p Phase) At(backend string) Phase {
	if len(p.Place) == 0 {
		return p
	}
	stays := func(classes []string) (out []string) {
		for _, class := range classes {
			if class == failure.OOM {
				out = append(out, slices.DeleteFunc([]string{failure.OOMGPU, failure.OOMHost, failure.OOMSched}, func(c string) bool { _, ok := p.Leaves(c, backend); return ok })...)
			} else if _, ok := p.Leaves(class, backend); !ok {
				out = append(out, class)
			}
		}
		return out
	}
	p.On, p.Sometimes = stays(p.On), stays(p.Sometimes)
	return p
}
