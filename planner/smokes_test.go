package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// smoked is a campaign whose phase a has a smoke of its first cell.
type smoked struct {
	in    Input
	print string // of the smoke, as it is now
}

const (
	smokedCell = `phase.a["seed=1"]`
	dayOf      = 24 * time.Hour
)

// ran leaves a record of the smoke.
func (x *smoked) ran(s state.Status) *state.Job {
	job := &state.Job{Address: smokedCell, Phase: "a", Smoke: true, Status: s, Result: x.print, Attempts: []state.Attempt{{N: 1, Token: "s", Backend: "local.local"}}}
	x.in.State.Jobs[state.SmokeAddress(smokedCell)] = job
	return job
}

// judged leaves a verdict, so many days ago.
func (x *smoked) judged(key string, passed bool, days int) {
	if x.in.State.Validations == nil {
		x.in.State.Validations = map[string]state.Validation{}
	}
	x.in.State.Validations[key] = state.Validation{Fingerprint: x.print, Passed: passed, At: now.Add(-time.Duration(days) * dayOf), Message: "loss diverged", Address: smokedCell}
}

func (x *smoked) override(address string) {
	x.in.State.Overrides = append(x.in.State.Overrides, state.Override{Address: address, Who: "ada", Reason: "known"})
}

// TestVerdictOfASmoke: which smokes run, which are waited for, and what holds
// the phase.
func TestVerdictOfASmoke(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit              func(x *smoked)
		run, waits, fails int
		passed            int
		text, hold        string
	}{
		"ended without a verdict":            {edit: func(x *smoked) { x.ran(state.Completed) }, run: 1},
		"intent that never arrived":          {edit: func(x *smoked) { x.ran(state.Submitting); x.see(offer.Observation{Presence: offer.Absent}) }, run: 1},
		"crashed, and the phase runs again":  {edit: func(x *smoked) { x.ran(state.Failed); x.rerun() }, run: 1},
		"running, and the phase runs again":  {edit: func(x *smoked) { x.ran(state.Running); x.rerun() }, waits: 1},
		"failed, then passed":                {edit: func(x *smoked) { x.judged("1", false, 2); x.judged("2", true, 1) }, passed: 1, text: "2026-09-30"},
		"passed, then failed":                {edit: func(x *smoked) { x.judged("1", true, 2); x.judged("2", false, 1) }, fails: 1, hold: "loss diverged"},
		"passed, told in the other order":    {edit: func(x *smoked) { x.judged("2", false, 1); x.judged("1", true, 2) }, fails: 1, hold: "loss diverged"},
		"failed, its cell overridden":        {edit: func(x *smoked) { x.judged("1", false, 1); x.override(smokedCell) }, passed: 1},
		"failed, the smoke overridden":       {edit: func(x *smoked) { x.judged("1", false, 1); x.override(state.SmokeAddress(smokedCell)) }, passed: 1},
		"failed, another cell is overridden": {edit: func(x *smoked) { x.judged("1", false, 1); x.override(`phase.a["seed=2"]`) }, fails: 1, hold: "loss diverged"},
	} {
		for range 8 { // verdicts are a map
			x := &smoked{}
			x.in, x.print = gated(t, nil)
			c.edit(x)
			pp := planned(t, x.in).Phases[0]
			g := pp.Smoke
			if g == nil {
				t.Fatalf("%s: no gate", name)
			}
			if len(g.Run) != c.run || len(g.Waiting) != c.waits || len(g.Failed) != c.fails || len(g.Passed) != c.passed {
				t.Errorf("%s: %+v", name, g)
			}
			if !strings.Contains(g.Text, c.text) || (g.Text == "") != (c.text == "") || !strings.Contains(pp.Hold, c.hold) || (pp.Hold == "") != (c.hold == "") {
				t.Errorf("%s: %q, held %q", name, g.Text, pp.Hold)
			}
		}
	}
}

func (x *smoked) see(o offer.Observation) {
	o.Token = "s"
	x.in.Observed.Refreshed = true
	x.in.Observed.Jobs = map[string]offer.Observation{"s": o}
}

func (x *smoked) rerun() { x.in.Options.Rerun = []string{"phase.a"} }

