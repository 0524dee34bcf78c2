package staging

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// Results evaluates a campaign's results.
func Results(c *lang.Campaign, st *state.State) []lang.ResultValue {
	return c.EvalResults(Completed(c, st))
}

// Completed is the source of computed results: by phase, the metrics of jobs
// that a state holds as completed, and the absolute paths of their outputs.
func Completed(c *lang.Campaign, st *state.State) map[string]lang.Completed {
	by := make(map[string]lang.Completed, len(c.Phases))
	for _, p := range c.Phases {
		by[p.Name] = completedOf(p, st)
	}
	return by
}

// completedOf collects a phase's metrics and output paths by key.
func completedOf(p *lang.Phase, st *state.State) lang.Completed {
	out := lang.Completed{Metrics: map[string]map[string]string{}, Outputs: map[string]map[string]string{}, Total: p.Len()}
	for _, m := range p.Metrics {
		out.Metrics[m.Name] = map[string]string{}
	}
	for _, o := range p.Outputs {
		out.Outputs[o.Name] = map[string]string{}
	}
	if len(st.Jobs) == 0 {
		return out
	}
	for i := range p.Len() {
		rec := st.Jobs[p.Address(i)]
		if rec == nil || rec.Status != state.Completed {
			continue
		}
		out.Done++
		key := p.Key(i)
		for name, text := range rec.Metrics {
			if m := out.Metrics[name]; m != nil {
				m[key] = text
			}
		}
		for j := range rec.Outputs {
			o := &rec.Outputs[j]
			if m := out.Outputs[o.Name]; m != nil {
				m[key] = Absolute(o.Workdir, o.Path)
			}
		}
	}
	return out
}
