package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestDestroyOfWhatIsUnderWay: what may run is cancelled, what ended is
// recorded, and what nobody can tell stays.
func TestDestroyOfWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status state.Status
		edit   func(x *scene)
		want   Kind
		text   string
	}{
		"running":        {state.Running, nil, Cancel, ""},
		"running, ended": {state.Running, func(x *scene) { x.see(found(offer.Completed)) }, Record, ""},
		"failed, to be launched again": {state.Waiting, func(x *scene) {
			x.job.Last().Ended = now
			x.see(found(offer.Failed))
		}, None, ""},
		"failed, and so did a launch that its queue made": {state.Waiting, func(x *scene) {
			x.job.Last().Ended = now
			o := found(offer.Failed)
			o.Attempt = x.job.Last().N + 1
			x.see(o)
		}, Record, ""},
		"running, unreachable":  {state.Running, func(x *scene) { x.in.Observed.Unreachable = map[string]string{"local.local": "no route"} }, UnknownAt, "no route"},
		"running, not selected": {state.Running, func(x *scene) { x.in.Options.Targets = []string{`phase.a["seed=2"]`} }, Skipped, ""},
		"intent found":          {state.Submitting, func(x *scene) { x.see(found(offer.Queued)) }, Cancel, ""},
		"intent absent":         {state.Submitting, func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }, None, ""},
		"failed":                {state.Failed, nil, None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c0 := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"})
			x := sceneOf(t, c0, c.status, c0)
			delete(x.in.State.Jobs, c0.Phases[0].Address(1))
			x.in.Options.Destroy = true
			if c.edit != nil {
				c.edit(x)
			}
			p := planned(t, x.in)
			if got := p.Phases[0].Kind[0]; got != c.want {
				t.Errorf("%v, not %v", got, c.want)
			}
			if d := p.Phases[0].Detail(0); !strings.Contains(d.Text, c.text) || d.Destroy != (c.want == Cancel) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestDestroyLeavesWhatEndedAlone, also where the campaign does not have it
// any more.
func TestDestroyLeavesWhatEndedAlone(t *testing.T) {
	t.Parallel()
	for s, want := range map[state.Status]int{state.Completed: 0, state.Failed: 0, state.Running: 1} {
		x := sceneOf(t, load(t, nil, phaseSpec{name: "old", lr: "1"}), s, load(t, nil, phaseSpec{name: "a", lr: "2"}))
		x.in.Options.Destroy = true
		if p := planned(t, x.in); len(p.Loose) != want {
			t.Errorf("%s: %+v", s, p.Loose)
		}
		x.in.Options.Outputs = true
		if p := planned(t, x.in); (p.Counts.Delete == 1) != (s == state.Completed) {
			t.Errorf("%s: outputs to delete: %+v", s, p.Deletions)
		}
	}
}

// TestSmokesThatAreNotWanted are cancelled while they may run, and no other.
func TestSmokesThatAreNotWanted(t *testing.T) {
	t.Parallel()
	const old = "00112233445566778899aabbccddeeff"
	for name, c := range map[string]struct {
		status  state.Status
		current bool
		edit    func(x *scene)
		want    []Kind
		text    string
	}{
		"running, as it is now":             {status: state.Running, current: true},
		"running, as it is now, on destroy": {state.Running, true, func(x *scene) { x.in.Options.Destroy = true }, []Kind{Cancel}, ""},
		"running, of old":                   {status: state.Running, want: []Kind{Cancel}, text: "old configuration"},
		"failed, of old":                    {status: state.Failed},
		"running, of old, ended":            {status: state.Running, edit: func(x *scene) { x.see(found(offer.Completed)) }},
		"intent of old, absent":             {status: state.Submitting, edit: func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }},
		"running, of old, unreachable": {status: state.Running, edit: func(x *scene) {
			x.job.Attempts[0].Backend = "ssh.gone"
			x.in.Observed.Unreachable = map[string]string{"ssh.gone": "no route"}
		}, want: []Kind{UnknownAt}, text: "no route"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, print := gated(t, nil)
			if !c.current {
				print = old
			}
			address := state.SmokeAddress(`phase.a["seed=1"]`)
			job := &state.Job{Address: `phase.a["seed=1"]`, Phase: "a", Smoke: true, Status: c.status, Result: print, Attempts: []state.Attempt{{N: 1, Token: "s", Backend: "local.local"}}}
			in.State.Jobs[address] = job
			x := &scene{t: t, in: in, job: job, token: "s"}
			if c.edit != nil {
				c.edit(x)
			}
			var got []Kind
			for _, r := range planned(t, x.in).Loose {
				got = append(got, r.Kind)
				if r.Address != address || r.Backend != job.Attempts[0].Backend || r.Detail.Destroy != (r.Kind == Cancel) || !strings.Contains(r.Detail.Text, c.text) {
					t.Errorf("%+v", r)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}

// TestImports: what is found is adopted, what is not is an error, and what
// cannot be asked says so.
func TestImports(t *testing.T) {
	t.Parallel()
	const a = `phase.a["seed=1"]`
	for name, c := range map[string]struct {
		to   string
		edit func(in *Input)
		want Kind
		text string // of the detail, or of an error
	}{
		"not asked":  {a, nil, UnknownAt, "not asked yet"},
		"absent":     {a, func(in *Input) { in.Observed.Imported = map[string]offer.Observation{a: {Presence: offer.Absent}} }, Run, "The job to import is not there"},
		"away":       {a, func(in *Input) { in.Observed.Unreachable = map[string]string{"local.local": "no route"} }, UnknownAt, "local.local cannot be asked: no route"},
		"no job":     {`phase.a["seed=9"]`, nil, Run, "An import names no job"},
		"known here": {a, func(in *Input) { in.State = applied(t, in.Campaign, state.Completed) }, None, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c0 := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"})
			c0.Imports = []lang.Import{{To: c.to, Backend: "local.local", ID: "42"}}
			in := input(c0, nil)
			if c.edit != nil {
				c.edit(&in)
			}
			p, diags := Make(in)
			said := p.Phases[0].Detail(0).Text
			for _, d := range diags {
				said += d.Summary
			}
			if got := p.Phases[0].Kind[0]; got != c.want || !strings.Contains(said, c.text) || c.text == "" && said != "" {
				t.Errorf("%v, not %v: %q", got, c.want, said)
			}
		})
	}
}

// TestRentals: what nothing needs is released once its outputs are safe.
func TestRentals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  state.Status // of the job that is on the machine
		edit    func(x *scene)
		release bool
		kept    bool // with a note
		told    bool // that a job there has no result
	}{
		"idle, nothing on it":   {state.Completed, func(x *scene) { x.job.Outputs[0].Backend = "local.local" }, true, false, false},
		"outputs only there":    {state.Completed, nil, false, true, false},
		"a copy elsewhere":      {state.Completed, func(x *scene) { x.job.Outputs[0].Copies = []state.Copy{{Backend: "local.local"}} }, true, false, false},
		"outputs that are gone": {state.Completed, func(x *scene) { x.job.Outputs[0].Missing = true }, true, false, false},
		"released":              {state.Failed, func(x *scene) { x.rental("released") }, false, false, false},
		"a job runs there":      {state.Running, nil, false, false, false},
		"a job may run there":   {state.Running, func(x *scene) { x.in.Observed.Unreachable = map[string]string{"vastai.cloud": "no route"} }, false, false, false},
		"a job arrived there":   {state.Submitting, func(x *scene) { x.see(found(offer.Running)) }, false, false, false},
		"its backend is away": {state.Completed, func(x *scene) {
			x.job.Outputs[0].Backend = "local.local"
			x.in.Observed.Unreachable = map[string]string{"vastai.cloud": "another account's key"}
		}, false, false, false},
		"nobody asked it": {state.Completed, func(x *scene) {
			x.job.Outputs[0].Backend = "local.local"
			x.in.Observed.Unreachable, x.in.Observed.Unasked = map[string]string{"vastai.cloud": "-refresh=false"}, map[string]bool{"vastai.cloud": true}
		}, true, false, false},
		"its job failed":            {state.Failed, nil, true, false, true},
		"outputs of a smoke's only": {state.Failed, func(x *scene) { x.smokeThere(state.Completed) }, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c0 := load(t, nil, phaseSpec{name: "a", lr: "1"})
			x := sceneOf(t, c0, c.status, c0)
			x.rental("running")
			x.job.Attempts[0].Backend, x.job.Attempts[0].Started = "vastai.cloud", now.Add(-time.Hour)
			for i := range x.job.Outputs {
				x.job.Outputs[i].Backend = "vastai.cloud"
			}
			if c.edit != nil {
				c.edit(x)
			}
			p := planned(t, x.in)
			p.Loose = slices.DeleteFunc(p.Loose, func(r Row) bool { return r.Away && r.Kind == UnknownAt })
			if released := len(p.Loose) == 1 && p.Loose[0].Address == "r1" && p.Loose[0].Release && p.Loose[0].Detail.Destroy; released != c.release || !released && len(p.Loose) > 0 || p.Counts.Release != len(p.Loose) {
				t.Errorf("released: %v, %+v", released, p.Loose)
			}
			if kept := slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "r1 on vastai.cloud is idle and kept") }); kept != c.kept {
				t.Errorf("%q", p.Notes)
			}
			if told := slices.ContainsFunc(p.Notes, func(n string) bool {
				return strings.Contains(n, "1 job that ran on vastai.cloud has no verified result: phase.a (failed")
			}); told != c.told {
				t.Errorf("of its result: %q", p.Notes)
			}
		})
	}
}

