package refresh

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An ask is everything that one backend is asked.
type ask struct {
	name     string
	conf     providers.Backend
	lang     *lang.Backend // nil when it left the campaign
	p        providers.Provider
	can      offer.Capabilities
	groups   []jobGroup
	tokens   []string
	attempts map[string]*state.Attempt // by token
	imports  []lang.Import
	outputs  []recorded
	replaced []*state.Replaced
	early    chan looked // the findings of look, if it looks while the provider comes up
	offers   []offer.Pool
}

// asks are the questions to backends, by name.
type asks map[string]*ask

// of is the ask of a backend, an empty one if it is new.
func (by asks) of(name string) *ask {
	name = strings.TrimPrefix(name, "backend.")
	if a := by[name]; a != nil {
		return a
	}
	a := &ask{name: name, attempts: map[string]*state.Attempt{}}
	by[name] = a
	return a
}

// asks gathers the questions by backend. A backend that nothing could go to
// and where nothing of ours is, is left alone.
func (f *facts) asks() []*ask {
	by := asks{}
	for _, g := range f.groups {
		if len(g.Candidates) == 0 {
			for _, b := range f.Campaign.Backends {
				a := by.of(b.Address())
				a.groups = append(a.groups, g)
			}
			continue
		}
		for _, c := range g.Candidates {
			a := by.of(c)
			a.groups = append(a.groups, g)
		}
	}
	for _, p := range f.Campaign.Phases {
		for _, in := range p.Raw {
			if in.Backend != "" && !f.Options.Destroy {
				by.of(in.Backend)
			}
		}
	}
	if f.Refresh {
		f.refreshed(by)
	}
	var out []*ask
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if a := by[name]; f.configuration(a) {
			out = append(out, a)
		}
	}
	return out
}

// refreshed adds the questions of a refresh to each backend: machines, jobs in flight,
// imports, recorded outputs and replaced results.
func (f *facts) refreshed(by asks) {
	for _, b := range f.Campaign.Backends {
		if b.Rents {
			by.of(b.Address()) // machines may be billed there without a job
		}
	}
	for _, r := range f.State.Rentals {
		if r.Rented() {
			by.of(r.Backend)
		}
	}
	for _, j := range f.State.InFlight() {
		if at := j.Last(); at != nil {
			a := by.of(at.Backend)
			token, _, _ := strings.Cut(at.Token, "/")
			a.tokens = append(a.tokens, token)
			a.attempts[token] = at
		}
	}
	for _, im := range f.Campaign.Imports {
		switch {
		case im.Files() && im.Backend != "":
			by.of(im.Backend)
		case !im.Files() && f.State.Jobs[im.To] == nil:
			a := by.of(im.Backend)
			a.imports = append(a.imports, im)
		}
	}
	f.recordedOutputs(by)
	for _, all := range f.State.Replaced {
		for i := range all {
			a := by.of(all[i].Job.Outputs[0].Backend)
			a.replaced = append(a.replaced, &all[i])
		}
	}
}

// recorded is one output of a completed job, as the state has it.
type recorded struct {
	address string
	out     *state.Output
	pool    string       // of the attempt that made it
	spec    *lang.Output // nil when the campaign does not declare it any more
}

// recordedOutputs lists the outputs of completed jobs, by backend.
func (f *facts) recordedOutputs(by asks) {
	specs := map[string]map[string]*lang.Output{}
	for _, p := range f.Campaign.Phases {
		m := map[string]*lang.Output{}
		for _, out := range p.Outputs {
			m[out.Name] = out
		}
		specs[p.Name] = m
	}
	var a *ask // of the output before: neighbours are mostly alike
	var phase, backend string
	var spec map[string]*lang.Output
	for key, j := range f.State.All() {
		if j.Status != state.Completed || j.Smoke {
			continue
		}
		if spec == nil || j.Phase != phase {
			phase, spec = j.Phase, specs[j.Phase]
		}
		for i := range j.Outputs {
			out := &j.Outputs[i]
			if a == nil || out.Backend != backend {
				a, backend = by.of(out.Backend), out.Backend
				if a.outputs == nil {
					a.outputs = make([]recorded, 0, len(f.State.Jobs))
				}
			}
			pool := ""
			if at := j.Last(); at != nil && at.Backend == out.Backend {
				pool = at.Pool
			}
			a.outputs = append(a.outputs, recorded{address: key, out: out, pool: pool, spec: spec[out.Name]})
		}
	}
}

// configuration finds how a backend is configured: by the campaign, or as the
// state remembers it.
func (f *facts) configuration(a *ask) bool {
	defer func() { a.conf.Rented = site.Rented(f.State, a.name) }()
	for _, b := range f.Campaign.Backends {
		if b.Address() == a.name {
			a.lang, a.conf = b, site.Backend(f.Campaign, b, f.State.Lineage)
			if b.Type == "local" {
				a.conf.Environ = site.Environ(f.Environ)
			}
			return true
		}
	}
	kept, ok := f.State.Backends[a.name]
	if !ok || json.Unmarshal(kept.Config, &a.conf) != nil {
		return false
	}
	a.conf.Name, a.conf.Type = a.name, kept.Type
	return true
}
