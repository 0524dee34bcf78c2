package refresh

import (
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/state"
)

// leaves is how many bytes the jobs still to be done will leave on a backend at
// least: of each output its min_size, or what those that are done came to on
// average where that is more. Phases that may run elsewhere do not count.
func (o *observer) leaves(a *ask) int64 {
	made := map[string]*made{}
	for _, p := range o.Campaign.Phases {
		if stays(p, a.name) {
			made[p.Name] = newMade()
		}
	}
	if len(made) == 0 {
		return 0
	}
	if o.State != nil {
		for _, j := range o.State.Jobs {
			if m := made[j.Phase]; m != nil && !j.Smoke && j.Status == state.Completed {
				m.add(j)
			}
		}
	}
	var sum int64
	for _, p := range o.Campaign.Phases {
		if m := made[p.Name]; m != nil {
			sum += m.rest(p)
		}
	}
	return sum
}

// stays reports whether all jobs of a phase run on a backend.
func stays(p *lang.Phase, backend string) bool {
	if len(p.Candidates) == 0 {
		return backend == backends.Local
	}
	return len(p.Overflow) == 0 && !slices.ContainsFunc(p.Candidates, func(c string) bool { return c != backend })
}

// made is what the completed jobs of a phase left.
type made struct {
	jobs  int64
	bytes map[string]int64 // by output
	files map[string]int64 // outputs of that name
}

func newMade() *made { return &made{bytes: map[string]int64{}, files: map[string]int64{}} }

func (m *made) add(j *state.Job) {
	m.jobs++
	for i := range j.Outputs {
		m.bytes[j.Outputs[i].Name] += j.Outputs[i].Size
		m.files[j.Outputs[i].Name]++
	}
}

// rest is what the other jobs of the phase will leave.
func (m *made) rest(p *lang.Phase) int64 {
	open := max(int64(p.Len())-m.jobs, 0)
	var sum int64
	for _, out := range p.Outputs {
		each := out.MinSize
		if n := m.files[out.Name]; n > 0 {
			each = max(each, m.bytes[out.Name]/n)
		}
		sum += each * open
	}
	return sum
}
