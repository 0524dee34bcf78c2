package rehearse

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// InFlight are the jobs that backends have, by backend, as a simulated one can
// go on with them.
func InFlight(c *lang.Campaign, st *state.State) map[string][]sim.Present {
	out := map[string][]sim.Present{}
	for _, j := range st.InFlight() {
		a := j.Last()
		if a == nil {
			continue
		}
		token, _, _ := strings.Cut(a.Token, "/")
		job := providers.Job{Token: token, Address: j.Address, Phase: j.Phase, Smoke: j.Smoke, Attempt: a.N, Pool: a.Pool}
		for _, p := range c.Phases {
			if p.Name == j.Phase {
				describe(&job, p)
			}
		}
		running := j.Status == state.Running || j.Status == state.Verifying
		out[a.Backend] = append(out[a.Backend], sim.Present{Job: job, Running: running, Since: a.Started})
	}
	return out
}

// describe says what a job asks for and leaves, as its phase has it now.
func describe(job *providers.Job, p *lang.Phase) {
	at, err := addr.Parse(job.Address)
	if err != nil {
		return
	}
	i, ok := p.Index(at.Key)
	if !ok {
		return
	}
	v := lang.Run
	if job.Smoke {
		v = lang.SmokeRun
	}
	job.Shape = p.Requests(v)[p.RequestOf(i, v)].Shape
	for _, o := range p.Outputs {
		job.Outputs = append(job.Outputs, providers.Output{Name: o.Name, Kind: string(o.Kind), Path: p.OutputPath(i, o.Name, v), MinCount: o.MinCount, MinSize: o.MinSize})
	}
}
