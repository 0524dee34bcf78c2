package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// A tableRow is one row of the diff table (design, planner.md): the name is
// the row, the first job of phase a is the one that is looked at.
type tableRow struct {
	name   string
	status state.Status // of the record; "" = none
	edit   func(x *scene)
	want   Kind
	text   string              // in the detail's text
	field  string              // of a reason
	loose  []Kind              // rows outside the wanted cells
	also   func(d Detail) bool // what else holds of the detail
}

// A scene has the parts that a row's case may change before planning.
type scene struct {
	in    Input
	job   *state.Job
	token string
	t     testing.TB
}

func (x *scene) see(o offer.Observation) {
	o.Token = x.token
	x.in.Observed.Refreshed = true
	x.in.Observed.Jobs = map[string]offer.Observation{x.token: o}
}

// metric has a metric of the phase read by another definition than the job's.
func (x *scene) metric(required bool) {
	p := x.phase()
	x.job.Definition = "sha256:metric"
	was := lang.Metric{Name: "loss", Output: "o", JSON: "/los"}
	x.in.State.Definitions[x.job.Definition] = json.RawMessage(`{"policy": {"metrics": {"loss": "` + was.Print() + `"}}}`)
	p.Metrics = []lang.Metric{{Name: "loss", Output: "o", JSON: "/loss", Required: required}}
}

func found(s offer.Status) offer.Observation {
	return offer.Observation{Presence: offer.Found, Status: s}
}

