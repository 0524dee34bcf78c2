package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// A Status is the JSON of `muster status -json`.
type Status struct {
	FormatVersion string        `json:"format_version"`
	Campaign      string        `json:"campaign"`
	Lineage       string        `json:"lineage,omitempty"`
	Active        int           `json:"active"`
	Phases        []PhaseStatus `json:"phases"`
	Jobs          []JobStatus   `json:"jobs"`
	Holds         []state.Hold  `json:"holds,omitempty"`
	Pauses        []state.Pause `json:"pauses,omitempty"`
	// Unreachable says of backends that cannot be asked why not; -refresh.
	Unreachable map[string]string `json:"unreachable,omitempty"`
	// Findings are differences from the files that muster left, such as an edited copy of the
	// source; with -refresh.
	Findings []string `json:"findings,omitempty"`
	// Empty are outputs of 0 bytes, where others of the same name are not.
	Empty []EmptyOutput `json:"empty,omitempty"`
	// Replaced counts files that muster moved aside on this machine.
	Replaced []Replaced `json:"replaced,omitempty"`
	// Rentals are the machines that are billed now, by id.
	Rentals []state.Rental `json:"rentals,omitempty"`
	// SharedBudgets are those that other campaigns share, with the spending of all.
	SharedBudgets []budgetSpent `json:"shared_budgets,omitempty"`

	selected string
	resumes  map[string]int // jobs in queues by the command that they wait for; they are not active
	backends []*lang.Backend
}

type PhaseStatus struct {
	Phase  string         `json:"phase"`
	Jobs   int            `json:"jobs"` // of the selected ones
	Counts map[string]int `json:"counts"`
	Note   string         `json:"note,omitempty"`
}

type JobStatus struct {
	Address string    `json:"address"`
	Name    string    `json:"name,omitempty"`
	Status  string    `json:"status"`
	Class   string    `json:"class,omitempty"`
	Exit    *int      `json:"exit,omitempty"`
	Signal  string    `json:"signal,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Backend string    `json:"backend,omitempty"`
	Pool    string    `json:"pool,omitempty"`
	Node    string    `json:"node,omitempty"`
	GPUs    []string  `json:"gpus,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Retry   time.Time `json:"retry,omitzero"` // when a waiting job is tried again
	Start   time.Time `json:"start,omitzero"` // when a queued job will start, as its backend expects
	Tail    []string  `json:"tail,omitempty"`
	// Mark says that a job runs longer than expected ("late", "overdue"), or
	// completed in too little time ("suspect"), by the time of completed jobs of
	// its phase: Expected, in seconds.
	Mark     history.Mark `json:"mark,omitempty"`
	Expected float64      `json:"expected_seconds,omitempty"`
	resume   string       // the command that it waits for; "" = none
	took     time.Duration
	alike    int // further jobs that this line of the table includes
}

// blocked is the status of a job that has no record and waits for something that needs a
// person.
const blocked = "blocked"

// old is the status of a completed job that the begun plan runs again, until
// it has.
const old = "old"

// unknown is the status of a job whose backend cannot be asked.
const unknown = "unknown"

// statusMaker gathers a status phase by phase.
type statusMaker struct {
	st     *state.State
	seen   Seen
	chosen selection.Jobs
	stuck  map[string]string // by address, the obstacle
	now    time.Time
	old    func(*state.Job) bool
	report Status
	fits   fit.Budget
}

// StatusOf is the status of the chosen jobs, with the backends' reports where
// they were asked.
func StatusOf(c *lang.Campaign, st *state.State, jobs selection.Jobs, seen Seen, now time.Time) Status {
	m := statusMaker{now: now, st: st, seen: seen, chosen: jobs, stuck: explain.Stuck(c, st, seen.as), old: st.Old()}
	m.report = Status{FormatVersion: FormatVersion, Campaign: c.Name, Lineage: st.Lineage, Holds: st.Holds, Jobs: []JobStatus{}, Phases: []PhaseStatus{},
		Unreachable: seen.Unreachable, Empty: emptyOutputs(c, jobs, st)}
	for _, f := range seen.Findings {
		m.report.Findings = append(m.report.Findings, f.Address+": "+f.Detail)
	}
	for _, name := range slices.Sorted(maps.Keys(st.Pauses)) {
		m.report.Pauses = append(m.report.Pauses, st.Pauses[name])
	}
	for _, id := range slices.Sorted(maps.Keys(st.Rentals)) {
		if r := st.Rentals[id]; r.Rented() {
			m.report.Rentals = append(m.report.Rentals, r)
		}
	}
	m.report.backends, m.report.SharedBudgets = c.Backends, sharedBudgets(c)
	if !jobs.All() {
		m.report.selected = jobs.Text()
	}
	for _, p := range c.Phases {
		m.phase(p)
	}
	return m.report
}

