package planner

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// mostDetails is how many cells of a phase have their reasons worked out and
// kept; the rest are worked out when asked for. Details are some 300 bytes.
const mostDetails = 2000

// A differ compares every wanted cell with its record.
type differ struct {
	*hashes
	phases
	digest   map[*lang.Input][]string // bytes read by each group; "" until asked for
	readings Readings
}

func newDiffer(hs *hashes, ps phases) *differ {
	return &differ{hashes: hs, phases: ps, digest: map[*lang.Input][]string{}, readings: NewReadings(hs.st.Definitions)}
}

// diffPhases gives every wanted cell its action by the table of the design:
// the first row that matches wins.
func (df *differ) diffPhases() {
	for _, w := range df.drafts {
		forced := w.rerun != nil || len(df.holds) > 0 || df.mayBeHeld(w.p)
		for i := range w.pp.Kind {
			job := w.record(i)
			if job == nil && !forced && w.restored[i] == nil {
				w.pp.Kind[i] = Run
				continue
			}
			kind, d := df.diff(w, i, job)
			kind = w.backInstead(i, job, kind, &d)
			w.pp.Kind[i] = kind
			w.keep(i, kind, d)
		}
	}
}

// want decides what to do with every job that the campaign wants, before it is
// known where that goes. It returns the files that somebody touched, too.
func want(df *differ) (out report, same []Touched) {
	fs, ps := df.facts, df.phases
	restorable(fs, ps)
	df.diffPhases()
	out.diags = importJobs(fs, ps)
	out.notes = adoptFiles(fs, ps)
	df.rerunMissing()
	out.notes = append(out.notes, narrow(fs.in.Options.Targets, ps)...)
	out.diags.Append(protect(fs, ps)...)
	return out, touched(fs)
}

// keep stores a detail that says something, up to a bound for those that can
// be worked out again.
func (w *draft) keep(i int, kind Kind, d Detail) {
	if d.State == nil && len(d.Reasons) == 0 && d.Text == "" {
		return
	}
	if kind == None && d.From == "" && d.Text == "" {
		return
	}
	if len(w.pp.Details) >= mostDetails && d.From == "" && !d.Same && (kind == Rerun || kind == Run || kind == Continue) {
		return
	}
	w.pp.Details[i] = d
}

// explain works out a detail that is not kept.
func (df *differ) explain(w *draft, i int) Detail {
	kind := w.pp.Kind[i]
	if kind == Blocked || kind == HeldKind && w.pp.Hold != "" {
		return df.stopped(w, i, kind)
	}
	job := w.record(i)
	if job == nil {
		return Detail{}
	}
	was, d := df.diff(w, i, job)
	d.Destroy = kind.Destroys()
	if kind == Restore {
		w.backInstead(i, job, was, &d)
	}
	return d
}

// diff is the table for one wanted cell.
func (df *differ) diff(w *draft, i int, job *state.Job) (Kind, Detail) {
	if job == nil {
		return df.diffNone(w, i)
	}
	f := df.observe(job)
	d := Detail{State: job}
	if from, ok := w.from[i]; ok {
		d.From = from
	}
	kind := df.diffRecord(w, i, f, &d)
	if f.Status != f.Was && !f.Intent {
		now := string(f.Status)
		if f.Status == state.Cancelled && f.Class == offer.Blocked {
			now = offer.Blocked
		}
		d.Reasons = append([]Reason{change.Of("status", string(f.Was), now)}, d.Reasons...)
		if kind == None {
			kind = Record // it ended while nobody looked: verify and record it
		}
	}
	if d.From != "" {
		switch kind {
		case None, Continue, HeldKind, Missing, Bytes, Altered, Record:
			kind = Move
		}
	}
	d.Destroy = kind.Destroys()
	return kind, d
}

func (df *differ) diffNone(w *draft, i int) (Kind, Detail) {
	if h := df.heldBy(w, i); h != "" {
		return HeldKind, Detail{Text: h}
	}
	if w.is(w.rerun, i) {
		return Run, Detail{Reasons: []Reason{change.Of("-rerun", "", "")}}
	}
	return Run, Detail{}
}

// diffRecord is the table from "intent without outcome" on.
func (df *differ) diffRecord(w *draft, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case f.Found && f.Duplicate == "" && w.unchanged(i, f.Job):
		d.Reasons = []Reason{change.Of("intent", "submitting", "found on its backend")}
		return Adopt
	case f.Absent:
		d.Reasons = []Reason{change.Of("intent", "submitting", "confirmed absent from its backend")}
		return df.again(w, i, f, d)
	case f.Unknown != "":
		d.Text = f.Unknown
		return UnknownAt
	case f.Duplicate != "":
		d.Text = "a second handle under the same token: " + f.Duplicate + "; the one that claimed it is kept"
		return Duplicate
	}
	if f.Status != state.Running && f.Status != state.Verifying && f.Status != state.Completed {
		if h := df.heldBy(w, i); h != "" {
			d.Text = h
			if f.Status == state.Failed || f.Status == state.Held {
				d.Text += "\nIts last attempt: " + f.Failure()
			}
			return HeldKind
		}
	}
	switch f.Status {
	case state.Queued, state.Running, state.Verifying:
		return df.diffActive(w, i, f, d)
	case state.Waiting:
		return df.diffWaiting(w, i, f, d)
	case state.Completed:
		return df.diffCompleted(w, i, f, d)
	}
	return df.diffStopped(w, i, f, d)
}

