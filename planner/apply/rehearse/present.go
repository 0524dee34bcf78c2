package rehearse

import (
	"slices"
	"strings"
	"time"

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
		out[a.Backend] = append(out[a.Backend], sim.Present{Job: job, Running: running, Since: a.Started, Held: j.Short != ""})
	}
	return out
}

// Began is when each simulated backend was first submitted to: outages and
// prices count from then on.
func Began(st *state.State) map[string]time.Time {
	out := map[string]time.Time{}
	for _, j := range st.Jobs {
		for i := range j.Attempts {
			a := &j.Attempts[i]
			if at := out[a.Backend]; strings.HasPrefix(a.Backend, sim.Type+".") && !a.Intent.IsZero() && (at.IsZero() || a.Intent.Before(at)) {
				out[a.Backend] = a.Intent
			}
		}
	}
	return out
}

// Launches is how many launches each pool of simulated backends has started, by
// backend, and tells those present which of them they are: a declared price
// change counts on over applies.
func Launches(st *state.State, present map[string][]sim.Present) map[string]map[string]int {
	var started []*state.Attempt
	for _, j := range st.All() {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; !a.Started.IsZero() && strings.HasPrefix(a.Backend, sim.Type+".") {
				started = append(started, a)
			}
		}
	}
	slices.SortStableFunc(started, func(a, b *state.Attempt) int { return a.Started.Compare(b.Started) })
	out, nth := map[string]map[string]int{}, map[string]int{} // by token
	for _, a := range started {
		if out[a.Backend] == nil {
			out[a.Backend] = map[string]int{}
		}
		out[a.Backend][a.Pool]++
		token, _, _ := strings.Cut(a.Token, "/")
		nth[token] = out[a.Backend][a.Pool]
	}
	for _, list := range present {
		for i := range list {
			list[i].Nth = nth[list[i].Job.Token]
		}
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
