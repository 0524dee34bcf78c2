package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

func statusCommand() *command {
	return &command{
		name: "status", args: "[ADDR…]", short: "phases and jobs at a glance", maxArgs: -1,
		long: `Shows how far each phase is, what runs where, and what needs you. It reads the state and takes no lock; -refresh asks the
backends first, without recording what they say.`,
		examples: []example{{"muster status", "the campaign at a glance"}, {"muster status -refresh seed=42", "ask the backends, show the jobs of one seed"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			o := statusOptions{}
			fs.BoolVar(&o.refresh, "refresh", false, "ask the backends")
			fs.BoolVar(&o.watch, "watch", false, "show it again every two seconds until the campaign rests")
			fs.BoolVar(&o.json, "json", false, "print as JSON")
			fs.BoolVar(&o.verbose, "verbose", false, "show every job")
			return func(ctx context.Context, a *app, args []string) error { return a.status(ctx, v, o, args) }
		},
		complete: jobAddresses,
	}
}

type statusOptions struct{ refresh, watch, json, verbose bool }

// watchEvery is how often -watch looks again: it only reads files.
const watchEvery = 2 * time.Second

func (a *app) status(ctx context.Context, v varFlags, o statusOptions, args []string) error {
	for {
		view, err := a.statusView(ctx, v, o, args)
		if err != nil {
			return err
		}
		if o.json {
			err = json.NewEncoder(a.stdout).Encode(view)
		} else {
			if o.watch && a.out.TTY {
				io.WriteString(a.stdout, "\x1b[H\x1b[2J")
			}
			err = a.printStatus(view, o.verbose || len(args) > 0)
		}
		if err != nil || !o.watch || view.Active == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// A statusReport is the JSON of `muster status -json`.
type statusReport struct {
	FormatVersion string        `json:"format_version"`
	Campaign      string        `json:"campaign"`
	Lineage       string        `json:"lineage,omitempty"`
	Active        int           `json:"active"`
	Phases        []phaseStatus `json:"phases"`
	Jobs          []jobStatus   `json:"jobs"`
	Holds         []state.Hold  `json:"holds,omitempty"`
	selected      string
}

type phaseStatus struct {
	Phase  string         `json:"phase"`
	Jobs   int            `json:"jobs"`
	Counts map[string]int `json:"counts"`
	Note   string         `json:"note,omitempty"`
}

type jobStatus struct {
	Address string    `json:"address"`
	Name    string    `json:"name,omitempty"`
	Status  string    `json:"status"`
	Class   string    `json:"class,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Backend string    `json:"backend,omitempty"`
	Pool    string    `json:"pool,omitempty"`
	Node    string    `json:"node,omitempty"`
	GPUs    []string  `json:"gpus,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Tail    []string  `json:"tail,omitempty"`
}

func (a *app) statusView(ctx context.Context, v varFlags, o statusOptions, args []string) (statusReport, error) {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return statusReport{}, err
	}
	var seen seenJobs
	if o.refresh {
		seen = a.look(ctx, c, st)
	}
	r := statusReport{FormatVersion: "1.0", Campaign: c.Name, Lineage: st.Lineage, Holds: st.Holds, Jobs: []jobStatus{}, Phases: []phaseStatus{}}
	chosen, err := a.choose(c, st, args)
	if err != nil {
		return r, err
	}
	if len(args) > 0 {
		r.selected = chosen.text()
	}
	for _, p := range c.Phases {
		r.addPhase(p, st, seen, chosen)
	}
	return r, nil
}

func (r *statusReport) addPhase(p *lang.Phase, st *state.State, seen seenJobs, chosen selection) {
	ps := phaseStatus{Phase: p.Name, Jobs: p.Len(), Counts: map[string]int{}}
	if b, ok := st.Breakers[p.Name]; ok {
		ps.Note = "breaker open: " + b.Reason
	}
	for i := range p.Len() {
		address := p.Address(i)
		if !chosen.has(address) {
			continue
		}
		j := st.Job(address)
		s := jobView(address, j, seen)
		ps.Counts[s.Status]++
		if j != nil {
			r.Jobs = append(r.Jobs, s)
		}
		if active(s.Status) {
			r.Active++
		}
	}
	if smokes := r.addSmokes(p, st, seen, chosen); smokes > 0 && ps.Note == "" {
		ps.Note = fmt.Sprintf("%d in the smoke", smokes)
	}
	if ps.Note == "" {
		ps.Note = failedSmoke(p, st)
	}
	r.Phases = append(r.Phases, ps)
}

// failedSmoke says that the phase's last smoke failed and nobody overrode it,
// "" otherwise.
func failedSmoke(p *lang.Phase, st *state.State) string {
	if p.Smoke == nil {
		return ""
	}
	cells := map[string]bool{}
	for _, i := range p.Smoke.Cells {
		cells[p.Address(i)] = true
	}
	var last state.Validation
	for _, v := range st.Validations {
		if cells[v.Address] && v.At.After(last.At) {
			last = v
		}
	}
	for _, o := range st.Overrides {
		if o.Address == "phase."+p.Name && o.At.After(last.At) {
			return ""
		}
	}
	if last.At.IsZero() || last.Passed {
		return ""
	}
	return "smoke failed: " + last.Message
}

func (r *statusReport) addSmokes(p *lang.Phase, st *state.State, seen seenJobs, chosen selection) int {
	if p.Smoke == nil {
		return 0
	}
	n := 0
	for _, i := range p.Smoke.Cells {
		address := p.Address(i)
		j := st.Job(state.SmokeAddress(address))
		if j == nil || !chosen.has(address) {
			continue
		}
		s := jobView(state.SmokeAddress(address), j, seen)
		r.Jobs = append(r.Jobs, s)
		if active(s.Status) {
			n++
			r.Active++
		}
	}
	return n
}

func active(status string) bool { return state.Status(status).Active() }

func jobView(address string, j *state.Job, seen seenJobs) jobStatus {
	if j == nil {
		return jobStatus{Address: address, Status: "pending"}
	}
	s := jobStatus{Address: address, Name: j.Name, Status: string(j.Status), Class: j.Class, Reason: j.Reason, Since: j.Updated}
	last := j.Last()
	if last == nil {
		return s
	}
	s.Backend, s.Pool, s.Node, s.GPUs, s.Attempt = last.Backend, last.Pool, last.Node, last.GPUs, last.N
	if s.Reason == "" && j.Status == state.Queued {
		s.Reason = last.Why
	}
	if j.Status == state.Failed || j.Status == state.Held {
		s.Tail = last.Tail
	}
	if !last.Started.IsZero() && j.Status == state.Running {
		s.Since = last.Started
	}
	seen.correct(&s, j)
	return s
}

// order is how statuses are listed.
var order = []string{"completed", "running", "verifying", "queued", "submitting", "waiting", "pending", "failed", "held", "cancelled", "unknown"}

func (a *app) printStatus(r statusReport, every bool) error {
	a.printf("\ncampaign %q\n\n", r.Campaign)
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	for _, p := range r.Phases {
		var parts []string
		for _, s := range order {
			if n := p.Counts[s]; n > 0 && s != "completed" {
				parts = append(parts, fmt.Sprintf("%d %s", n, s))
			}
		}
		if p.Note != "" {
			parts = append(parts, term.CleanLine(p.Note))
		}
		t.Row("phase."+p.Phase, fmt.Sprintf("%d of %d", p.Counts["completed"], p.Jobs), "done", strings.Join(parts, ", "))
	}
	a.printf("%s", t.String())
	if r.selected != "" {
		a.printf("\n%s\n", r.selected)
	}
	a.printf("%s", jobTable(r, every, a.now()))
	for _, h := range r.Holds {
		what := "everything"
		if h.Address != "" {
			what = h.Address
		}
		a.printf("\n! hold on %s by %s%s; clear it: muster resume\n", term.CleanLine(what), h.Who, because(h.Reason))
	}
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + term.CleanLine(reason)
}

// shownJobs is how many jobs of one status are listed unless every one is
// asked for.
const shownJobs = 10

func jobTable(r statusReport, every bool, now time.Time) string {
	var b strings.Builder
	t := term.Table{Indent: "  "}
	shown := map[string]int{}
	jobs := slices.Clone(r.Jobs)
	slices.SortStableFunc(jobs, func(x, y jobStatus) int { return slices.Index(order, x.Status) - slices.Index(order, y.Status) })
	for _, j := range jobs {
		if j.Status == "completed" && !every {
			continue
		}
		if shown[j.Status]++; shown[j.Status] > shownJobs && !every {
			continue
		}
		t.Row(j.Status, term.CleanLine(j.Address), place(j), units.FormatDuration(max(0, now.Sub(j.Since)).Round(time.Second))+" ago", reasonOf(j))
	}
	if text := t.String(); text != "" {
		b.WriteString("\n")
		for _, line := range strings.SplitAfter(text, "\n") {
			if line != "" {
				b.WriteString(term.Fit(strings.TrimSuffix(line, "\n"), term.MaxWidth) + "\n")
			}
		}
	}
	for _, s := range order {
		if n := shown[s]; n > shownJobs && !every {
			fmt.Fprintf(&b, "  %s: %d more; -verbose shows every job\n", s, n-shownJobs)
		}
	}
	return b.String()
}

func place(j jobStatus) string {
	s := j.Backend
	if j.Pool != "" {
		s += ", " + j.Pool
	}
	if len(j.GPUs) > 0 {
		s += ", GPU " + strings.Join(j.GPUs, " ")
	}
	return s
}

func reasonOf(j jobStatus) string {
	parts := []string{}
	for _, s := range []string{j.Class, j.Reason} {
		if s != "" {
			parts = append(parts, term.CleanLine(s))
		}
	}
	if len(j.Tail) > 0 {
		parts = append(parts, term.CleanLine(j.Tail[len(j.Tail)-1]))
	}
	return strings.Join(parts, ": ")
}
