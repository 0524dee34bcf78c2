package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// requests come from other musters to the one that holds the lease.
type requests struct {
	*jobs
	accounts *accounts
	builder  *builder
	holds    *holds
	inputs   *inputs
	schedule *schedule

	cancelling cancelling // the jobs that the last cancel found
}

// serve takes the requests of other musters while this one holds the lease.
func (rq *requests) serve() {
	if rq.Requests == "" {
		return
	}
	rq.Spawn(func() { request.InLoop(rq.Context(), rq.Requests, rq.Post, rq.handle) })
}

// handle carries out a request, makes it durable, and answers.
func (rq *requests) handle(r request.Request, got chan<- request.Answer) {
	a := request.Answer{ID: r.ID, At: rq.Clock()}
	var err error
	switch r.Verb {
	case request.Hold:
		if err = rq.hold(r); err == nil {
			rq.held(r, &a)
		}
	case request.Resume:
		a.Jobs, a.Text, err = rq.resume(r)
	case request.Cancel:
		if err = rq.cancelJobs(r); err == nil {
			rq.cancelled(r, &a, false)
		}
	case request.Override:
		a.Jobs, a.Text, err = rq.override(r)
	case request.Note:
		for _, ev := range request.Noted(r) {
			rq.Emit(ev)
		}
		a.Jobs, a.Text = len(r.Addresses), "noted"
	default:
		err = fmt.Errorf("this muster does not know %q", r.Verb)
	}
	if err == nil && !rq.Sync() {
		err = rq.err
	}
	if err != nil {
		a.Error = err.Error()
	}
	got <- a
}

// hold stops starts, here and in the queues.
func (rq *requests) hold(r request.Request) error {
	if _, err := request.Covers(r.Addresses); err != nil {
		return err
	}
	for _, a := range r.On() {
		rq.Emit(state.HoldSet{Hold: state.Hold{Address: a, Who: r.Who, Reason: r.Reason, At: rq.Clock()}})
	}
	rq.holds.load()
	rq.holds.controlAll()
	rq.Note("", rq.holds.Text, false)
	return nil
}

// held describes the effect of a hold.
func (rq *requests) held(r request.Request, a *request.Answer) {
	covered, _ := request.Covers(r.Addresses)
	queued, missed := 0, ""
	a.NotReached, missed = rq.missed("the hold", []backends.Order{backends.HoldOrder}, "may start", func(f *attempt) bool {
		if !f.mayWait() || !covered(f.p.Phase, int(f.cell)) {
			return false
		}
		if f.p.At[f.cell].ToStart() {
			queued++
		}
		return true
	})
	a.Jobs, a.Text = rq.toStart(covered)-queued, ""
	switch {
	case a.Jobs > 0:
		a.Text = request.Jobs(a.Jobs, "does not start", "do not start") + " until `muster resume`; running jobs continue"
	case a.NotReached == 0:
		a.Text = "held until `muster resume`; no job was waiting to start"
	}
	if v := rq.verifying(covered); v > 0 {
		a.Text = term.Join("; ", a.Text, "the outputs of "+request.Jobs(v, "are", "are")+" being verified, which continues: `muster cancel ADDR` ends it")
	}
	a.Text = term.Join("; ", a.Text, missed, rq.again(r, a))
}

// mayWait reports whether a job may wait in a queue that starts it by itself. Of a backend that
// cannot be configured nobody knows.
func (f *attempt) mayWait() bool {
	return (f.B.Starts() || f.B.Provider == nil) && (f.p.At[f.cell].ToStart() || f.Status == cells.Unknown)
}

// missed counts jobs in queues that did not take one of some orders, those of a queue that is
// away too, and says which queues, and what they may do with the jobs.
func (rq *requests) missed(order string, orders []backends.Order, may string, match func(*attempt) bool) (jobs int, text string) {
	by := map[*backends.Backend]int{}
	for _, f := range rq.attempts {
		if f.p != nil && !f.smoke && f.B.Untaken(orders...) != "" && match(f) {
			by[f.B]++
			jobs++
		}
	}
	for _, b := range rq.backends.Queues {
		if n := by[b]; n > 0 {
			text = term.Join("; ", text, fmt.Sprintf("%s did not take %s, and %s %s: %s", b.Title(), order, may, units.Count(n, "job"), b.Untaken(orders...)))
		}
	}
	return jobs, text
}

