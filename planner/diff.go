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

// diffPhases gives every wanted cell its action by the table of the design:
// the first row that matches wins.
func (m *maker) diffPhases() {
	for _, w := range m.works {
		_, open := m.st.Breakers[w.p.Name]
		forced := w.rerun != nil || len(m.holds) > 0 || open
		for i := range w.pp.Kind {
			job := w.record(i)
			if job == nil && !forced && w.restored[i] == nil {
				w.pp.Kind[i] = Run
				continue
			}
			kind, d := m.diff(w, i, job)
			kind = m.backInstead(w, i, job, kind, &d)
			w.pp.Kind[i] = kind
			w.keep(i, kind, d)
		}
	}
}

// keep stores a detail that says something, up to a bound for those that can
// be worked out again.
func (w *work) keep(i int, kind Kind, d Detail) {
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

// explainKept works out a detail again.
func (m *maker) explainKept(w *work, i int) Detail {
	kind := w.pp.Kind[i]
	if kind == Blocked || kind == HeldKind && w.pp.Hold != "" {
		return m.stopped(w, i, kind)
	}
	job := w.record(i)
	if job == nil {
		return Detail{}
	}
	was, d := m.diff(w, i, job)
	d.Destroy = kind.Destroys()
	if kind == Restore {
		m.backInstead(w, i, job, was, &d)
	}
	return d
}

// diff is the table for one wanted cell.
func (m *maker) diff(w *work, i int, job *state.Job) (Kind, Detail) {
	if job == nil {
		return m.diffNone(w, i)
	}
	f := m.observe(job)
	d := Detail{State: job}
	if from, ok := w.from[i]; ok {
		d.From = from
	}
	kind := m.diffRecord(w, i, f, &d)
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

func (m *maker) diffNone(w *work, i int) (Kind, Detail) {
	if h := m.heldBy(w, i); h != "" {
		return HeldKind, Detail{Text: h}
	}
	if w.is(w.rerun, i) {
		return Run, Detail{Reasons: []Reason{change.Of("-rerun", "", "")}}
	}
	return Run, Detail{}
}

// diffRecord is the table from "intent without outcome" on.
func (m *maker) diffRecord(w *work, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case f.Found && f.Duplicate == "" && m.unchanged(w, i, f.Job):
		d.Reasons = []Reason{change.Of("intent", "submitting", "found on its backend")}
		return Adopt
	case f.Absent:
		d.Reasons = []Reason{change.Of("intent", "submitting", "surely not on its backend")}
		return m.again(w, i, f, d)
	case f.Unknown != "":
		d.Text = f.Unknown
		return UnknownAt
	case f.Duplicate != "":
		d.Text = "a second handle under the same token: " + f.Duplicate + "; the one that claimed it is kept"
		return Duplicate
	}
	if f.Status != state.Running && f.Status != state.Verifying && f.Status != state.Completed {
		if h := m.heldBy(w, i); h != "" {
			d.Text = h
			if f.Status == state.Failed || f.Status == state.Held {
				d.Text += "\nIts last attempt: " + f.Failure()
			}
			return HeldKind
		}
	}
	switch f.Status {
	case state.Queued, state.Running, state.Verifying:
		return m.diffActive(w, i, f, d)
	case state.Waiting:
		return m.diffWaiting(w, i, f, d)
	case state.Completed:
		return m.diffCompleted(w, i, f, d)
	}
	return m.diffStopped(w, i, f, d)
}

// again submits an intent that never arrived: under its own token, unless the
// job has changed since and so is another one.
func (m *maker) again(w *work, i int, f observed.Fact, d *Detail) Kind {
	if h := m.heldBy(w, i); h != "" {
		d.Text = h
		return HeldKind
	}
	d.Same = m.unchanged(w, i, f.Job)
	return Run
}

func (m *maker) diffActive(w *work, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return m.unlessHeld(w, i, d, Restart)
	case !m.unchanged(w, i, f.Job):
		d.Reasons, _ = m.changes(w, i, f.Job)
		return m.unlessHeld(w, i, d, Restart)
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
func (m *maker) diffWaiting(w *work, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return Restart
	case !m.unchanged(w, i, f.Job):
		d.Reasons, _ = m.changes(w, i, f.Job)
		return Restart
	}
	if m.in.Observed.Going(f.Job) {
		return Continue
	}
	d.Reasons = []Reason{change.Of("class", "", f.Class)}
	if !m.retries(w.p, f) {
		d.Text = f.Failure()
		return HeldKind
	}
	return Retry
}

// diffStopped is a job that failed, was cancelled or is held.
func (m *maker) diffStopped(w *work, i int, f observed.Fact, d *Detail) Kind {
	switch {
	case f.Class == failure.Unverified && w.is(w.accept, i) && m.unchanged(w, i, f.Job):
		d.Reasons = []Reason{change.Of("outputs", "unverified", "taken as they are")}
		return Accept
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return Run
	case !m.unchanged(w, i, f.Job):
		d.Reasons, _ = m.changes(w, i, f.Job)
		return Run
	case !w.sameRequest(i, f.Job):
		d.Reasons = []Reason{requestChanges(w, i)}
		return Run
	case f.Class == failure.InputChanged && (f.Status == state.Failed || f.Status == state.Held && f.By == "muster"):
		return Run // it has not run; what it reads is looked at again
	case f.Class == failure.NotItsOwn:
		return Run // it never began, and what is in its way is looked at again
	case f.Status == state.Cancelled && f.Class == offer.Blocked:
		return Run // nobody cancelled it: its turn has not come yet
	case f.Status == state.Cancelled:
		switch d.Text = "cancelled by " + orElse(f.By, "someone outside"); {
		case strings.HasPrefix(f.Reason, "cancelled "):
			d.Text = f.Reason // it says by whom
		case f.Reason != "":
			d.Text += ": " + f.Reason
		}
		return HeldKind
	case f.Status == state.Failed && m.retries(w.p, f):
		d.Reasons = []Reason{change.Of("class", "", f.Class)}
		return Retry
	}
	d.Text = f.Failure()
	return HeldKind
}

func (m *maker) diffCompleted(w *work, i int, f observed.Fact, d *Detail) Kind {
	computed, stands := w.same[i]
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{change.Of("-rerun", "", "")}
		return m.unlessHeld(w, i, d, Rerun)
	case stands && w.is(w.accept, i) && f.Job.Accepted != computed.String():
		d.Reasons, _ = m.changes(w, i, f.Job)
		d.Computed = computed
		_, d.Seen = m.in.Observed.Altered(f.Job)
		return Accept
	case !m.unchanged(w, i, f.Job):
		d.Reasons, _ = m.changes(w, i, f.Job)
		return m.unlessHeld(w, i, d, Rerun)
	}
	if altered, now := m.in.Observed.Altered(f.Job); len(altered) > 0 {
		broken := m.in.Observed.Broken(f)
		d.Text = strings.Join(append(altered, broken...), "; ")
		if w.is(w.accept, i) && len(broken) == 0 && !slices.ContainsFunc(now, func(o state.Output) bool { return o.Digest == "" }) {
			d.Seen = now
			return Accept
		}
		return Altered
	}
	if reasons := m.bytesChanged(w, i, f.Job); len(reasons) > 0 {
		d.Reasons = reasons
		if w.p.Lifecycle.RerunOnInputBytes {
			return m.unlessHeld(w, i, d, Rerun)
		}
		return Bytes
	}
	if broken := m.in.Observed.Broken(f); len(broken) > 0 {
		d.Text, d.Lacks = strings.Join(broken, "; "), observed.Lacks(broken)
		return Missing
	}
	return None
}

// unlessHeld keeps what a hold covers from starting; what runs goes on.
func (m *maker) unlessHeld(w *work, i int, d *Detail, kind Kind) Kind {
	if h := m.heldBy(w, i); h != "" {
		d.Text = h
		return HeldKind
	}
	return kind
}

// observe joins a record with the refresh.
func (m *maker) observe(job *state.Job) observed.Fact { return m.in.Observed.Join(job, m.in.Now) }

// retries reports whether a failed fact is tried again by the phase's policy.
func (m *maker) retries(p *lang.Phase, f observed.Fact) bool {
	n := 0
	var earlier []string
	if at := f.Job.Last(); at != nil {
		n = max(at.N, 1)
		for i := range f.Job.Attempts {
			if a := &f.Job.Attempts[i]; a.N < at.N {
				earlier = append(earlier, a.Class)
			}
		}
	}
	for _, c := range m.in.Campaign.Failures {
		if class := orElse(c.Class, c.Name); class == f.Class && c.Action != "" {
			return c.Action == "retry" && n < p.Retry.Launches()
		}
	}
	return p.Retry.Spare(f.Class, earlier) || p.Retry.Covers(f.Class) && n < p.Retry.Launches()
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
