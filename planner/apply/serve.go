package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/apply/brake"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// serveRequests takes what other musters ask while this one holds the lease.
func (e *engine) serveRequests() {
	if e.Requests == "" {
		return
	}
	e.Spawn(func() { request.InLoop(e.Context(), e.Requests, e.Post, e.handle) })
}

// handle does what a request asks, makes it durable, and answers.
func (e *engine) handle(r request.Request, got chan<- request.Answer) {
	a := request.Answer{ID: r.ID, At: e.Clock()}
	var err error
	switch r.Verb {
	case request.Hold:
		a.Jobs, a.Text, err = e.hold(r)
	case request.Resume:
		a.Jobs, a.Text, err = e.resume(r)
	case request.Cancel:
		a.Jobs, a.Text, err = e.cancelJobs(r)
	case request.Override:
		a.Jobs, a.Text, err = e.override(r)
	default:
		err = fmt.Errorf("this muster does not know %q", r.Verb)
	}
	if err == nil && !e.sync() {
		err = e.err
	}
	if err != nil {
		a.Error = err.Error()
	}
	got <- a
}

// hold stops starts, here and in the queues.
func (e *engine) hold(r request.Request) (int, string, error) {
	covered, err := request.Covers(r.Addresses)
	if err != nil {
		return 0, "", err
	}
	for _, a := range r.On() {
		e.emit(state.HoldSet{Hold: state.Hold{Address: a, Who: r.Who, Reason: r.Reason, At: e.Clock()}})
	}
	e.loadHolds()
	e.controlAll()
	n := e.toStart(covered)
	e.report.Note("", e.holds.Text, false)
	goes := ""
	if v := e.verifying(covered); v > 0 {
		goes = "; the outputs of " + request.Jobs(v, "are", "are") + " being verified, which goes on: `muster cancel ADDR` ends it"
	}
	if n == 0 {
		return 0, "held until `muster resume`; no job was waiting to start" + goes, nil
	}
	return n, request.Jobs(n, "does not start", "do not start") + " until `muster resume`; running jobs go on" + goes, nil
}

// verifying counts the jobs whose outputs are looked at.
func (e *engine) verifying(covered func(*lang.Phase, int) bool) (n int) {
	for _, f := range e.flights {
		if f.Status == cells.Verifying && f.p != nil && covered(f.p.Phase, int(f.cell)) {
			n++
		}
	}
	return n
}

// heldThere counts the jobs that a queue holds though nothing here does: somebody
// held them there, or it has forgotten that they were let go.
func (e *engine) heldThere() (n int) {
	for _, f := range e.flights {
		if rec := e.st.Jobs[f.Key]; f.Status == cells.Queued && rec != nil && offer.IsHeld(rec.Reason) && e.mayStart(f) {
			n++
		}
	}
	return n
}

// toStart counts the jobs that wait to start, here or in the queue of a backend.
func (e *engine) toStart(covered func(*lang.Phase, int) bool) (n int) {
	for _, p := range e.phases {
		for c, s := range p.At {
			if s.ToStart() && covered(p.Phase, c) {
				n++
			}
		}
	}
	return n
}

// resume clears holds and breakers, and lets held, failed and cancelled jobs
// start again, attempts from 1.
func (e *engine) resume(r request.Request) (int, string, error) {
	covered, err := request.Covers(r.Addresses)
	if err != nil {
		return 0, "", err
	}
	free := func(p *lang.Phase, c int) bool { return covered(p, c) && !e.holds.Covers(p, c) }
	holds, before, alone, there := len(e.st.Holds), e.toStart(free), e.startsAlone(free), e.heldThere()
	e.clearHolds(r)
	lifted, n := len(e.st.Holds) < holds, e.toStart(free)-before
	alone = e.startsAlone(free) - alone
	e.freight.ForgetBroken()
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			ed.ForgetBroken()
		}
	}
	var closed, cancelled []string
	for _, p := range e.phases {
		if p.breaker.Open && (len(r.Addresses) == 0 || slices.Contains(r.Addresses, "phase."+p.Name)) {
			e.emit(state.BreakerClosed{Phase: p.Name, By: r.Who, At: e.Clock()})
			p.breaker = brake.Breaker{}
			closed = append(closed, p.Name)
		}
		freed, left := e.freeCells(p, covered, r)
		n += freed
		cancelled = append(cancelled, left...)
	}
	e.releaseQueues(closed)
	e.heldNoMore()
	e.report.Note("", "resumed by "+r.Who+": "+request.Jobs(n+there, "may start again", "may start again"), false)
	count, text := e.resumed(n, alone, there, lifted)
	if stays := staysCancelled(cancelled); strings.HasSuffix(text, ".") {
		text = term.Join(" ", text, stays)
	} else {
		text = term.Join("; ", text, stays)
	}
	return count, text, nil
}