func (x *scene) rental(status state.RentalStatus) {
	x.in.State.Rentals = map[string]state.Rental{"r1": {ID: "r1", Backend: "vastai.cloud", Status: status, PerHour: "0.60", Since: now.Add(-time.Hour)}}
}

func (x *scene) smokeThere(s state.Status) {
	address := state.SmokeAddress(x.job.Address)
	x.in.State.Jobs[address] = &state.Job{Address: x.job.Address, Phase: "a", Smoke: true, Status: s, Outputs: []state.Output{{Name: "out", Backend: "vastai.cloud"}}}
}

// TestRentalOfWhatIsBlocked is kept: its jobs start once what they wait for is
// free.
func TestRentalOfWhatIsBlocked(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1", input: "a"})
	for blocked, released := range map[bool]int{true: 0, false: 1} {
		st := applied(t, c, state.Failed)
		if blocked {
			delete(st.Jobs, "phase.b")
		}
		st.Rentals = map[string]state.Rental{"r1": {ID: "r1", Backend: "local.local", Status: "running"}}
		if p := planned(t, input(c, st)); p.Counts.Release != released || (p.Phases[1].Kind[0] == Blocked) != blocked {
			t.Errorf("blocked %v: %d released, %v", blocked, p.Counts.Release, p.Phases[1].Kind)
		}
	}
}