// again submits an intent that never arrived: under its own token, unless the
// job has changed since and so is another one.
func (df *differ) again(w *draft, i int, f observed.Fact, d *Detail) Kind {
	if h := df.heldBy(w, i); h != "" {
		d.Text = h
		return HeldKind
	}
	d.Same = w.unchanged(i, f.Job)
	return Run
}

func (df *differ) diffActive(w *draft, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return df.unlessHeld(w, i, d, Restart)
	case !w.unchanged(i, f.Job):
		d.Reasons, _ = df.changes(w, i, f.Job)
		return df.unlessHeld(w, i, d, Restart)
	case f.Status == state.Queued && len(df.readings.wouldFail(w.p, f.Job)) > 0:
		for _, name := range df.readings.wouldFail(w.p, f.Job) {
			d.Reasons = append(d.Reasons, change.Of("metric."+name, "", "read by another definition"))
		}
		return Resubmit
	case w.sameRequest(i, f.Job):
		if f.Job.Short != "" {
			d.Text = "held in its queue: " + f.Job.Short
		}
		return Continue
	case f.Status == state.Queued:
		d.Reasons = []Reason{requestChanges(w, i)}
		return Resubmit
	}
	r := requestChanges(w, i)
	r.New += ", from its next attempt"
	d.Reasons = []Reason{r}
	return Continue
}

// diffWaiting is a job between two launches. Where the host queue makes the
// next one, the refresh says so; else it is ours to make.
func (df *differ) diffWaiting(w *draft, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return Restart
	case !w.unchanged(i, f.Job):
		d.Reasons, _ = df.changes(w, i, f.Job)
		return Restart
	}
	if df.in.Observed.Going(f.Job) {
		return Continue
	}
	d.Reasons = []Reason{change.Of("class", "", f.Class)}
	if !df.retries(w.p, f) {
		d.Text = f.Failure()
		return HeldKind
	}
	return Retry
}

// diffStopped is a job that failed, was cancelled or is held.
func (df *differ) diffStopped(w *draft, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case f.Class == failure.Unverified && w.is(w.accept, i) && w.unchanged(i, f.Job):
		d.Reasons = []Reason{change.Of("outputs", "unverified", "taken as they are")}
		return Accept
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return Run
	case !w.unchanged(i, f.Job):
		d.Reasons, _ = df.changes(w, i, f.Job)
		return Run
	case !w.sameRequest(i, f.Job):
		d.Reasons = []Reason{requestChanges(w, i)}
		return Run
	case f.Class == failure.InputChanged && (f.Status == state.Failed || f.Status == state.Held && f.By == "muster"):
		return Run // it has not run; its inputs are checked again
	case f.Class == failure.NotItsOwn:
		return Run // it never began, and the file in its way is checked again
	case f.Status == state.Cancelled && f.Class == offer.Blocked:
		return Run // nobody cancelled it: its turn has not come yet
	case f.Status == state.Cancelled:
		switch d.Text = "cancelled by " + orElse(f.By, "someone outside"); {
		case strings.HasPrefix(f.Reason, "cancelled "):
			d.Text = f.Reason // it names the person
		case f.Reason != "":
			d.Text += ": " + f.Reason
		}
		return HeldKind
	case f.Status == state.Failed && df.retries(w.p, f):
		d.Reasons = []Reason{change.Of("class", "", f.Class)}
		return Retry
	}
	d.Text = f.Failure()
	return HeldKind
}

func (df *differ) diffCompleted(w *draft, i int, f observed.Fact, d *Detail) Kind {
	computed, accepted := w.same[i]
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return df.unlessHeld(w, i, d, Rerun)
	case accepted && w.is(w.accept, i) && f.Job.Accepted != computed.String():
		d.Reasons, _ = df.changes(w, i, f.Job)
		d.Computed = computed
		_, d.Seen = df.in.Observed.Altered(f.Job)
		return Accept
	case !w.unchanged(i, f.Job):
		d.Reasons, _ = df.changes(w, i, f.Job)
		return df.unlessHeld(w, i, d, Rerun)
	}
	if altered, now := df.in.Observed.Altered(f.Job); len(altered) > 0 {
		broken := df.in.Observed.Broken(f)
		d.Text = strings.Join(append(altered, broken...), "; ")
		if w.is(w.accept, i) && len(broken) == 0 && !slices.ContainsFunc(now, func(o state.Output) bool { return o.Digest == "" }) {
			d.Seen = now
			return Accept
		}
		return Altered
	}
	if reasons := df.bytesChanged(w, i, f.Job); len(reasons) > 0 {
		d.Reasons = reasons
		if w.p.Lifecycle.RerunOnInputBytes {
			return df.unlessHeld(w, i, d, Rerun)
		}
		return Bytes
	}
	if broken := df.in.Observed.Broken(f); len(broken) > 0 {
		d.Text, d.Lacks = strings.Join(broken, "; "), observed.Lacks(broken)
		return Missing
	}
	return None
}

// unlessHeld keeps jobs under a hold from starting; running ones continue.
func (df *differ) unlessHeld(w *draft, i int, d *Detail, kind Kind) Kind {
	if h := df.heldBy(w, i); h != "" {
		d.Text = h
		return HeldKind
	}
	return kind
}