var table = []tableRow{
	{name: "intent without outcome, found: adopt", status: state.Submitting, edit: func(x *scene) { x.see(found(offer.Running)) }, want: Adopt, field: "intent"},
	{name: "intent without outcome, found alive as another job: cancel and re-run", status: state.Submitting, edit: func(x *scene) {
		x.see(found(offer.Running))
		x.change()
	}, want: Restart, field: "param.lr"},
	{name: "intent without outcome, found done as another job: re-run", status: state.Submitting, edit: func(x *scene) {
		x.see(found(offer.Completed))
		x.change()
	}, want: Rerun, field: "param.lr"},
	{name: "intent without outcome, found failed as another job: run", status: state.Submitting, edit: func(x *scene) {
		x.see(found(offer.Failed))
		x.change()
	}, want: Run, field: "param.lr"},
	{name: "intent without outcome, surely absent: submit, same token", status: state.Submitting, edit: func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }, want: Run, field: "intent"},
	{name: "intent without outcome, unknown: nothing", status: state.Submitting, want: UnknownAt},
	{name: "intent comes before an unreachable backend's found", status: state.Submitting, edit: func(x *scene) {
		x.see(found(offer.Running))
		x.in.Observed.Unreachable = map[string]string{"local.local": "no route"}
	}, want: UnknownAt, text: "no route"},
	{name: "running, backend unreachable: unknown", status: state.Running, edit: func(x *scene) {
		x.in.Observed = Observed{Refreshed: true, Unreachable: map[string]string{"local.local": "no route"}}
	}, want: UnknownAt, text: "no route"},
	{name: "one token, two handles: duplicate, cancel the other", status: state.Running, edit: func(x *scene) {
		o := found(offer.Running)
		o.Duplicate = "77"
		x.see(o)
	}, want: Duplicate, text: "77", loose: []Kind{Cancel}},
	{name: "running, ended well: verify and record", status: state.Running, edit: func(x *scene) { x.see(found(offer.Completed)) }, want: Record, field: "status"},
	{name: "running, ended badly: record, then as failed", status: state.Running, edit: func(x *scene) {
		o := found(offer.Failed)
		o.Class, o.Tail = "nan", []string{"loss is nan"}
		x.see(o)
	}, want: HeldKind, text: "loss is nan"},
	{name: "running, gone once: unknown", status: state.Running, edit: func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }, want: UnknownAt, text: "again in a minute"},
	{name: "running, gone twice a minute apart: lost, then as failed", status: state.Running, edit: func(x *scene) {
		x.see(offer.Observation{Presence: offer.Absent})
		x.in.Observed.Gone = map[string]time.Time{x.token: now.Add(-time.Minute)}
	}, want: Retry, field: "class"},
	{name: "lost, and max_attempts is 1: held", status: state.Running, edit: func(x *scene) {
		x.see(offer.Observation{Presence: offer.Absent, Status: offer.Lost})
		x.phase().Retry.Once = true
	}, want: HeldKind, text: "node_failure"},
	{name: "lost and node_failure is retried: retry", status: state.Running, edit: func(x *scene) {
		x.see(offer.Observation{Presence: offer.Absent, Status: offer.Lost})
		x.phase().Retry = lang.Retry{Policy: retry.Policy{On: []string{"node_failure"}, Max: 2}}
	}, want: Retry, field: "class"},
	{name: "held by muster hold, not started: held, by whom", edit: func(x *scene) { x.in.State.Holds = []state.Hold{{Who: "ada", Reason: "look first"}} }, want: HeldKind, text: "ada"},
	{name: "held by muster hold, queued: held", status: state.Queued, edit: func(x *scene) { x.in.State.Holds = []state.Hold{{Address: `phase.a["seed=1"]`, Who: "ada"}} }, want: HeldKind, text: "resume 'phase.a[\"seed=1\"]'"},
	{name: "held by muster hold, running: goes on", status: state.Running, edit: func(x *scene) { x.in.State.Holds = []state.Hold{{Who: "ada"}} }, want: Continue},
	{name: "held by muster hold, another job: run", edit: func(x *scene) { x.in.State.Holds = []state.Hold{{Address: `phase.a["seed=2"]`, Who: "ada"}} }, want: Run},
	{name: "breaker open: held", edit: func(x *scene) {
		x.in.State.Breakers = map[string]state.Breaker{"a": {Phase: "a", Reason: "3 times nan"}}
	}, want: HeldKind, text: "3 times nan"},
	{name: "none: run", want: Run},
	{name: "queued, same result, same request, alive: continue", status: state.Queued, want: Continue},
	{name: "running, same result, same request, alive: continue", status: state.Running, want: Continue},
	{name: "queued, same result, other request: resubmit", status: state.Queued, edit: func(x *scene) { x.job.Request = Hash{1}.String() }, want: Resubmit, field: "request"},
	{name: "queued, a required metric is read otherwise: resubmit", status: state.Queued, edit: func(x *scene) { x.metric(true) }, want: Resubmit, field: "metric.loss"},
	{name: "queued, a metric that may be missing is read otherwise: continue", status: state.Queued, edit: func(x *scene) { x.metric(false) }, want: Continue},
	{name: "running, a required metric is read otherwise: continue", status: state.Running, edit: func(x *scene) { x.metric(true) }, want: Continue},
	{name: "running, same result, other request: continue, noted", status: state.Running, edit: func(x *scene) { x.job.Request = Hash{1}.String() }, want: Continue, field: "request"},
	{name: "queued, other result: cancel and re-run", status: state.Queued, edit: (*scene).change, want: Restart, field: "param.lr"},
	{name: "running, other result: cancel and re-run", status: state.Running, edit: (*scene).change, want: Restart, field: "param.lr"},
	{name: "failed, result changed: run, attempts from 1", status: state.Failed, edit: (*scene).change, want: Run, field: "param.lr"},
	{name: "held, request changed: run, attempts from 1", status: state.Held, edit: func(x *scene) { x.job.Request = Hash{1}.String() }, want: Run, field: "request"},
	{name: "cancelled, result changed: run, attempts from 1", status: state.Cancelled, edit: (*scene).change, want: Run, field: "param.lr"},
	{name: "cancelled by us: held, by whom", status: state.Cancelled, edit: func(x *scene) { x.job.By = "ada" }, want: HeldKind, text: "ada"},
	{name: "cancelled outside: held, by whom", status: state.Running, edit: func(x *scene) { x.see(found(offer.Cancelled)) }, want: HeldKind, text: "outside"},
	{name: "given up by its queue as blocked: run", status: state.Cancelled, edit: func(x *scene) { x.job.Class = offer.Blocked }, want: Run},
	{name: "seen to be given up as blocked: run", status: state.Queued, edit: func(x *scene) {
		o := found(offer.Cancelled)
		o.Reason = offer.Blocked
		x.see(o)
	}, want: Run, field: "status"},
	{name: "failed, class in retry.on, attempts left: retry", status: state.Failed, edit: func(x *scene) {
		x.job.Class = "oom_gpu"
		x.phase().Retry = lang.Retry{Policy: retry.Policy{On: []string{"oom"}, Max: 2}}
	}, want: Retry, field: "class"},
	{name: "failed, class in retry.on, attempts used up: held", status: state.Failed, edit: func(x *scene) {
		x.job.Class = "oom_gpu"
		x.phase().Retry = lang.Retry{Policy: retry.Policy{On: []string{"oom"}, Max: 1}}
	}, want: HeldKind, text: "oom_gpu"},
	{name: "failed otherwise: held, class and last lines of the log", status: state.Failed, edit: func(x *scene) {
		x.job.Class, x.job.Attempts[0].Tail = "missing_module", []string{"no module named torch"}
	}, want: HeldKind, text: "no module named torch"},
	{name: "failed with its node, no place fits and nobody wrote a retry: held", status: state.Failed, edit: func(x *scene) {
		x.job.Class, x.in.Pools = "node_failure", nil
	}, want: HeldKind, text: "no place fits it now"},
	{name: "held: held", status: state.Held, edit: func(x *scene) { x.job.Reason = "attempts used up" }, want: HeldKind, text: "attempts used up"},
	{name: "completed, same result, files as recorded: none", status: state.Completed, want: None},
	{name: "completed, same result, broken here, a verified copy elsewhere: none", status: state.Completed, edit: func(x *scene) {
		x.missing()
		x.job.Outputs[0].Copies = []state.Copy{{Backend: "ssh.lab"}}
	}, want: None},
	{name: "completed, same result, missing and nobody needs it: missing", status: state.Completed, edit: (*scene).missing, want: Missing, text: "gone"},
	{name: "completed, same result, missing and a job of this plan needs it: re-run", status: state.Completed, edit: func(x *scene) {
		x.missing()
		delete(x.in.State.Jobs, `phase.b["seed=1"]`)
	}, want: Rerun, field: "outputs"},
	{name: "completed, other result: re-run", status: state.Completed, edit: (*scene).change, want: Rerun, field: "param.lr"},
	{name: "completed, other result, with -accept: accept", status: state.Completed, edit: func(x *scene) {
		x.change()
		x.in.Options.Accept = []string{"phase.a"}
	}, want: Accept, field: "param.lr"},
	{name: "completed, other result, accepted before: none", status: state.Completed, edit: func(x *scene) {
		x.change()
		p, _ := Make(x.in)
		x.job.Accepted = p.Phases[0].Result[0].String()
	}, want: None},
	{name: "completed, other result in an ignored field: none", status: state.Completed, edit: func(x *scene) {
		x.change()
		x.phase().Lifecycle.IgnoreChanges = []string{"param", "command"}
	}, want: None},
	{name: "completed, -rerun: re-run", status: state.Completed, edit: func(x *scene) { x.in.Options.Rerun = []string{"phase.a"} }, want: Rerun, field: "-rerun"},
	{name: "completed, other result, held by muster hold: held", status: state.Completed, edit: func(x *scene) {
		x.change()
		x.in.State.Holds = []state.Hold{{Who: "ada"}}
	}, want: HeldKind, text: "ada"},
	{name: "import, not in state, found: adopt", edit: func(x *scene) {
		x.in.Campaign.Imports = []lang.Import{{To: `phase.a["seed=1"]`, Backend: "local.local", ID: "42"}}
		x.in.Observed.Imported = map[string]offer.Observation{`phase.a["seed=1"]`: found(offer.Running)}
	}, want: Adopt, text: "42"},
	{name: "not selected by -target: skipped", edit: func(x *scene) { x.in.Options.Targets = []string{`phase.a["seed=2"]`} }, want: Skipped},
}