// resumed says what a resume has let go. Where no apply runs, only what a
// scheduler has starts without one: a host's queue waits to be told.
func (e *engine) resumed(n, alone, there int, lifted bool) (int, string) {
	if start := n - alone; e.quiet && start > 0 {
		text := "Released. "
		if lifted {
			text = "Hold lifted. "
		}
		text += "Run `muster apply` to start " + units.Count(start, "job") + "."
		if others := alone + there; others > 0 {
			text += " " + request.Jobs(others, "starts without it: its queue has it.", "start without it: their queues have them.")
		}
		return n + there, text
	}
	switch {
	case n == 0 && there > 0:
		return there, request.Jobs(there, "may start again: its queue held it", "may start again: their queues held them")
	case there > 0:
		return n + there, fmt.Sprintf("%d jobs may start again, %d of which their queues held", n+there, there)
	case n == 0 && lifted && e.holds.Any():
		return 0, "it is cleared, and no job may start by that: " + e.holds.Text
	case n == 0 && lifted:
		return 0, "no hold any more; no job was waiting for it"
	case n == 0:
		return 0, "nothing was held; a job that failed and has changed since runs at the next apply"
	}
	return n, request.Jobs(n, "may start again", "may start again")
}

// staysCancelled names what a resume of everything leaves alone.
func staysCancelled(jobs []string) string {
	switch len(jobs) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 job stays cancelled: muster resume '%s' lets it run again", jobs[0])
	}
	return fmt.Sprintf("%d jobs stay cancelled: muster resume ADDR lets one run again, such as '%s'", len(jobs), jobs[0])
}

// startsAlone counts the jobs that the queue of a scheduler starts by itself.
func (e *engine) startsAlone(free func(*lang.Phase, int) bool) (n int) {
	for _, f := range e.flights {
		if f.p != nil && f.Status.ToStart() && f.B.Starts() && !f.B.Can.HostQueue && free(f.p.Phase, int(f.cell)) {
			n++
		}
	}
	return n
}

// heldNoMore takes back what the state says of jobs that the queue of a host
// held with their campaign.
func (e *engine) heldNoMore() {
	if e.holds.All {
		return
	}
	for _, f := range e.flights {
		if rec := e.st.Jobs[f.Key]; f.Status == cells.Queued && rec != nil && rec.Reason == offer.CampaignHeld {
			e.emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Attempt: f.attemptOf(&offer.Observation{}, f.N), At: e.Clock()})
		}
	}
}

func (e *engine) clearHolds(r request.Request) {
	for _, a := range r.On() {
		e.emit(state.HoldClear{Address: a, By: r.Who, At: e.Clock()})
	}
	e.loadHolds()
}

// freeCells frees the held and failed cells of a phase, and those that a person
// cancelled if they are named: else they are left.
func (e *engine) freeCells(p *phase, covered func(*lang.Phase, int) bool, r request.Request) (n int, left []string) {
	who := r.Who
	for c := range int32(len(p.At)) {
		if !p.At[c].Stopped() || p.At[c] == cells.Altered || !covered(p.Phase, int(c)) || e.covers(p, c) {
			continue
		}
		address := p.Address(int(c))
		if rec := e.st.Jobs[address]; len(r.Addresses) == 0 && p.At[c] == cells.Cancelled && rec != nil && rec.CancelledByPerson() {
			left = append(left, address)
			continue
		}
		if rec := e.st.Jobs[address]; rec != nil {
			e.placeAgain(p, c, rec)
			e.emit(state.Freed{Address: address, By: who, At: e.Clock()})
		}
		n++
		p.Set(c, cells.Pending)
		if p.Waits[c] == 0 {
			e.makeReady(p, c)
		}
	}
	for c, s := range p.Gate.Smokes {
		if s != cells.Failed && s != cells.Cancelled || !covered(p.Phase, int(c)) {
			continue
		}
		if key := e.recordKey(p, c, true); e.st.Jobs[key] != nil {
			e.emit(state.Freed{Address: key, By: who, At: e.Clock()})
		}
		p.Gate.Smokes[c], p.Gate.Failed = cells.Ready, false
		if p.Waits[c] > 0 {
			p.Gate.Smokes[c] = cells.Pending
		}
		n++
	}
	return n, left
}