// again is the command that repeats an order which did not reach every queue,
// "" if it did.
func (rq *requests) again(r request.Request, a *request.Answer) string {
	switch {
	case a.NotReached == 0:
		return ""
	case !rq.quiet:
		return "this apply tries again"
	case r.Verb == request.Resume:
		return "the next `muster apply` tries again"
	}
	return fmt.Sprintf("run `muster %s` again when it answers", r.Verb)
}

// unreleased says which queues did not take a resume.
func (rq *requests) unreleased(r request.Request, a *request.Answer) {
	covered, _ := request.Covers(r.Addresses)
	missed := ""
	a.NotReached, missed = rq.missed("the release", []backends.Order{backends.ReleaseOrder, backends.LimitsOrder, backends.ResumeOrder}, "may still hold", func(f *attempt) bool {
		return f.mayWait() && covered(f.p.Phase, int(f.cell))
	})
	if a.NotReached > 0 {
		a.Text = term.Join("; ", strings.TrimSuffix(a.Text, "."), missed, rq.again(r, a))
	}
}

// verifying counts the jobs whose outputs are looked at.
func (rq *requests) verifying(covered func(*lang.Phase, int) bool) (n int) {
	for _, f := range rq.attempts {
		if f.Status == cells.Verifying && f.p != nil && covered(f.p.Phase, int(f.cell)) {
			n++
		}
	}
	return n
}

// heldThere counts the jobs that a queue holds though nothing here does: somebody
// held them there, or it has forgotten that they were let go.
func (rq *requests) heldThere() (n int) {
	for _, f := range rq.attempts {
		if rec := rq.st.Jobs[f.Key]; f.Status == cells.Queued && rec != nil && rec.Cause == string(offer.JobHeld) && rq.holds.mayStart(f) {
			n++
		}
	}
	return n
}

