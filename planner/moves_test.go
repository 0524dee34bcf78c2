package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Records that are not wanted any more, and where they go.
func TestUnwanted(t *testing.T) {
	two := phaseSpec{name: "a", seeds: []int{1, 2}, lr: "0.1"}
	for name, c := range map[string]struct {
		status state.Status
		edit   func(x *scene)
		want   []Kind
		text   string // of the last row
	}{
		"queued, alive: cancel":          {status: state.Queued, want: []Kind{Cancel}},
		"running, alive: cancel":         {status: state.Running, want: []Kind{Cancel}},
		"failed: forget":                 {status: state.Failed, want: []Kind{Forget}},
		"cancelled: forget":              {status: state.Cancelled, want: []Kind{Forget}},
		"held: forget":                   {status: state.Held, want: []Kind{Forget}},
		"completed: forget":              {status: state.Completed, want: []Kind{Forget}},
		"forgotten: nothing":             {status: state.Forgotten},
		"running, ended: record, forget": {status: state.Running, edit: func(x *scene) { x.see(found(offer.Completed)) }, want: []Kind{Forget}},
		"running, unreachable: unknown": {status: state.Running, edit: func(x *scene) {
			x.job.Attempts[0].Backend = "ssh.gone"
			x.in.Observed.Unreachable = map[string]string{"ssh.gone": "no route"}
		}, want: []Kind{UnknownAt}, text: "no route"},
		"intent found: adopt":                    {status: state.Submitting, edit: func(x *scene) { x.see(found(offer.Queued)) }, want: []Kind{Adopt}},
		"verifying: cancel":                      {status: state.Verifying, want: []Kind{Cancel}},
		"between two launches: cancel":           {status: state.Waiting, want: []Kind{Cancel}},
		"intent surely absent: forget":           {status: state.Submitting, edit: func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }, want: []Kind{Forget}},
		"running, two handles: cancel the other": {status: state.Running, edit: (*scene).twice, want: []Kind{Duplicate, Cancel}, text: "77"},
		"intent found twice: cancel the other":   {status: state.Submitting, edit: (*scene).twice, want: []Kind{Duplicate, Cancel}, text: "77"},
		"running, not targeted: left out":        {status: state.Running, edit: func(x *scene) { x.in.Options.Targets = []string{"phase.a"} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := sceneOf(t, load(t, nil, phaseSpec{name: "old", seeds: []int{1}, lr: "0.9"}), c.status, load(t, nil, two))
			if c.edit != nil {
				c.edit(x)
			}
			var got []Kind
			text := ""
			for _, r := range planned(t, x.in).Loose {
				got, text = append(got, r.Kind), r.Detail.Text
				if r.Backend != x.job.Attempts[0].Backend {
					t.Errorf("on %q, not %q", r.Backend, x.job.Attempts[0].Backend)
				}
				if ended := strings.Contains(name, "ended"); ended != slices.ContainsFunc(r.Detail.Reasons, func(r Reason) bool { return r.Field == "status" && r.New == "completed" }) {
					t.Errorf("reasons %+v", r.Detail.Reasons)
				}
				if r.Detail.Destroy != (r.Kind == Cancel) {
					t.Errorf("%v needs approval: %v", r.Kind, r.Detail.Destroy)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("rows %v, want %v", got, c.want)
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("text %q, want %q in it", text, c.text)
			}
		})
	}
}

func (x *scene) twice() {
	o := found(offer.Running)
	o.Duplicate = "77"
	x.see(o)
}

// sceneOf plans a campaign on the state that another one left.
func sceneOf(t testing.TB, was *lang.Campaign, s state.Status, is *lang.Campaign) *scene {
	st := applied(t, was, s)
	x := &scene{t: t, in: input(is, st)}
	x.job = st.Jobs[was.Phases[0].Address(0)]
	x.token = x.job.Attempts[0].Token
	return x
}