// placeAgain keeps a freed job where it was, if the plan does not place it.
func (e *engine) placeAgain(p *phase, cell int32, rec *state.Job) {
	a := rec.Last()
	if a == nil || p.places.Of(cell) != nil || e.fleet.Contacts[a.Backend] == nil {
		return
	}
	e.whereItWas(&flight{Flight: fleet.Flight{B: e.fleet.At(a.Backend, a.Pool), Pool: a.Pool}, p: p, cell: cell})
}

// releaseQueues lets queues start again what is held no more.
func (e *engine) releaseQueues(phases []string) {
	e.controlAll()
	e.controlQueued(e.mayStart, false)
	if len(phases) == 0 {
		return
	}
	e.fleet.Resume(phases)
}

// cancelJobs holds, then cancels.
func (e *engine) cancelJobs(r request.Request) (int, string, error) {
	covered, err := request.Covers(r.Addresses)
	if err != nil {
		return 0, "", err
	}
	n := 0
	for _, f := range e.flights {
		if f.p == nil || !covered(f.p.Phase, int(f.cell)) || f.End == fleet.Forget {
			continue
		}
		n++
		f.EndAs(fleet.Hold)
		f.by = r.Who
	}
	for _, p := range e.phases {
		for c := range int32(len(p.At)) {
			switch p.At[c] {
			case cells.Pending, cells.Ready, cells.Waiting:
				if covered(p.Phase, int(c)) {
					n++
					e.emit(state.HeldJob{Address: p.Address(int(c)), Reason: cmp.Or(r.Reason, "cancelled before it started"), By: r.Who, Cancelled: true, At: e.Clock()})
					p.Set(c, cells.Cancelled)
				}
			}
		}
	}
	e.dropUnsent()
	if e.sync() {
		e.fleet.Cancel()
	}
	if n == 0 {
		return 0, "nothing to cancel: what is selected neither runs nor waits", nil
	}
	return n, request.Jobs(n, "is", "are") + " held; what a backend had of them is being ended", nil
}

// dropUnsent withdraws intents that are to be cancelled before they are sent.
func (e *engine) dropUnsent() {
	for _, d := range e.fleet.DropEnding() {
		f := e.flights[d.Token]
		e.emit(state.HeldJob{Address: f.Key, Reason: "cancelled before it started", By: f.by, Cancelled: true, At: e.Clock()})
		e.emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: "cancelled before it started", At: e.Clock()})
		e.land(f)
		f.mark(cells.Cancelled)
	}
}

// override lets a gate pass on a person's word.
func (e *engine) override(r request.Request) (int, string, error) {
	n := 0
	for _, a := range r.Addresses {
		j, err := addr.Parse(a)
		if err != nil {
			return n, "", err
		}
		p := e.byName[j.Phase]
		if p == nil {
			return n, "", fmt.Errorf("there is no phase %q in this plan", j.Phase)
		}
		switch {
		case p.Smoke == nil && len(p.Pilot) == 0:
			return n, "", fmt.Errorf("phase.%s has no gate: it declares neither a smoke nor a pilot", p.Name)
		case len(p.Gate.Order) == 0 && len(p.Pilot) == 0:
			return n, "nothing waits at the gate of phase." + p.Name + ", so nothing is recorded", nil
		}
		prints := []string{}
		for _, c := range p.Gate.Order {
			prints = append(prints, p.Gate.Print(c))
		}
		if len(prints) == 0 {
			prints = []string{""}
		}
		for _, f := range prints {
			e.emit(state.Overrode{Override: state.Override{Address: "phase." + p.Name, Fingerprint: f, Who: r.Who, Reason: r.Reason, At: e.Clock()}})
		}
		n += len(p.Gate.Order)
		p.Gate.Order, p.Gate.Failed = nil, false
		e.report.Note(a, "the gate of phase."+p.Name+" passes on the word of "+r.Who, false)
	}
	return n, "the gate passes", nil
}
