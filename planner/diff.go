package planner

import (
	"fmt"
	"strings"

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
		forced := w.rerun != nil || len(w.holds) > 0 || open
		for i := range w.pp.Kind {
			job := w.record(i)
			if job == nil && !forced {
				w.pp.Kind[i] = Run
				continue
			}
			kind, d := m.diff(w, i, job)
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
	_, d := m.diff(w, i, job)
	d.Destroy = kind.Destroys()
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
	if f.status != f.was && !f.intent {
		d.Reasons = append([]Reason{{"status", string(f.was), string(f.status)}}, d.Reasons...)
		if kind == None {
			kind = Record // it ended while nobody looked: verify and record it
		}
	}
	if d.From != "" {
		switch kind {
		case None, Continue, HeldKind, Missing, Bytes, Record:
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
		return Run, Detail{Reasons: []Reason{{"-rerun", "", w.p.Address(i)}}}
	}
	return Run, Detail{}
}

// diffRecord is the table from "intent without outcome" on.
func (m *maker) diffRecord(w *work, i int, f fact, d *Detail) Kind {
	switch {
	case f.found && f.duplicate == "":
		d.Reasons = []Reason{{"intent", "submitting", "found on its backend"}}
		return Adopt
	case f.absent:
		d.Reasons = []Reason{{"intent", "submitting", "surely not on its backend"}}
		return m.again(w, i, f, d)
	case f.unknown != "":
		d.Text = f.unknown
		return UnknownAt
	case f.duplicate != "":
		d.Text = "a second handle under the same token: " + f.duplicate + "; the one that claimed it is kept"
		return Duplicate
	}
	if f.status != state.Running && f.status != state.Verifying && f.status != state.Completed {
		if h := m.heldBy(w, i); h != "" {
			d.Text = h
			if f.status == state.Failed || f.status == state.Held {
				d.Text += "\nIts last attempt: " + failure(f)
			}
			return HeldKind
		}
	}
	switch f.status {
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
func (m *maker) again(w *work, i int, f fact, d *Detail) Kind {
	if h := m.heldBy(w, i); h != "" {
		d.Text = h
		return HeldKind
	}
	d.Same = m.unchanged(w, i, f.job)
	return Run
}

func (m *maker) diffActive(w *work, i int, f fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{{"-rerun", "", w.p.Address(i)}}
		return m.unlessHeld(w, i, d, Restart)
	case !m.unchanged(w, i, f.job):
		d.Reasons, _ = m.changes(w, i, f.job)
		return m.unlessHeld(w, i, d, Restart)
	case w.sameRequest(i, f.job):
		return Continue
	case f.status == state.Queued:
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
func (m *maker) diffWaiting(w *work, i int, f fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{{"-rerun", "", w.p.Address(i)}}
		return Restart
	case !m.unchanged(w, i, f.job):
		d.Reasons, _ = m.changes(w, i, f.job)
		return Restart
	}
	if o, ok := m.observation(f.job); ok && o.Presence == offer.Found && !ended(o.Status) {
		return Continue
	}
	d.Reasons = []Reason{{"class", "", f.class}}
	if !m.retries(w.p, f) {
		d.Text = failure(f)
		return HeldKind
	}
	return Retry
}

// diffStopped is a job that failed, was cancelled or is held.
func (m *maker) diffStopped(w *work, i int, f fact, d *Detail) Kind {
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{{"-rerun", "", w.p.Address(i)}}
		return Run
	case !m.unchanged(w, i, f.job):
		d.Reasons, _ = m.changes(w, i, f.job)
		return Run
	case !w.sameRequest(i, f.job):
		d.Reasons = []Reason{requestChanges(w, i)}
		return Run
	case f.status == state.Cancelled:
		d.Text = "cancelled by " + orElse(f.by, "someone outside")
		if f.reason != "" {
			d.Text += ": " + f.reason
		}
		return HeldKind
	case f.status == state.Failed && m.retries(w.p, f):
		d.Reasons = []Reason{{"class", "", f.class}}
		return Retry
	}
	d.Text = failure(f)
	return HeldKind
}

// failure is the class, why and by whom, and the last lines of the log.
func failure(f fact) string {
	var parts []string
	if f.class != "" {
		parts = append(parts, f.class)
	}
	switch at := last(f.job); {
	case f.reason != "":
		parts = append(parts, f.reason)
	case at != nil && at.Signal != "":
		parts = append(parts, "signal "+at.Signal)
	case at != nil && at.Exit != nil:
		parts = append(parts, fmt.Sprintf("exit %d", *at.Exit))
	}
	if f.by != "" {
		parts = append(parts, "by "+f.by)
	}
	head := strings.Join(parts, ", ")
	if head == "" {
		head = string(f.status)
	}
	if len(f.tail) > 0 {
		head += "\n" + strings.Join(f.tail, "\n")
	}
	return head
}

func (m *maker) diffCompleted(w *work, i int, f fact, d *Detail) Kind {
	computed, stands := w.same[i]
	switch {
	case w.is(w.rerun, i):
		d.Reasons = []Reason{{"-rerun", "", w.p.Address(i)}}
		return m.unlessHeld(w, i, d, Rerun)
	case stands && w.is(w.accept, i) && f.job.Accepted != computed.String():
		d.Reasons, _ = m.changes(w, i, f.job)
		d.Computed = computed
		return Accept
	case !m.unchanged(w, i, f.job):
		d.Reasons, _ = m.changes(w, i, f.job)
		return m.unlessHeld(w, i, d, Rerun)
	}
	if reasons := m.bytesChanged(w, i, f.job); len(reasons) > 0 {
		d.Reasons = reasons
		if w.p.Lifecycle.RerunOnInputBytes {
			return m.unlessHeld(w, i, d, Rerun)
		}
		return Bytes
	}
	if broken := m.broken(f); len(broken) > 0 {
		d.Text = strings.Join(broken, "; ")
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

// broken names the recorded outputs that are not there or not whole, unless a
// verified copy lies elsewhere. Nil in the common case.
func (m *maker) broken(f fact) []string {
	seen := f.outputs
	if seen == nil {
		seen = m.in.Observed.Outputs[f.job.Address]
	}
	var out []string
	for k := range f.job.Outputs {
		o := &f.job.Outputs[k]
		if len(o.Copies) > 0 {
			continue
		}
		if o.Missing && seen == nil && !(f.job.Status == state.Completed && m.asked(o.Backend)) {
			out = append(out, fmt.Sprintf("output %s: %s is missing", o.Name, o.Path))
		}
	}
	for _, o := range seen {
		if o.OK || copied(f.job, o.Name) {
			continue
		}
		out = append(out, fmt.Sprintf("output %s: %s: %s", o.Name, o.Path, orElse(o.Verdict, "missing")))
	}
	return out
}

// asked reports whether a refresh looked at the files on a backend: what it
// does not tell of is as recorded, or is back.
func (m *maker) asked(backend string) bool {
	_, away := m.in.Observed.Unreachable[backend]
	return m.in.Observed.Refreshed && !away
}

func copied(job *state.Job, name string) bool {
	for _, o := range job.Outputs {
		if o.Name == name {
			return len(o.Copies) > 0
		}
	}
	return false
}
