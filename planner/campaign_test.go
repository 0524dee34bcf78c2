package planner

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// now is when all tests plan.
var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// A phaseSpec is a phase of a test campaign.
type phaseSpec struct {
	name  string
	seeds []int
	sizes bool   // the axis of the seeds is one of sizes, "n"
	lr    string // a param that the command reads
	input string // producer phase, "" for none
	all   bool   // its outputs as a list
	gpus  int
	smoke bool // with lr = 0
	pilot bool
	wall  string
	mod   func(*lang.Phase) // after loading
}

// finishLoad applies what tests change after loading.
func finishLoad(c *lang.Campaign, mod func(*lang.Campaign), specs []phaseSpec) {
	for _, s := range specs {
		for _, p := range c.Phases {
			if p.Name == s.name && s.mod != nil {
				s.mod(p)
			}
		}
	}
	if mod != nil {
		mod(c)
	}
}

// laptop is the pool that tests run on.
func laptop() []offer.Pool {
	return []offer.Pool{{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, GPUs: 1, GPUModel: "A100", Idle: 4, Total: 4, Price: offer.Price{Known: true}}}
}

// input plans on the laptop, and on a machine like it for every other backend.
func input(c *lang.Campaign, st *state.State) Input {
	in := Input{Campaign: c, State: st, Pools: laptop(), Now: now}
	for _, b := range c.Backends {
		if b.Type != "local" {
			p := laptop()[0]
			p.Backend = b.Address()
			in.Pools = append(in.Pools, p)
		}
	}
	return in
}

// record is a job's record as an apply of the plan leaves it.
func record(pp *PhasePlan, i int, s state.Status) *state.Job {
	job := &state.Job{
		Address: pp.Phase.Address(i), Phase: pp.Phase.Name, Axes: state.TextsOf(pp.Phase.Axes(i)), Definition: pp.Phase.Definition().Digest, Scheme: Scheme,
		Result: pp.Result[i].String(), Request: Hash(requestOf(pp.Phase, i).Hash).String(), Status: s,
	}
	job.Attempts = []state.Attempt{{N: 1, Token: "token-" + job.Address, Backend: "local.local", Queued: now}}
	if s == state.Completed {
		job.Outputs = []state.Output{{Name: "out", Backend: "local.local", Path: "out", Size: 10, Digest: "sha256:" + job.Address}}
	}
	return job
}

// applied is the state after every job of a campaign was brought to a status.
func applied(t testing.TB, c *lang.Campaign, s state.Status) *state.State {
	t.Helper()
	st := &state.State{Lineage: "l", Jobs: map[string]*state.Job{}, Definitions: map[string]json.RawMessage{}}
	p := planned(t, input(c, nil))
	for _, pp := range p.Phases {
		d := pp.Phase.Definition()
		st.Definitions[d.Digest] = d.JSON
		for i := range pp.Kind {
			job := record(pp, i, s)
			job.Inputs = state.TextsOf(p.InputHashes(pp, i))
			st.Jobs[job.Address] = job
		}
	}
	return st
}

// planned makes a plan that has no errors.
func planned(t testing.TB, in Input) *Plan {
	t.Helper()
	p, diags := Make(in)
	if diags.HasErrors() {
		t.Fatalf("plan: %v", diags)
	}
	return p
}

// requestOf is a cell's request as a run.
func requestOf(p *lang.Phase, cell int) lang.Request {
	return p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)]
}