func (x *scene) phase() *lang.Phase { return x.in.Campaign.Phases[0] }

// change plans with another learning rate.
func (x *scene) change() {
	c := load(x.t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "0.2"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a"})
	x.in.Campaign = c
}

func (x *scene) missing() {
	x.in.Observed.Refreshed = true
	x.in.Observed.Outputs = map[string][]offer.Output{x.job.Address: {{Name: "out", Path: "out", Verdict: "gone"}}}
}

func TestTable(t *testing.T) {
	// Requirement: STA-02
	for _, row := range slices.Concat(table, halves) {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := row.play(t)
			pp := p.Phases[0]
			d := pp.Detail(0)
			if pp.Kind[0] != row.want {
				t.Fatalf("got %v, want %v (%+v)", pp.Kind[0], row.want, d)
			}
			if !strings.Contains(d.Text, row.text) {
				t.Errorf("text %q, want %q in it", d.Text, row.text)
			}
			if row.field != "" && !slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Field == row.field }) {
				t.Errorf("reasons %+v, want one about %q", d.Reasons, row.field)
			}
			if row.also != nil && !row.also(d) {
				t.Errorf("detail %+v", d)
			}
			if d.Destroy != row.want.Destroys() {
				t.Errorf("destroy %v", d.Destroy)
			}
			var loose []Kind
			for _, r := range p.Loose {
				loose = append(loose, r.Kind)
			}
			if !slices.Equal(loose, row.loose) {
				t.Errorf("loose rows %v, want %v", loose, row.loose)
			}
		})
	}
}

// TestNoPlaceForARetry: a retry that somebody wrote is an error where no place
// fits it; the default one is none.
func TestNoPlaceForARetry(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{true, false} {
		_, diags := Make(tableRow{status: state.Failed, edit: func(x *scene) {
			x.job.Class, x.in.Pools = "node_failure", nil
			if written {
				x.phase().Retry = lang.Retry{Policy: retry.Policy{On: []string{"node_failure"}, Max: 2}}
			}
		}}.set(t).in)
		got := slices.ContainsFunc(diags, func(d diag.Diagnostic) bool {
			return d.Summary == "No place fits" && d.Severity == diag.Error
		})
		if got != written {
			t.Errorf("written %t: %v", written, diags)
		}
	}
}

func (row tableRow) play(t *testing.T) *Plan { return planned(t, row.set(t).in) }

// set sets the scene: two phases of two jobs, all completed but the first.
func (row tableRow) set(t *testing.T) *scene {
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "0.1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a"})
	st := applied(t, c, state.Completed)
	address := c.Phases[0].Address(0)
	if row.status == "" {
		delete(st.Jobs, address)
	} else {
		p := planned(t, input(c, nil))
		st.Jobs[address] = record(p.Phases[0], 0, row.status)
	}
	x := &scene{t: t, in: input(c, st), job: st.Jobs[address]}
	if x.job != nil {
		x.token = x.job.Attempts[0].Token
	}
	if row.edit != nil {
		row.edit(x)
	}
	return x
}