// TestSmokeAhead: a phase that was submitted whole waits for its smoke under
// the fingerprint that it has.
func TestSmokeAhead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		jobs, smoke state.Status
		edit        func(x *smoked)
		waits       int
		fails       int
		gate        bool
	}{
		"runs":                      {jobs: state.Queued, smoke: state.Running, waits: 1, gate: true},
		"runs, under an override":   {jobs: state.Queued, smoke: state.Running, edit: func(x *smoked) { x.override("phase.a") }},
		"passed":                    {jobs: state.Queued, smoke: state.Completed, edit: func(x *smoked) { x.judged("1", true, 1) }},
		"failed, the jobs queue":    {jobs: state.Queued, smoke: state.Failed, edit: func(x *smoked) { x.judged("1", false, 1) }, fails: 1, gate: true},
		"failed, the jobs are done": {jobs: state.Completed, smoke: state.Failed, edit: func(x *smoked) { x.judged("1", false, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &smoked{}
			x.in, x.print = gated(t, nil)
			for address, job := range applied(t, x.in.Campaign, c.jobs).Jobs {
				if job.Phase == "a" {
					x.in.State.Jobs[address] = job
				}
			}
			x.ran(c.smoke)
			if c.edit != nil {
				c.edit(x)
			}
			g := planned(t, x.in).Phases[0].Smoke
			if (g != nil) != c.gate || g != nil && (len(g.Waiting) != c.waits || len(g.Failed) != c.fails || len(g.Run) > 0) {
				t.Errorf("%+v", g)
			}
		})
	}
}

// TestAFailedSmokeLeavesTheQueueAlone: a queued job whose request changed is
// submitted again all the same.
func TestAFailedSmokeLeavesTheQueueAlone(t *testing.T) {
	t.Parallel()
	x := &smoked{}
	x.in, x.print = gated(t, nil)
	st := applied(t, x.in.Campaign, state.Queued)
	job := st.Jobs[smokedCell]
	job.Request = Hash{1}.String()
	x.in.State.Jobs[smokedCell] = job
	x.judged("1", false, 1)
	if got := planned(t, x.in).Phases[0].Kind; !slices.Equal(got, []Kind{Resubmit, HeldKind, HeldKind}) {
		t.Error(got)
	}
}

// TestSmokeOfWhatIsBlocked does not run: it reads what its cell reads. The
// pilot behind it does not, either, unless a person says so.
func TestSmokeOfWhatIsBlocked(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a", smoke: true})
	st := applied(t, c, state.Failed)
	only(st, "a")
	st.Jobs[smokedCell].Class = "nan"
	delete(st.Jobs, `phase.a["seed=2"]`)
	pp := planned(t, input(c, st)).Phases[1]
	if g := pp.Smoke; g == nil || len(g.Run) > 0 || !slices.Equal(pp.Kind, []Kind{Blocked, Blocked}) {
		t.Fatalf("%v, %+v", pp.Kind, pp.Smoke)
	}
	if waits := pp.Detail(1).Waits; !slices.Contains(waits, state.SmokeAddress(`phase.b["seed=1"]`)) {
		t.Error(waits)
	}
}

// TestPilotThatIsStopped keeps the rest from starting, unless a person lets
// it; one behind a smoke that failed is none.
func TestPilotThatIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		blocked, override, smoke bool
		want                     []Kind
	}{
		"failed":             {want: []Kind{HeldKind, Blocked}},
		"failed, overridden": {override: true, want: []Kind{HeldKind, Run}},
		"blocked":            {blocked: true, want: []Kind{Blocked, Blocked}},
		"smoke failed":       {smoke: true, want: []Kind{HeldKind, HeldKind}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c0 := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a", pilot: true, smoke: c.smoke})
			st := applied(t, c0, state.Completed)
			delete(st.Jobs, `phase.b["seed=2"]`)
			first := st.Jobs[`phase.b["seed=1"]`]
			switch {
			case c.blocked:
				delete(st.Jobs, first.Address)
				st.Jobs[smokedCell].Status, st.Jobs[smokedCell].Outputs = state.Failed, nil
			case c.smoke:
				delete(st.Jobs, first.Address)
				print := planned(t, input(c0, st)).Phases[1].Smoke.Prints[0].String()
				st.Validations = map[string]state.Validation{print: {Fingerprint: print, At: now}}
			default:
				first.Status, first.Outputs = state.Failed, nil
			}
			if c.override {
				st.Overrides = []state.Override{{Address: first.Address, Who: "ada"}}
			}
			pp := planned(t, input(c0, st)).Phases[1]
			if !slices.Equal(pp.Kind, c.want) || len(pp.Pilot) > 0 {
				t.Errorf("%v, not %v; pilot %v", pp.Kind, c.want, pp.Pilot)
			}
		})
	}
}