// TestOldFactsOfAMachine: what a machine is given back by is known of its
// backend, whose facts are told to be old although nothing goes there.
func TestOldFactsOfAMachine(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{"idle": true, "deleting": true, "released": false} {
		c0 := load(t, nil, phaseSpec{name: "a", lr: "1"})
		x := sceneOf(t, c0, state.Completed, c0)
		x.in.Observed.Refreshed = true
		x.rental(state.RentalStatus(status))
		x.in.Pools = append(slices.Clone(x.in.Pools), offer.Pool{Backend: "vastai.cloud", Name: "r", Verified: "2020-03", Price: offer.Price{Known: true, USDPerHour: "0.60"}})
		p := planned(t, x.in)
		if told := slices.ContainsFunc(p.Diags, func(d diag.Diagnostic) bool {
			return d.Address == "backend.vastai.cloud" && strings.Contains(d.Summary, "old")
		}); told != want {
			t.Errorf("%s: told %t: %v", status, told, p.Diags)
		}
	}
}

// TestOrphans are listed with their price, and left unless a person names them.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"})
	in := input(c, applied(t, c, state.Completed))
	in.Observed.Orphans = []orphan{{Backend: "vastai.cloud", ID: "o2"}, {Backend: "vastai.cloud", ID: "o1", PerHour: "1.20"}}
	p := planned(t, in)
	if len(p.Loose) != 2 || p.Loose[0].Address != "o1" || p.Loose[0].PerHour != "1.20" || p.Loose[0].Kind != UnknownAt || p.Loose[0].Detail.Destroy {
		t.Errorf("%+v", p.Loose)
	}
	in.Options = Options{Destroy: true, Release: []string{"o2"}}
	p = planned(t, in)
	if says := p.Loose[0].Detail.Text; !strings.Contains(says, "`muster destroy -release=o1` ends it") || !p.Loose[1].Release {
		t.Errorf("%+v", p.Loose)
	}
}