func TestMoves(t *testing.T) {
	spec := func(name string, lr string) phaseSpec { return phaseSpec{name: name, seeds: []int{1, 2}, lr: lr} }
	moved := func(c *lang.Campaign) {
		c.Moved = []lang.Moved{{From: "phase.mid", To: "phase.new"}, {From: "phase.old", To: "phase.mid"}}
	}
	for name, c := range map[string]struct {
		status state.Status
		mod    func(*lang.Campaign)
		lr     string
		edit   func(x *scene)
		want   Kind
		loose  int
	}{
		"moved block, completed: moved with its files":      {status: state.Completed, mod: moved, lr: "0.1", want: Move},
		"moved block, running: moved with its attempt":      {status: state.Running, mod: moved, lr: "0.1", want: Move},
		"moved block, failed: moved with its attempts used": {status: state.Failed, mod: moved, lr: "0.1", want: Move},
		"moved block, ended while nobody looked: moved":     {status: state.Running, mod: moved, lr: "0.1", edit: func(x *scene) { x.see(found(offer.Completed)) }, want: Move},
		"moved block, outputs broken: moved": {status: state.Completed, mod: moved, lr: "0.1", edit: func(x *scene) {
			x.missing()
			x.in.Observed.Outputs[`phase.new["seed=1"]`] = x.in.Observed.Outputs[x.job.Address]
		}, want: Move},
		"moved block, other result: re-run under its new name": {status: state.Completed, mod: moved, lr: "0.2", want: Rerun},
		"no block, the address is part of no hash: inferred":   {status: state.Completed, lr: "0.1", want: Move},
		"no block, outputs broken: run, the old one forgotten": {status: state.Completed, lr: "0.1", edit: (*scene).missing, want: Run, loose: 1},
		"no block, other result: run, the old ones forgotten":  {status: state.Completed, lr: "0.2", want: Run, loose: 2},
		"forgotten, wanted again under another name: inferred": {status: state.Forgotten, lr: "0.1", edit: func(x *scene) { x.job.Outputs = []state.Output{{Name: "out", Digest: "d"}} }, want: Move},
		"forgotten without outputs: run":                       {status: state.Forgotten, lr: "0.1", want: Run},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := sceneOf(t, load(t, nil, spec("old", "0.1")), c.status, load(t, c.mod, spec("new", c.lr)))
			if c.edit != nil {
				c.edit(x)
			}
			p := planned(t, x.in)
			// The file that a phase writes has the phase's name in its path, which is in no hash.
			if got := p.Phases[0].Kind[0]; got != c.want {
				t.Fatalf("got %v, want %v (%+v, loose %d)", got, c.want, p.Phases[0].Detail(0), len(p.Loose))
			}
			if len(p.Loose) != c.loose {
				t.Errorf("%d loose rows, want %d", len(p.Loose), c.loose)
			}
			if d := p.Phases[0].Detail(0); (c.want == Move) != (d.From == `phase.old["seed=1"]`) && c.mod == nil {
				t.Errorf("from %q", d.From)
			}
		})
	}
}

// TestMovedThoughItsInputChanged: that its input has other bytes now keeps no
// record from moving.
func TestMovedThoughItsInputChanged(t *testing.T) {
	t.Parallel()
	for _, moves := range []bool{false, true} {
		a, name, want := phaseSpec{name: "a", seeds: []int{1}, lr: "1"}, "old", Bytes
		var mod func(c *lang.Campaign)
		if moves {
			name, want = "new", Move
			mod = func(c *lang.Campaign) { c.Moved = []lang.Moved{{From: "phase.old", To: "phase.new"}} }
		}
		st := applied(t, load(t, nil, a, phaseSpec{name: "old", seeds: []int{1}, lr: "1", input: "a"}), state.Completed)
		st.Jobs[`phase.old["seed=1"]`].InputBytes = state.TextsOf(map[string]string{"x": "sha256:other"})
		is := load(t, mod, a, phaseSpec{name: name, seeds: []int{1}, lr: "1", input: "a"})
		if got := planned(t, input(is, st)).Phases[1].Kind[0]; got != want {
			t.Errorf("moved %v: %v, not %v", moves, got, want)
		}
	}
}

func TestInferredMoveNeedsUniqueHashes(t *testing.T) {
	t.Parallel()
	x := sceneOf(t, load(t, nil, phaseSpec{name: "old", seeds: []int{1}, lr: "0.1"}), state.Completed,
		load(t, nil, phaseSpec{name: "new", seeds: []int{1}, lr: "0.1"}, phaseSpec{name: "twin", seeds: []int{1}, lr: "0.1"}))
	p := planned(t, x.in)
	if p.Counts.Move != 0 || p.Counts.Run != 2 {
		t.Errorf("one record cannot be two jobs: %+v", p.Counts)
	}
}

func TestDestroyCancelsWhatRuns(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1"})
	st := applied(t, c, state.Completed)
	st.Jobs[c.Phases[0].Address(1)].Status = state.Running
	in := input(c, st)
	in.Options.Destroy = true
	p := planned(t, in)
	if want := []Kind{None, Cancel, None}; !slices.Equal(p.Phases[0].Kind, want) {
		t.Errorf("got %v, want %v", p.Phases[0].Kind, want)
	}
	if _, cancels := p.DestructiveRows(); len(cancels) != 1 {
		t.Errorf("destructive: %v", cancels)
	}
}

func TestProtected(t *testing.T) {
	for name, c := range map[string]struct {
		now, set, remembered, wantError bool
	}{
		"guarded": {now: true, set: true, wantError: true}, "block deleted, remembered": {remembered: true, wantError: true},
		"disarmed by writing false": {set: true, remembered: true}, "never guarded": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := load(t, nil, phaseSpec{name: "a", lr: "1"})
			is := load(t, nil, phaseSpec{name: "a", lr: "2", mod: func(p *lang.Phase) { p.Lifecycle.PreventRerun, p.Lifecycle.PreventRerunSet = c.now, c.set }})
			st := applied(t, was, state.Completed)
			if c.remembered {
				st.Protected = map[string]bool{"a": true}
			}
			_, diags := Make(input(is, st))
			if diags.HasErrors() != c.wantError {
				t.Errorf("errors %v, want %v", diags, c.wantError)
			}
		})
	}
}