func (m *statusMaker) phase(p *lang.Phase) {
	ps := PhaseStatus{Phase: p.Name, Counts: map[string]int{}, Note: m.note(p)}
	pace := history.PaceOf(p, m.records(p), m.st.Definitions, &m.fits)
	for i := range p.Len() {
		address := p.Address(i)
		if !m.chosen.Has(address) {
			continue
		}
		ps.Jobs++
		j := m.st.Job(address)
		s := m.job(address, j)
		s.judge(pace, i, j, m.now)
		ps.Counts[s.Status]++
		if s.Mark != "" {
			ps.Counts[string(s.Mark)]++
		}
		if s.Status != "pending" && s.Status != old {
			m.list(s)
		}
	}
	if ps.Jobs == 0 && !m.chosen.All() {
		return
	}
	smokes := m.smokes(p)
	switch missing := m.missing(p); {
	case ps.Note != "":
	case smokes > 0:
		ps.Note = fmt.Sprintf("%d in the smoke", smokes)
	case missing > 0:
		ps.Note = fmt.Sprintf("outputs of %s are missing", units.Count(missing, "job"))
	}
	ps.Note = term.Join("; ", ps.Note, m.unread(p), m.without(p))
	m.report.Phases = append(m.report.Phases, ps)
}

// unread says which metrics of completed jobs have no value, and why the first.
func (m *statusMaker) unread(p *lang.Phase) string {
	var parts []string
	for _, metric := range p.Metrics {
		n, why := 0, ""
		for i := range p.Len() {
			if j := m.st.Job(p.Address(i)); j != nil && j.Status == state.Completed && m.chosen.Has(j.Address) && j.Unread[metric.Name] != "" {
				if n++; n == 1 {
					why = j.Unread[metric.Name]
				}
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("metric %s has no value in %s: %s", metric.Name, units.Count(n, "job"), why))
		}
	}
	return strings.Join(parts, "; ")
}