// toStart counts the jobs that wait to start, here or in the queue of a backend.
func (rq *requests) toStart(covered func(*lang.Phase, int) bool) (n int) {
	for _, p := range rq.phases {
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
func (rq *requests) resume(r request.Request) (int, string, error) {
	covered, err := request.Covers(r.Addresses)
	if err != nil {
		return 0, "", err
	}
	free := func(p *lang.Phase, c int) bool { return covered(p, c) && !rq.holds.Covers(p, c) }
	holds, before, alone, there := len(rq.st.Holds), rq.toStart(free), rq.startsAlone(free), rq.heldThere()
	rq.clearHolds(r, covered)
	lifted, n := len(rq.st.Holds) < holds, rq.toStart(free)-before
	alone = rq.startsAlone(free) - alone
	rq.inputs.staging.ForgetBroken()
	for _, p := range rq.phases {
		for _, ed := range p.inputs {
			ed.ForgetBroken()
		}
		for _, st := range p.stores {
			st.ForgetBroken()
		}
	}
	var closed, cancelled []string
	for _, h := range rq.st.Holds {
		if h.Cancel && len(r.Addresses) == 0 {
			cancelled = append(cancelled, h.Address)
		}
	}
	smokes, held := 0, 0
	for _, p := range rq.phases {
		for _, of := range p.open() {
			if !closes(r, p, of, covered) {
				continue
			}
			rq.Emit(state.BreakerClosed{Phase: p.Name, Of: setting(of), By: r.Who, At: rq.Clock()})
			delete(p.breakers, of)
			closed = append(closed, of)
		}
		f := rq.freeCells(p, covered, r)
		again := rq.freeSmokes(p, f.jobs, covered, r)
		n, smokes, held = n+f.jobs+again, smokes+again, held+f.held
		cancelled = append(cancelled, f.left...)
	}
	rq.releaseQueues(closed)
	rq.heldNoMore()
	rq.Note("", "resumed by "+r.Who+": "+smokesAndJobs(n+there, smokes), false)
	count, text := rq.resumed(n, smokes, alone, there, lifted)
	if held > 0 {
		but := request.Jobs(held, "is released, but cannot start: ", "are released, but cannot start: ") + rq.holds.Text
		if n+there == 0 && !lifted {
			text = but
		} else {
			text = term.Join("; ", text, but)
		}
	}
	if stays := staysCancelled(cancelled); strings.HasSuffix(text, ".") {
		text = term.Join(" ", text, stays)
	} else {
		text = term.Join("; ", text, stays)
	}
	return count, text, nil
}

// smokesAndJobs counts the jobs that a resume let start, smokes among them.
func smokesAndJobs(n, smokes int) string {
	switch smokes {
	case 0:
		return units.Count(n, "job")
	case n:
		return units.Count(n, "smoke")
	}
	return units.Count(smokes, "smoke") + " and " + units.Count(n-smokes, "job")
}

// resumed describes the effect of a resume. Without an apply only jobs in a scheduler start: a
// host's queue waits for one.
func (rq *requests) resumed(n, smokes, alone, there int, lifted bool) (int, string) {
	if start := n - alone; rq.quiet && start > 0 {
		text := "Released. "
		if lifted {
			text = "Hold lifted. "
		}
		text += "Run `muster apply` to start " + smokesAndJobs(start, smokes) + "."
		if others := alone + there; others > 0 {
			text += " " + request.Jobs(others, "starts without it: its queue has it.", "start without it: their queues have them.")
		}
		return n + there, text
	}
	switch {
	case n == 0 && there > 0:
		return there, fmt.Sprintf("released %s in the queue", units.Count(there, "job"))
	case there > 0:
		return n + there, fmt.Sprintf("released %d jobs, %d of them in the queue", n+there, there)
	case n == 0 && lifted && rq.holds.Any():
		return 0, "hold lifted, but no job can start: " + rq.holds.Text
	case n == 0 && lifted:
		return 0, "hold lifted; no job was waiting for it"
	case n == 0:
		return 0, "nothing was held; a job that failed and has changed since runs at the next `muster apply`"
	}
	return n, "released " + smokesAndJobs(n, smokes)
}

// staysCancelled names the jobs that a resume of everything leaves cancelled.
func staysCancelled(jobs []string) string {
	switch len(jobs) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 job stays cancelled: muster resume %s lets it run again", shell.Enclose(jobs[0]))
	}
	return fmt.Sprintf("%d jobs stay cancelled: muster resume ADDR lets one run again, such as %s", len(jobs), shell.Enclose(jobs[0]))
}

// closes reports whether a resume closes a breaker of a phase: it names everything, the phase, or
// every job of the setting that the breaker stops.
func closes(r request.Request, p *phase, of string, covered func(*lang.Phase, int) bool) bool {
	if len(r.Addresses) == 0 || slices.Contains(r.Addresses, "phase."+p.Name) {
		return true
	}
	if setting(of) == "" {
		return false
	}
	for cell := range p.At {
		if p.stops(int32(cell)) == of && !covered(p.Phase, cell) {
			return false
		}
	}
	return true
}

// startsAlone counts the jobs that the queue of a scheduler starts by itself.
func (rq *requests) startsAlone(free func(*lang.Phase, int) bool) (n int) {
	for _, f := range rq.attempts {
		if f.p != nil && f.Status.ToStart() && f.B.Starts() && !f.B.Can.HostQueue && free(f.p.Phase, int(f.cell)) {
			n++
		}
	}
	return n
}

// heldNoMore clears the holds in the state of jobs that the queue of a host
// held with their campaign.
func (rq *requests) heldNoMore() {
	if rq.holds.All {
		return
	}
	for _, f := range rq.attempts {
		if rec := rq.st.Jobs[f.Key]; f.Status == cells.Queued && rec != nil && rec.Cause == string(offer.CampaignHeld) {
			rq.Emit(state.Observed{Address: f.Addr, Token: f.Token, Status: state.Queued, Attempt: f.attemptOf(&offer.Observation{}, f.N), At: rq.Clock()})
		}
	}
}

// clearHolds lifts the holds of the addresses, and those of jobs that they cover.
func (rq *requests) clearHolds(r request.Request, covered func(*lang.Phase, int) bool) {
	addresses := r.On()
	for _, h := range rq.st.Holds {
		if !slices.Contains(addresses, h.Address) && len(r.Addresses) > 0 && rq.within(h.Address, covered) {
			addresses = append(addresses, h.Address)
		}
	}
	for _, a := range addresses {
		rq.Emit(state.HoldClear{Address: a, By: r.Who, At: rq.Clock()})
	}
	rq.holds.load()
}

// within reports whether a hold stops jobs of the campaign, and no other than the covered ones.
// A hold of everything stops more than the jobs that there are.
func (rq *requests) within(address string, covered func(*lang.Phase, int) bool) bool {
	if j, err := addr.Parse(address); err == nil && j.Key != "" {
		p := rq.byName[j.Phase]
		if p == nil {
			return false
		}
		c, ok := p.Index(j.Key)
		return ok && covered(p.Phase, c)
	}
	held, err := request.Covers([]string{address})
	if err != nil || address == "" {
		return false
	}
	some := false
	for _, p := range rq.phases {
		for c := range p.At {
			if held(p.Phase, c) {
				if !covered(p.Phase, c) {
					return false
				}
				some = true
			}
		}
	}
	return some
}

// A freeing counts the cells of a phase that a resume frees, and names those that it leaves.
type freeing struct {
	jobs, held int      // that may start, and that another hold keeps from it
	left       []string // that stay cancelled: a person did that, and they are not named
}

// freeCells frees the held and failed cells of a phase, and those that a person
// cancelled if they are named.
func (rq *requests) freeCells(p *phase, covered func(*lang.Phase, int) bool, r request.Request) (f freeing) {
	for c := range int32(len(p.At)) {
		if !p.At[c].Stopped() || p.At[c] == cells.Altered || p.At[c] == cells.Changed || !covered(p.Phase, int(c)) {
			continue
		}
		address := p.Address(int(c))
		rec, held := rq.st.Jobs[address], rq.holds.covers(p, c)
		switch {
		case held && (rec == nil || !gaveUp(rec)):
			continue
		case len(r.Addresses) == 0 && p.At[c] == cells.Cancelled && rec != nil && rec.CancelledByPerson():
			f.left = append(f.left, address)
			continue
		case rec != nil:
			rq.placeAgain(p, c, rec)
			rq.Emit(state.Freed{Address: address, By: r.Who, At: rq.Clock()})
		}
		if held {
			f.held++
			p.Set(c, cells.Held)
			continue
		}
		f.jobs++
		p.Set(c, cells.Pending)
		if p.Waits[c] == 0 {
			rq.schedule.makeReady(p, c)
		}
	}
	return f
}

// freeSmokes lets the smokes of a phase that did not pass start again. A plan in which all
// jobs of a phase were held, or that leaves the phase out, has no gate: with jobs that were freed
// now, or left out, its smokes count, too, unless the phase has changed since.
func (rq *requests) freeSmokes(p *phase, freed int, covered func(*lang.Phase, int) bool, r request.Request) (n int) {
	if p.Smoke == nil {
		return 0
	}
	for _, i := range p.Smoke.Cells {
		c := int32(i)
		key := p.recordKey(c, true)
		rec := rq.st.Jobs[key]
		s, gated := p.Gate.Smokes[c]
		if !gated && (freed > 0 || p.At[c] == cells.Skipped) && rec != nil && !rec.InFlight() && !rq.st.Validations[rec.Result].Passed && rec.Definition == p.Definition().Digest {
			s = cells.HeldAs(rec)
		}
		if s != cells.Failed && s != cells.Cancelled && s != cells.Held || !covered(p.Phase, i) {
			continue
		}
		freed := state.Freed{Address: key, By: r.Who, At: rq.Clock()}
		if gated {
			freed.Print = p.Gate.Print(c)
		}
		rq.Emit(freed)
		if p.Gate.Retry(c); p.Waits[c] > 0 {
			p.Gate.Mark(c, cells.Pending)
		}
		n++
	}
	return n
}

// placeAgain keeps a freed job where it was, if the plan does not place it.
func (rq *requests) placeAgain(p *phase, cell int32, rec *state.Job) {
	a := rec.Last()
	if a == nil || p.places.Of(cell) != nil || rq.backends.Contacts[a.Backend] == nil {
		return
	}
	(&attempt{Attempt: backends.Attempt{B: rq.backends.At(a.Backend, a.Pool), Pool: a.Pool}, p: p, cell: cell}).whereItWas(rq.Plan)
}

// knownAs are the names under which queues may know a phase or a setting: jobs keep that of the
// phase that submitted them.
func (rq *requests) knownAs(of string) []string {
	address := of
	if setting(of) == "" {
		address = "phase." + of
	}
	former := history.MovedOf(rq.Campaign.Moved).Former(address)
	for _, f := range rq.attempts {
		rec := rq.st.Jobs[f.Key]
		if f.p == nil || rec == nil || rec.Moved == "" || f.p.stops(f.cell) != of {
			continue
		}
		if phase, _, ok := addr.Split(rec.Moved); ok {
			former = append(former, strings.Replace(address, "phase."+f.p.Name, "phase."+phase, 1))
		}
	}
	names := []string{of}
	for _, was := range former {
		if setting(of) == "" {
			was = strings.TrimPrefix(was, "phase.")
		}
		if !slices.Contains(names, was) {
			names = append(names, was)
		}
	}
	return names
}

// releaseQueues lets queues start jobs whose hold was lifted.
func (rq *requests) releaseQueues(phases []string) {
	rq.holds.controlAll()
	rq.backends.TakeOver(rq.holds.All) // an earlier command told them of the hold
	rq.holds.controlQueued(rq.holds.mayStart, false)
	if len(phases) == 0 {
		return
	}
	var names []string
	for _, of := range phases {
		names = append(names, rq.knownAs(of)...)
	}
	rq.backends.Resume(names)
}

// cancelJobs holds, then cancels.
func (rq *requests) cancelJobs(r request.Request) error {
	covered, err := request.Covers(r.Addresses)
	if err != nil {
		return err
	}
	ending, waiting, astray := map[string]bool{}, 0, 0
	for _, f := range rq.attempts {
		if f.p == nil || !covered(f.p.Phase, int(f.cell)) || f.End == backends.Forget {
			continue
		}
		if f.Stranded {
			astray++
			continue
		}
		ending[f.Key] = true
		f.EndAs(backends.Hold)
		f.by = r.Who
	}
	for _, p := range rq.phases {
		for c := range int32(len(p.At)) {
			if covered(p.Phase, int(c)) && rq.waits(p, c) {
				if !ending[p.Address(int(c))] { // its backend waits to retry it
					waiting++
				}
				rq.cancelCell(p, c, r)
			}
		}
	}
	rq.holds.load()
	rq.dropUnsent()
	if rq.Sync() {
		rq.backends.Cancel()
	}
	rq.cancelling = cancelling{len(ending), waiting, astray}
	return nil
}

// waits reports whether a cell that no queue has would start: now, once others have ended, once a
// hold is lifted, or in an apply that selects it.
func (rq *requests) waits(p *phase, c int32) bool {
	switch p.At[c] {
	case cells.Pending, cells.Ready, cells.Waiting:
		return true
	case cells.Held, cells.Skipped:
		rec := rq.st.Jobs[p.Address(int(c))]
		return rec == nil || rec.Status == state.Waiting || !rec.Status.Active() && !gaveUp(rec)
	}
	return false
}

// gaveUp reports whether a job has ended without its outputs, or was held for what happened to it.
func gaveUp(rec *state.Job) bool {
	return rec.Status == state.Failed || rec.Status == state.Held || rec.Status == state.Cancelled
}

// cancelCell cancels a job that no queue has, and records it as the plan has it, so that a later
// plan does not take it for a changed one. The record of a result stays, with a hold.
func (rq *requests) cancelCell(p *phase, c int32, r request.Request) {
	address, reason := p.Address(int(c)), cmp.Or(r.Reason, "cancelled before it started")
	selected := p.At[c] != cells.Skipped
	p.Set(c, cells.Cancelled)
	if rec := rq.st.Jobs[address]; rec != nil && rec.Status == state.Completed {
		rq.Emit(state.HoldSet{Hold: state.Hold{Address: address, Who: r.Who, Reason: reason, Cancel: true, At: rq.Clock()}})
		return
	}
	e := state.HeldJob{Address: address, Reason: reason, By: r.Who, Cancelled: true, At: rq.Clock()}
	if !rq.quiet && selected {
		job := rq.builder.identity(p, c)
		e.Job = &job
	}
	rq.Emit(e)
}

// A cancelling counts the jobs of a cancel.
type cancelling struct {
	ending  int // in their queues, or running
	waiting int // that no queue had
	astray  int // in queues to which the configuration does not lead
}

// cancelled describes the effect of a cancel; late, some time after it.
func (rq *requests) cancelled(r request.Request, a *request.Answer, late bool) {
	covered, _ := request.Covers(r.Addresses)
	missed := ""
	a.NotReached, missed = rq.missed("the cancel", nil, "may run", func(f *attempt) bool {
		return f.End == backends.Hold && !f.Stranded && covered(f.p.Phase, int(f.cell))
	})
	c := rq.cancelling
	ending := c.ending - a.NotReached
	var did []string
	if ending > 0 {
		did = append(did, request.Jobs(ending, "is being cancelled", "are being cancelled"))
	}
	if late && rq.backends.Ending() > a.NotReached {
		did = append(did, "some have not ended yet")
	}
	if c.waiting > 0 {
		did = append(did, request.Jobs(c.waiting, "was cancelled before it started", "were cancelled before they started"))
	}
	if c.astray > 0 {
		did = append(did, request.Jobs(c.astray, "is not cancelled: it is", "are not cancelled: they are")+" in a queue that this configuration does not lead to")
	}
	if a.NotReached > 0 {
		did = append(did, missed, rq.again(r, a))
	}
	if did == nil {
		did = []string{"nothing to cancel: no selected job runs or waits"}
	}
	a.Jobs, a.Text = ending+c.waiting, strings.Join(did, "; ")
}

// dropUnsent withdraws intents that are to be cancelled before they are sent.
func (rq *requests) dropUnsent() {
	for _, d := range rq.backends.DropEnding() {
		f := rq.attempts[d.Token]
		rq.Emit(state.HeldJob{Address: f.Key, Reason: "cancelled before it started", By: f.by, Cancelled: true, At: rq.Clock()})
		rq.Emit(state.NotSubmitted{Address: f.Addr, Token: f.Token, Reason: "cancelled before it started", At: rq.Clock()})
		rq.accounts.land(f)
		f.mark(cells.Cancelled)
	}
}

// override lets a gate pass on a person's word.
func (rq *requests) override(r request.Request) (int, string, error) {
	n := 0
	for _, a := range r.Addresses {
		j, err := addr.Parse(a)
		if err != nil {
			return n, "", err
		}
		p := rq.byName[j.Phase]
		if p == nil {
			return n, "", fmt.Errorf("there is no phase %q in this plan", j.Phase)
		}
		switch {
		case p.Smoke == nil && len(p.Pilot) == 0:
			return n, "", fmt.Errorf("phase.%s has no gate: it declares neither a smoke nor a pilot", p.Name)
		case len(p.Gate.Order) == 0 && p.Counts[cells.Skipped] > 0:
			return n, "", fmt.Errorf("phase.%s is outside the selection of the apply that runs: run this command again when that apply has ended", p.Name)
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
			rq.Emit(state.Overrode{Override: state.Override{Address: "phase." + p.Name, Fingerprint: f, Who: r.Who, Reason: r.Reason, At: rq.Clock()}})
		}
		if len(p.Gate.Order) > 0 && !rq.quiet { // jobs queued behind a smoke start without it
			rq.schedule.takeBack(p, func(f *attempt) bool { return !f.smoke })
		}
		n += len(p.Gate.Order)
		p.Gate.Order = nil
		rq.Note(a, "the gate of phase."+p.Name+" is overridden by "+r.Who, false)
	}
	if rq.quiet {
		return n, "the gate passes; the jobs behind it start with the next `muster apply`", nil
	}
	return n, "the gate passes", nil
}
