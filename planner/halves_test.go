package planner

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

func (x *scene) hold()  { x.in.State.Holds = []state.Hold{{Who: "ada"}} }
func (x *scene) rerun() { x.in.Options.Rerun = []string{`phase.a["seed=1"]`} }

func (x *scene) retry(most int, on ...string) {
	x.phase().Retry = lang.Retry{Policy: retry.Policy{On: on, Max: most}}
}

func (x *scene) otherRequest() { x.job.Request = Hash{1}.String() }

// both changes a scene in several ways.
func both(edits ...func(x *scene)) func(x *scene) {
	return func(x *scene) {
		for _, edit := range edits {
			edit(x)
		}
	}
}

func reason(field string, is func(Reason) bool) func(Detail) bool {
	return func(d Detail) bool {
		return slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Field == field && is(r) })
	}
}

// halves are conditions of the diff table's rows that stand beside the first
// one: a hold, -rerun, a policy, or the row below that must not match.
var halves = []tableRow{
	{name: "none, -rerun: run, and says so", edit: (*scene).rerun, want: Run, field: "-rerun"},
	{name: "intent found, its status is no reason", status: state.Submitting, edit: func(x *scene) { x.see(found(offer.Running)) }, want: Adopt, also: func(d Detail) bool { return len(d.Reasons) == 1 }},
	{name: "intent found twice: duplicate", status: state.Submitting, edit: func(x *scene) {
		o := found(offer.Running)
		o.Duplicate = "77"
		x.see(o)
	}, want: Duplicate, text: "77", loose: []Kind{Cancel}},
	{name: "intent absent: the same token", status: state.Submitting, edit: func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }, want: Run, also: func(d Detail) bool { return d.Same }},
	{name: "intent absent, result changed: another token", status: state.Submitting, edit: both((*scene).change, func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }), want: Run, also: func(d Detail) bool { return !d.Same }},
	{name: "intent absent, held by muster hold: held", status: state.Submitting, edit: both((*scene).hold, func(x *scene) { x.see(offer.Observation{Presence: offer.Absent}) }), want: HeldKind, text: "ada"},
	{name: "seen to be given up: the reason says blocked", status: state.Queued, edit: func(x *scene) {
		o := found(offer.Cancelled)
		o.Reason = offer.Blocked
		x.see(o)
	}, want: Run, also: reason("status", func(r Reason) bool { return r.New == offer.Blocked })},

	{name: "verifying: continue", status: state.Verifying, want: Continue},
	{name: "verifying, held by muster hold: goes on", status: state.Verifying, edit: (*scene).hold, want: Continue},
	{name: "completed, held by muster hold: none", status: state.Completed, edit: (*scene).hold, want: None},
	{name: "failed, held by muster hold: with its last attempt", status: state.Failed, edit: both((*scene).hold, func(x *scene) { x.job.Class = "nan" }), want: HeldKind, text: "Its last attempt: nan"},
	{name: "held, held by muster hold: with its last attempt", status: state.Held, edit: both((*scene).hold, func(x *scene) { x.job.Class = "nan" }), want: HeldKind, text: "Its last attempt: nan"},
	{name: "running, -rerun: cancel and re-run", status: state.Running, edit: (*scene).rerun, want: Restart, field: "-rerun"},
	{name: "running, -rerun, held by muster hold: held", status: state.Running, edit: both((*scene).hold, (*scene).rerun), want: HeldKind, text: "ada"},
	{name: "running, other result, held by muster hold: held", status: state.Running, edit: both((*scene).hold, (*scene).change), want: HeldKind, text: "ada"},
	{name: "running, other request: from when it holds", status: state.Running, edit: (*scene).otherRequest, want: Continue, also: reason("request", func(r Reason) bool { return strings.HasSuffix(r.New, ", from its next attempt") })},
	{name: "completed, -rerun, held by muster hold: held", status: state.Completed, edit: both((*scene).hold, (*scene).rerun), want: HeldKind, text: "ada"},

	{name: "between launches, its queue makes the next: continue", status: state.Waiting, edit: func(x *scene) { x.see(found(offer.Waiting)) }, want: Continue},
	{name: "between launches, ours to make, attempts left: retry", status: state.Waiting, edit: both(func(x *scene) { x.retry(2, "nan") }, func(x *scene) { x.job.Class = "nan" }), want: Retry, field: "class"},
	{name: "between launches, attempts used up: held", status: state.Waiting, edit: func(x *scene) { x.job.Class = "nan" }, want: HeldKind, text: "nan"},
	{name: "between launches, other result: cancel and re-run", status: state.Waiting, edit: (*scene).change, want: Restart, field: "param.lr"},
	{name: "between launches, -rerun: cancel and re-run", status: state.Waiting, edit: (*scene).rerun, want: Restart, field: "-rerun"},

	{name: "failed, request changed: run, attempts from 1", status: state.Failed, edit: (*scene).otherRequest, want: Run, field: "request"},
	{name: "cancelled, request changed: run, attempts from 1", status: state.Cancelled, edit: (*scene).otherRequest, want: Run, field: "request"},
	{name: "cancelled by somebody: in words", status: state.Cancelled, edit: func(x *scene) { x.job.By, x.job.Reason = "ada", "no time left" }, want: HeldKind, text: "cancelled by ada: no time left"},
	{name: "cancelled, and the reason says by whom: once", status: state.Cancelled, edit: func(x *scene) { x.job.By, x.job.Reason = "ada", "cancelled by ada with scancel" }, want: HeldKind, also: func(d Detail) bool { return d.Text == "cancelled by ada with scancel" }},
	{name: "held, class in retry.on, attempts left: held", status: state.Held, edit: both(func(x *scene) { x.retry(3, "nan") }, func(x *scene) { x.job.Class = "nan" }), want: HeldKind, text: "nan"},
	{name: "failed at its second attempt of two: held", status: state.Failed, edit: both(func(x *scene) { x.retry(2, "nan") }, func(x *scene) { x.job.Class, x.job.Attempts[0].N = "nan", 2 }), want: HeldKind, text: "nan"},
	{name: "failed, only the beginning of its class in retry.on: held", status: state.Failed, edit: both(func(x *scene) { x.retry(2, "bad") }, func(x *scene) { x.job.Class = "bad_output" }), want: HeldKind, text: "bad_output"},
	{name: "failed, a failure block retries its class: retry", status: state.Failed, edit: both(func(x *scene) { x.retry(2) }, func(x *scene) {
		x.job.Class = "nan"
		x.in.Campaign.Failures = []lang.Failure{{Name: "diverged", Class: "nan", Action: "retry"}}
	}), want: Retry, field: "class"},
	{name: "failed, a failure block holds its class: held", status: state.Failed, edit: both(func(x *scene) { x.retry(2, "nan") }, func(x *scene) {
		x.job.Class = "nan"
		x.in.Campaign.Failures = []lang.Failure{{Name: "nan", Action: "hold"}}
	}), want: HeldKind, text: "nan"},
	{name: "failed, a failure block without an action: as retry.on has it", status: state.Failed, edit: both(func(x *scene) { x.retry(2, "nan") }, func(x *scene) {
		x.job.Class = "nan"
		x.in.Campaign.Failures = []lang.Failure{{Name: "nan"}}
	}), want: Retry, field: "class"},

	{name: "completed, -accept: under the hash of now", status: state.Completed, edit: both((*scene).change, func(x *scene) { x.in.Options.Accept = []string{"phase.a"} }), want: Accept, also: func(d Detail) bool { return d.Computed != Hash{} }},
	{name: "completed, -accept of what was accepted before: none", status: state.Completed, edit: both((*scene).change, func(x *scene) {
		p, _ := Make(x.in)
		x.job.Accepted = p.Phases[0].Result[0].String()
		x.in.Options.Accept = []string{"phase.a"}
	}), want: None},
	{name: "completed, missing: by output", status: state.Completed, edit: (*scene).missing, want: Missing, also: func(d Detail) bool { return slices.Equal(d.Lacks, []string{"out"}) }},
}