// TestWhereASmokeRuns: on its phase's backend and GPU family, also on a pool
// that is for tests only, or where its own candidates say;
// a machine that is rented for it is kept.
func TestWhereASmokeRuns(t *testing.T) {
	t.Parallel()
	pools := []offer.Pool{
		{Backend: "slurm.x", Name: "main", Kind: offer.QueuePool, Word: "partition", CPUs: 8, GPUs: 1, GPUModel: "A100", GPUClass: "A100", MaxNodes: 1, MaxTime: 24 * time.Hour, Price: offer.Price{Known: true, USDPerGPUHour: "3"}},
		{Backend: "slurm.x", Name: "test", Kind: offer.QueuePool, Word: "partition", CPUs: 8, GPUs: 1, GPUModel: "A100", GPUClass: "A100", MaxNodes: 1, MaxTime: time.Hour, Testing: true, StandsFor: []string{"main"}, Price: offer.Price{Known: true, USDPerGPUHour: "2"}},
		{Backend: "slurm.x", Name: "cheap", Kind: offer.QueuePool, Word: "partition", CPUs: 8, GPUs: 1, GPUModel: "T4", GPUClass: "T4", MaxNodes: 1, MaxTime: time.Hour, Testing: true, Price: offer.Price{Known: true, USDPerGPUHour: "1"}},
		{Backend: "ssh.y", Kind: offer.MachinePool, Word: "machine", CPUs: 8, GPUs: 1, GPUModel: "A100", GPUClass: "A100", MaxNodes: 1, Price: offer.Price{Known: true}},
	}
	for want, own := range map[string][]string{"slurm.x test": nil, "ssh.y": {"ssh.y"}} {
		c := load(t, nil, phaseSpec{name: "a", lr: "1", gpus: 1, wall: "10h", smoke: true, mod: func(p *lang.Phase) {
			p.Candidates, p.Smoke.Candidates = []string{"slurm.x"}, own
		}})
		in := input(c, nil)
		in.Pools = pools
		in.State = &state.State{Jobs: map[string]*state.Job{}, Rentals: map[string]state.Rental{"r1": {ID: "r1", Backend: "ssh.y", Status: "running"}}}
		p := planned(t, in)
		if got := p.Phases[0].Smoke.Place.Where(); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		if needed := p.Counts.Release == 0; needed != (want == "ssh.y") {
			t.Errorf("a machine that a smoke needs is kept, and no other: %s, %+v", want, p.Loose)
		}
	}
}

// TestSmokesOfSeveralCells: the gate is open when all have passed, since the
// last of them did.
func TestSmokesOfSeveralCells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		days [2]int // since each passed; 0: it runs
		text string
	}{
		"the last first": {[2]int{1, 3}, "smoke skipped: same config passed on 2026-09-30 (A, B)"},
		"the last last":  {[2]int{3, 1}, "smoke skipped: same config passed on 2026-09-30 (A, B)"},
		"one runs":       {[2]int{1, 0}, ""},
	} {
		in, _ := gated(t, func(p *lang.Phase) { p.Smoke.Cells = []int{0, 1} })
		in.State.Validations = map[string]state.Validation{}
		a := in.Campaign.Phases[0]
		for k, print := range planned(t, in).Phases[0].Smoke.Prints {
			c.text = strings.Replace(c.text, string(rune('A'+k)), print.String()[:printLen], 1)
			if c.days[k] > 0 {
				in.State.Validations[print.String()] = state.Validation{Fingerprint: print.String(), Passed: true, At: now.Add(-time.Duration(c.days[k]) * dayOf)}
				continue
			}
			in.State.Jobs[state.SmokeAddress(a.Address(k))] = &state.Job{Address: a.Address(k), Phase: "a", Smoke: true, Status: state.Running, Result: print.String(), Attempts: []state.Attempt{{N: 1, Token: "s", Backend: "local.local"}}}
		}
		if g := planned(t, in).Phases[0].Smoke; g.Text != c.text || len(g.Run) > 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// TestGateOfWhatIsBlockedWhole: a phase of which every job waits for something
// held has its gate all the same.
func TestGateOfWhatIsBlockedWhole(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a", smoke: true})
	st := applied(t, c, state.Failed)
	only(st, "a")
	pp := planned(t, input(c, st)).Phases[1]
	if pp.Smoke == nil || len(pp.Smoke.Run) > 0 || !slices.Equal(pp.Kind, []Kind{Blocked, Blocked}) {
		t.Errorf("%v, %+v", pp.Kind, pp.Smoke)
	}
}
