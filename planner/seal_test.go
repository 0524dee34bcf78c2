package planner

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// sample is a plan with one of everything.
func sample() *Plan {
	return &Plan{
		Campaign: "c", Digest: "d", Lineage: "l", Serial: 7, Now: time.Unix(1_800_000_000, 0),
		Phases: []*PhasePlan{{
			Phase: &lang.Phase{Name: "a"}, Kind: []Kind{Run, None, Rerun}, Result: make([]result.Hash, 3), Place: []uint16{1, 0, 1},
			Placements: []place.Decision{{}, {Backend: "ssh.h", Pool: "p"}}, Smoke: &Gate{Run: []int{0}}, Pilot: []int{2},
		}},
		Loose:     []Row{{Kind: Cancel, Address: "b[1]", Backend: "ssh.h"}, {Kind: Cancel, Address: "vm", Release: true, PerHour: "1"}, {Kind: UnknownAt, Address: "stray", PerHour: "2"}},
		Transfers: []transfers.Transfer{{Phase: "a", Input: "in", Files: 1, Bytes: 2}},
		Deletions: []Deletion{{Address: "a[0]", Output: "o", Path: "p"}},
		Ceiling:   state.Amounts{"USD": "3"},
	}
}

// What a plan does makes its body, and with the time its id; what it says does not.
func TestSeal(t *testing.T) {
	t.Parallel()
	first := sample()
	first.Seal()
	for name, edit := range map[string]func(*Plan){
		"another campaign":   func(p *Plan) { p.Campaign = "x" },
		"another digest":     func(p *Plan) { p.Digest = "x" },
		"another lineage":    func(p *Plan) { p.Lineage = "x" },
		"a later state":      func(p *Plan) { p.Serial++ },
		"a destroy":          func(p *Plan) { p.Destroy = true },
		"another action":     func(p *Plan) { p.Phases[0].Kind[1] = Retry },
		"another result":     func(p *Plan) { p.Phases[0].Result[0][0]++ },
		"another place":      func(p *Plan) { p.Phases[0].Place[0] = 0 },
		"another backend":    func(p *Plan) { p.Phases[0].Placements[1].Backend = "ssh.x" },
		"another source":     func(p *Plan) { p.Phases[0].Source.Digest = "x" },
		"no smoke":           func(p *Plan) { p.Phases[0].Smoke = nil },
		"no pilot":           func(p *Plan) { p.Phases[0].Pilot = nil },
		"a row less":         func(p *Plan) { p.Loose = p.Loose[1:] },
		"more to move":       func(p *Plan) { p.Transfers[0].Files++ },
		"more to delete":     func(p *Plan) { p.Deletions = append(p.Deletions, Deletion{Address: "a[1]"}) },
		"a higher ceiling":   func(p *Plan) { p.Ceiling["USD"] = "4" },
		"a ceiling in hours": func(p *Plan) { p.Ceiling["gpu_hours"] = "1" },
	} {
		p := sample()
		edit(p)
		if p.Seal(); p.Body == first.Body || p.ID == first.ID {
			t.Errorf("%s: the same plan", name)
		}
	}
	for name, edit := range map[string]func(*Plan){
		"a note":  func(p *Plan) { p.Notes = append(p.Notes, "x") },
		"a flag":  func(p *Plan) { p.Asks = append(p.Asks, "x") },
		"a cause": func(p *Plan) { p.Reason = "x" },
	} {
		p := sample()
		edit(p)
		if p.Seal(); p.ID != first.ID {
			t.Errorf("%s: another plan", name)
		}
	}
	later := sample()
	later.Now = later.Now.Add(time.Second)
	if later.Seal(); later.Body != first.Body || later.ID == first.ID || later.ID != idOf(first.Body, later.Now) {
		t.Error("made a second later it does the same under another id")
	}
}

// A stray rental is no action of the plan's, and a smoke behind a hold is none now.
func TestCounts(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Seal()
	if want := (Counts{Run: 1, Rerun: 1, Unchanged: 1, Smoke: 1, Cancel: 1, Release: 1}); p.Counts != want || !p.Counts.Changes() {
		t.Errorf("%+v, want %+v", p.Counts, want)
	}
	held := sample()
	held.Phases[0].Hold = "by ada"
	if held.Seal(); held.Counts.Smoke != 0 {
		t.Errorf("%d smokes behind a hold", held.Counts.Smoke)
	}
}

// What an approval of its own is asked for, by the flag that gives it.
func TestDestructiveRows(t *testing.T) {
	t.Parallel()
	p := sample()
	p.Phases = nil
	for name, kind := range map[string]Kind{"r": Rerun, "s": Restart, "n": Run} {
		p.Phases = append(p.Phases, &PhasePlan{Phase: &lang.Phase{Name: name, Grid: grid.Single()}, Kind: []Kind{kind}})
	}
	for i := range p.Loose[:2] {
		p.Loose[i].Detail.Destroy = true
	}
	reruns, cancels := p.DestructiveRows()
	if want := []string{"phase.r"}; !slices.Equal(reruns, want) {
		t.Errorf("re-runs %q, want %q", reruns, want)
	}
	if want := []string{"phase.s", "b[1]"}; !slices.Equal(cancels, want) {
		t.Errorf("cancels %q, want %q", cancels, want)
	}
	if got := p.Released(); !slices.Equal(got, []string{"vm"}) {
		t.Errorf("releases %q", got)
	}
	var losses []string
	for _, r := range p.Risks() {
		if r.Kind == "loss" {
			losses = append(losses, r.Text)
		}
	}
	slices.Sort(losses)
	if want := []string{"1 machine is given back, and the disk is deleted with all that is not here", "the results of 1 job are replaced", "the submitted work of 2 jobs is cancelled"}; !slices.Equal(losses, want) {
		t.Errorf("risks %q, want %q", losses, want)
	}
}
