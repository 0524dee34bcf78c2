package refresh

import (
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/state"
)

// leavings are, by phase, the files that jobs have left on a backend so far,
// of phases whose jobs all run there. They show how much each further job will
// leave.
func (pf *preflight) leavings(a *ask) map[string]*made {
	out := map[string]*made{}
	for _, p := range pf.Campaign.Phases {
		if stays(p, a.name) {
			out[p.Name] = newMade()
		}
	}
	if len(out) == 0 || pf.State == nil {
		return out
	}
	for _, j := range pf.State.Jobs {
		if m := out[j.Phase]; m != nil && !j.Smoke && j.Status == state.Completed {
			m.add(j)
		}
	}
	return out
}

// stays reports whether all jobs of a phase run on a backend.
func stays(p *lang.Phase, backend string) bool {
	if len(p.Candidates) == 0 {
		return backend == backends.Local && len(lang.Beyond(p)) == 0
	}
	return len(lang.Beyond(p)) == 0 && !slices.ContainsFunc(p.Candidates, func(c string) bool { return c != backend })
}

// made is the size of the outputs of a phase's completed jobs.
type made struct {
	jobs  int64
	bytes map[string]int64 // by output
	files map[string]int64 // outputs of that name
	parts map[string]int64 // files that those of that name were
}

func newMade() *made {
	return &made{bytes: map[string]int64{}, files: map[string]int64{}, parts: map[string]int64{}}
}

func (m *made) add(j *state.Job) {
	m.jobs++
	for i := range j.Outputs {
		m.bytes[j.Outputs[i].Name] += j.Outputs[i].Size
		m.files[j.Outputs[i].Name]++
		m.parts[j.Outputs[i].Name] += int64(max(j.Outputs[i].Files, 1))
	}
}

// each is the least size that a job of the phase leaves: of each output its
// min_size, or the average of completed jobs where that is more.
func (m *made) each(p *lang.Phase) (sum int64) {
	for _, out := range p.Outputs {
		size := out.MinSize
		if n := m.files[out.Name]; n > 0 {
			size = max(size, m.bytes[out.Name]/n)
		}
		sum += size
	}
	return sum
}

// eachFiles is how many files a job of the phase leaves: one of each output, or as
// many as those that are done came to on average.
func (m *made) eachFiles(p *lang.Phase) (sum int64) {
	for _, out := range p.Outputs {
		sum += max(m.parts[out.Name]/max(m.files[out.Name], 1), 1)
	}
	return sum
}

// open is how many jobs of the phase are still to be done.
func (m *made) open(p *lang.Phase) int64 { return max(int64(p.Len())-m.jobs, 0) }
