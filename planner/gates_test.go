package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// gated is a phase with a smoke, its state and the fingerprint of its first cell.
func gated(t testing.TB, mod func(*lang.Phase)) (Input, string) {
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "0.1", smoke: true, mod: mod}, phaseSpec{name: "b", seeds: []int{1, 2, 3}, lr: "1", input: "a"})
	in := input(c, &state.State{Jobs: map[string]*state.Job{}})
	return in, planned(t, in).Phases[0].Smoke.Prints[0].String()
}

func TestGate(t *testing.T) {
	// Requirement: SM-07
	passed := func(in *Input, print string, ok bool) {
		in.State.Validations = map[string]state.Validation{print: {Fingerprint: print, Passed: ok, At: now.Add(-24 * time.Hour), Message: "loss diverged", Address: `phase.a["seed=1"]`}}
	}
	smoke := func(in *Input, print string, s state.Status) {
		address := `phase.a["seed=1"]`
		in.State.Jobs[state.SmokeAddress(address)] = &state.Job{Address: address, Phase: "a", Smoke: true, Status: s, Result: print, Attempts: []state.Attempt{{N: 1, Token: "s", Backend: "local.local"}}}
	}
	for name, c := range map[string]struct {
		edit          func(in *Input, print string)
		run           int
		text, hold    string
		first, second Kind
		loose         []Kind
	}{
		"never run: smoke first":                     {run: 1, first: Run, second: Run},
		"passed: skipped, with fingerprint and date": {edit: func(in *Input, p string) { passed(in, p, true) }, text: "smoke skipped: same config passed on 2026-09-30 (PRINT)", first: Run, second: Run},
		"passed, and the phase runs again: its smoke does not": {edit: func(in *Input, p string) {
			passed(in, p, true)
			in.Options.Rerun = []string{"phase.a"}
		}, text: "smoke skipped: same config passed on 2026-09-30 (PRINT)", first: Run, second: Run},
		"failed, and the phase runs again: its smoke, too": {edit: func(in *Input, p string) {
			passed(in, p, false)
			in.Options.Rerun = []string{"phase.a"}
		}, run: 1, first: Run, second: Run},
		"failed: phase held, next blocked": {edit: func(in *Input, p string) { passed(in, p, false) }, hold: "loss diverged", first: HeldKind, second: Blocked},
		"failed, overridden by a person": {edit: func(in *Input, p string) {
			passed(in, p, false)
			in.State.Overrides = []state.Override{{Address: "phase.a", Fingerprint: p, Who: "ada", Reason: "known"}}
		}, first: Run, second: Run},
		"an override of another configuration does not count": {edit: func(in *Input, p string) {
			passed(in, p, false)
			in.State.Overrides = []state.Override{{Address: "phase.a", Fingerprint: "00", Who: "ada"}}
		}, hold: "loss diverged", first: HeldKind, second: Blocked},
		"running now: waits for it":                 {edit: func(in *Input, p string) { smoke(in, p, state.Running) }, first: Run, second: Run},
		"running for an old fingerprint: cancelled": {edit: func(in *Input, p string) { smoke(in, "00112233445566778899aabbccddeeff", state.Running) }, run: 1, first: Run, second: Run, loose: []Kind{Cancel}},
		"crashed without a verdict: phase held":     {edit: func(in *Input, p string) { smoke(in, p, state.Failed) }, hold: "smoke of", first: HeldKind, second: Blocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, print := gated(t, nil)
			if c.edit != nil {
				c.edit(&in, print)
			}
			p := planned(t, in)
			a, b := p.Phases[0], p.Phases[1]
			if len(a.Smoke.Run) != c.run || a.Smoke.Text != strings.Replace(c.text, "PRINT", print[:printLen], 1) || !strings.Contains(a.Hold, c.hold) || (c.hold == "") != (a.Hold == "") {
				t.Errorf("gate %+v, hold %q", a.Smoke, a.Hold)
			}
			if a.Kind[2] != c.first || b.Kind[2] != c.second {
				t.Errorf("kinds %v %v, want %v %v", a.Kind[2], b.Kind[2], c.first, c.second)
			}
			var loose []Kind
			for _, r := range p.Loose {
				loose = append(loose, r.Kind)
			}
			if !slices.Equal(loose, c.loose) {
				t.Errorf("loose %v, want %v", loose, c.loose)
			}
			if c.second == Blocked && len(b.Detail(2).Waits) == 0 {
				t.Error("a blocked job names what it waits for")
			}
		})
	}
}

func TestFingerprintDependsOnTheEnvironmentClass(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1", gpus: 1, smoke: true, mod: func(p *lang.Phase) { p.Candidates = []string{"local.local"} }})
	prints := map[Hash]string{}
	for _, model := range []string{"A100", "H100"} {
		in := input(c, nil)
		in.Pools[0].GPUClass = model
		prints[planned(t, in).Phases[0].Smoke.Prints[0]] = model
	}
	if len(prints) != 2 {
		t.Error("a smoke on an A100 says nothing of an H100")
	}
}

func TestPilot(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1", pilot: true})
	p := planned(t, input(c, nil))
	if !slices.Equal(p.Phases[0].Pilot, []int{0}) || p.Counts.Run != 2 {
		t.Errorf("pilot %v, counts %+v", p.Phases[0].Pilot, p.Counts)
	}
	st := applied(t, c, state.Failed)
	delete(st.Jobs, c.Phases[0].Address(1))
	p = planned(t, input(c, st))
	if p.Phases[0].Kind[0] != HeldKind || p.Phases[0].Kind[1] != Blocked {
		t.Errorf("a failed pilot stops the fan-out: %v", p.Phases[0].Kind)
	}
}