// without says which jobs went on without some of their producers: the first, and how
// many more.
func (m *statusMaker) without(p *lang.Phase) string {
	text, more := "", 0
	for i := range p.Len() {
		j := m.st.Job(p.Address(i))
		if j == nil || j.Status != state.Completed || !m.chosen.Has(j.Address) {
			continue
		}
		for _, l := range planner.Lacks(p, j, m.st) {
			if text != "" {
				more++
				continue
			}
			text = l.Text()
		}
	}
	if more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// records are those of a phase's cells, nil where one has none.
func (m *statusMaker) records(p *lang.Phase) []*state.Job {
	out := make([]*state.Job, p.Len())
	for i := range out {
		out[i] = m.st.Job(p.Address(i))
	}
	return out
}

// judge marks a job whose time differs from the measured time of others.
func (s *JobStatus) judge(pace *history.Pace, cell int, j *state.Job, now time.Time) {
	if j == nil {
		return
	}
	var expected time.Duration
	switch state.Status(s.Status) {
	case state.Running:
		s.Mark, expected = pace.Running(cell, s.Since, j, now)
		s.took = now.Sub(s.Since)
	case state.Completed:
		s.Mark, expected, s.took = pace.Completed(cell)
	}
	if s.Mark != "" {
		s.Expected = expected.Seconds()
	}
}

// markText is "late: 2.3 × the expected 5m", "" for a job without a mark.
func (s JobStatus) markText() string {
	expected := time.Duration(s.Expected * float64(time.Second))
	switch s.Mark {
	case "":
		return ""
	case history.Suspect:
		return fmt.Sprintf("suspect: it took %s, and %s was expected", units.FormatDuration(s.took.Round(time.Second)), units.FormatDuration(expected.Round(time.Second)))
	}
	return fmt.Sprintf("%s: %.1f × the expected %s", s.Mark, s.took.Seconds()/s.Expected, units.FormatDuration(expected.Round(time.Second)))
}

func (m *statusMaker) list(s JobStatus) {
	m.report.Jobs = append(m.report.Jobs, s)
	switch {
	case s.resume != "":
		if m.report.resumes == nil {
			m.report.resumes = map[string]int{}
		}
		m.report.resumes[s.resume]++
	case active(s.Status):
		m.report.Active++
	}
}

// mostBreakers is how many open breakers of a trial's settings are shown; the rest are counted.
const mostBreakers = 3

// note is the note about a phase as a whole.
func (m *statusMaker) note(p *lang.Phase) string {
	var open []string
	for _, of := range slices.Sorted(maps.Keys(m.st.Breakers)) {
		if b := m.st.Breakers[of]; b.Phase == p.Name && b.Of == "" {
			open = append(open, "breaker open: "+b.Reason)
		} else if b.Phase == p.Name {
			open = append(open, "breaker of "+b.Of+" open: "+b.Reason)
		}
	}
	if n := len(open); n > mostBreakers {
		open = append(open[:mostBreakers], fmt.Sprintf("%d more", n-mostBreakers))
	}
	if len(open) > 0 {
		return strings.Join(open, "; ")
	}
	if v := explain.SmokeFailed(p, m.st); v != nil {
		return "smoke failed: " + v.Message
	}
	return ""
}

// smokes lists the phase's smokes, and counts those under way.
func (m *statusMaker) smokes(p *lang.Phase) (underWay int) {
	if p.Smoke == nil {
		return 0
	}
	for _, i := range p.Smoke.Cells {
		address := p.Address(i)
		j := m.st.Job(state.SmokeAddress(address))
		if j == nil || j.Status == state.Forgotten || !m.chosen.Has(address) {
			continue
		}
		s := m.job(state.SmokeAddress(address), j)
		m.list(s)
		if active(s.Status) {
			underWay++
		}
	}
	return underWay
}

// missing counts the completed jobs of which an output was found to be gone.
func (m *statusMaker) missing(p *lang.Phase) int {
	n := 0
	for i := range p.Len() {
		j := m.st.Job(p.Address(i))
		if j != nil && j.Status == state.Completed && m.chosen.Has(j.Address) && slices.ContainsFunc(j.Outputs, func(o state.Output) bool { return o.Missing }) {
			n++
		}
	}
	return n
}

// active reports whether a backend has or may have a job.
func active(status string) bool { return state.Status(status).Active() || status == unknown }

func (m *statusMaker) job(address string, j *state.Job) JobStatus {
	root := m.stuck[address]
	if root != "" && explain.Unstarted(j) {
		return JobStatus{Address: address, Status: blocked, Reason: "waits for " + root}
	}
	if explain.Unstarted(j) {
		return JobStatus{Address: address, Status: "pending"}
	}
	s := JobStatus{Address: address, Name: j.Name, Status: string(j.Status), Class: j.Class, Reason: j.Reason, Since: j.Updated, Retry: j.Retry}
	if m.old != nil && m.old(j) {
		s.Status = old
	}
	last := j.Last()
	if last == nil {
		return s
	}
	s.Backend, s.Pool, s.Node, s.GPUs, s.Attempt = last.Backend, last.Pool, last.Node, last.GPUs, last.N
	if j.Status == state.Failed || j.Status == state.Held || j.Status == state.Waiting {
		s.Exit, s.Signal, s.Tail = last.Exit, last.Signal, last.Tail
	}
	switch j.Status {
	case state.Failed, state.Cancelled:
		if !last.Ended.IsZero() { // muster may have been off
			s.Since = last.Ended
		}
	case state.Running:
		if !last.Started.IsZero() {
			s.Since = last.Started
		}
	case state.Queued:
		s.Start = last.Expected
	}
	if m.seen.correct(&s, j, m.st); j.Short != "" && (s.Status == string(state.Queued) || s.Status == string(state.Waiting)) {
		s.Reason = "held: " + j.Short
	}
	switch {
	case root == "":
	case s.Status == blocked: // its scheduler gave it up, since a job before it failed
		s.Reason = "waits for " + root
	case explain.InQueue(state.Status(s.Status)):
		s.Reason, s.resume = term.Join("; ", s.Reason, "waits for "+root), root
	}
	return s
}
