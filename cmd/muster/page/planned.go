package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state"
)

// Planned compares approved forecasts with the results. Each approval counts with its forecast
// for the jobs that ended under it: whole where the plan came to its end, else each phase by
// the share of its jobs that were billed.
type Planned struct {
	Approvals int            `json:"approvals"` // of which a forecast was kept
	Jobs      int            `json:"jobs"`      // planned
	Billed    int            `json:"billed"`    // of Jobs
	Rows      []plannedRow   `json:"rows"`
	Walltime  *plannedLength `json:"walltime,omitempty"`
	// Without is how many attempts are in no row: no forecast was kept of their approval.
	Without int `json:"without"`

	asked []string // as in Cost
}

// A plannedRow is one unit, of all phases together where Phase is "". Amounts are
// decimal text; "" is unknown.
type plannedRow struct {
	Unit   string `json:"unit"`
	Phase  string `json:"phase,omitempty"`
	Plan   string `json:"planned"`
	P90    string `json:"p90"`
	AtMost string `json:"at_most"`
	Actual string `json:"actual"`
	Ratio  string `json:"ratio,omitempty"` // Actual / Plan; "" where there is none
}

// A plannedLength is walltime, over the approvals that came to their end; over the
// last one, without a ratio, where none did.
type plannedLength struct {
	Plan   float64 `json:"planned_seconds"`
	P90    float64 `json:"p90_seconds"`
	Actual float64 `json:"actual_seconds"` // from each approval to the end of its last job
	Ratio  string  `json:"ratio,omitempty"`
}

// plannedOf is nil where no forecast was kept.
func plannedOf(c *lang.Campaign, st *state.State) *Planned {
	out, billed, sums := &Planned{Rows: []plannedRow{}, asked: asked(c)}, billedJobs(st), plannedSums{}
	renamed := renamedPhases(c, st)
	kept := map[string]bool{}
	for i := range st.Approvals {
		a := &st.Approvals[i]
		if a.Forecast == nil {
			continue
		}
		kept[a.Plan] = true
		out.Approvals++
		jobs, came := 0, 0
		for name, part := range a.Forecast.Phases {
			phase := cmp.Or(renamed[name], name)
			n := min(billed[planPhase{a.Plan, phase}], part.Jobs)
			share := decimal.NewFromInt(1)
			if a.Outcome == "done" {
				n = part.Jobs
			} else if part.Jobs > 0 {
				share = decimal.NewFromInt(int64(n)).Div(decimal.NewFromInt(int64(part.Jobs)))
			}
			jobs, came = jobs+part.Jobs, came+n
			sums.plan(phase, part.Amounts, share)
		}
		if a.Outcome == state.Superseded { // a later approval covers the rest
			jobs = came
		}
		out.Jobs, out.Billed = out.Jobs+jobs, out.Billed+came
	}
	if out.Approvals == 0 {
		return nil
	}
	for _, e := range st.Shared() {
		if kept[e.Plan] {
			sums.spend(e)
		} else if e.Attempt > 0 {
			out.Without++
		}
	}
	out.Rows = sums.rows()
	out.Walltime = plannedWalltime(st)
	return out
}

type planPhase struct{ plan, phase string }

// billedJobs counts the jobs of each plan and phase that are in the ledger: each
// once, for the plan of its last attempt, until its attempts count from 1 again.
func billedJobs(st *state.State) map[planPhase]int {
	type run struct {
		attempt int
		at      planPhase
	}
	out, last := map[planPhase]int{}, map[string]run{}
	for _, e := range st.Ledger {
		if e.Attempt == 0 { // files
			continue
		}
		now := run{e.Attempt, planPhase{e.Plan, e.Phase}}
		if was, ok := last[e.Address]; ok && was.attempt < e.Attempt {
			out[was.at]--
		}
		last[e.Address] = now
		out[now.at]++
	}
	return out
}

// renamedPhases are the phases that left the campaign and whose jobs moved, by
// their former names.
func renamedPhases(c *lang.Campaign, st *state.State) map[string]string {
	out := map[string]string{}
	for _, j := range st.All() {
		if j.Moved == "" {
			continue
		}
		if a, err := addr.Parse(j.Moved); err == nil && !slices.ContainsFunc(c.Phases, func(p *lang.Phase) bool { return p.Name == a.Phase }) {
			out[a.Phase] = j.Phase
		}
	}
	return out
}

// plannedSums add up by unit and phase; phase "" is all of them.
type plannedSums map[plannedKey]*plannedSum

type plannedKey struct{ unit, phase string }

type plannedSum struct {
	plan    [3]decimal.Decimal // expected, p90, at most
	unknown [3]bool
	actual  decimal.Decimal
}

func (s plannedSums) at(unit, phase string) *plannedSum {
	k := plannedKey{unit, phase}
	if s[k] == nil {
		s[k] = &plannedSum{}
	}
	return s[k]
}

func (s plannedSums) plan(phase string, amounts map[string]state.Estimate, share decimal.Decimal) {
	for unit, e := range amounts {
		for _, sum := range []*plannedSum{s.at(unit, ""), s.at(unit, phase)} {
			for i, text := range []string{e.Expected, e.P90, e.AtMost} {
				sum.unknown[i] = sum.unknown[i] || text == "" && share.IsPositive()
				sum.plan[i] = sum.plan[i].Add(amount.Of(text).Mul(share))
			}
		}
	}
}

func (s plannedSums) spend(e state.Entry) {
	for unit, text := range e.Spent.All() {
		for _, sum := range []*plannedSum{s.at(unit, ""), s.at(unit, e.Phase)} {
			sum.actual = sum.actual.Add(amount.Of(text))
		}
	}
}

// rows are those of all phases first, unit by unit.
func (s plannedSums) rows() []plannedRow {
	out := []plannedRow{}
	for _, k := range slices.SortedFunc(maps.Keys(s), func(a, b plannedKey) int {
		return cmp.Or(cmp.Compare(slices.Index(costUnits, a.unit), slices.Index(costUnits, b.unit)), cmp.Compare(a.phase, b.phase))
	}) {
		sum := s[k]
		text := func(i int) string {
			if sum.unknown[i] {
				return ""
			}
			return sum.plan[i].Round(9).String()
		}
		row := plannedRow{Unit: k.unit, Phase: k.phase, Plan: text(0), P90: text(1), AtMost: text(2), Actual: sum.actual.String()}
		if row.Plan != "" {
			row.Ratio = ratio(sum.actual, sum.plan[0])
		}
		out = append(out, row)
	}
	return out
}

func ratio(actual, plan decimal.Decimal) string {
	if !plan.IsPositive() {
		return ""
	}
	return actual.DivRound(plan, 4).Round(2).StringFixed(2)
}

// plannedWalltime is nil where none was kept, or nothing ended.
func plannedWalltime(st *state.State) *plannedLength {
	var done, last plannedLength
	for i := range st.Approvals {
		a := &st.Approvals[i]
		if a.Forecast == nil || a.Forecast.Median == 0 {
			continue
		}
		var before time.Time
		if i+1 < len(st.Approvals) {
			before = st.Approvals[i+1].Begun
		}
		end := lastEnd(st, a.Begun, before)
		if end.IsZero() {
			continue
		}
		last = plannedLength{Plan: a.Forecast.Median, P90: a.Forecast.P90, Actual: end.Sub(a.Begun).Seconds()}
		if a.Outcome == "done" {
			done.Plan, done.P90, done.Actual = done.Plan+last.Plan, done.P90+last.P90, done.Actual+last.Actual
		}
	}
	switch {
	case done.Plan > 0:
		done.Ratio = ratio(decimal.NewFromFloat(done.Actual), decimal.NewFromFloat(done.Plan))
		return &done
	case last.Plan > 0:
		return &last
	}
	return nil
}

// lastEnd is when the last attempt ended after one moment and before another (zero:
// any); zero where none did.
func lastEnd(st *state.State, after, before time.Time) (end time.Time) {
	for _, j := range st.All() {
		for k := range j.Attempts {
			if at := j.Attempts[k].Ended; at.After(after) && at.After(end) && (before.IsZero() || at.Before(before)) {
				end = at
			}
		}
	}
	return end
}

// mostPlannedPhases is how many phases have rows of their own on a page.
const mostPlannedPhases = 12

// cells are the rows as people read them, titles first; indent marks those of a phase.
func (p *Planned) cells(indent string) [][]string {
	rows := [][]string{{"", "planned", "p90", "at most", "actual", "ratio"}}
	phases := map[string]bool{}
	for _, r := range p.Rows {
		phases[r.Phase] = true
	}
	delete(phases, "")
	for _, r := range p.Rows {
		if !p.lists(r.Unit) || r.Phase != "" && (len(phases) < 2 || len(phases) > mostPlannedPhases) {
			continue
		}
		name := amount.Unit(r.Unit)
		if r.Phase != "" {
			name = indent + "phase." + r.Phase
		}
		text := func(v string) string {
			if v == "" {
				return "unknown"
			}
			return cmp.Or(strings.TrimSuffix(view.Amount(r.Unit, v), " "+amount.Unit(r.Unit)), "–")
		}
		rows = append(rows, []string{name, text(r.Plan), text(r.P90), text(r.AtMost), text(r.Actual), ratioText(r.Ratio)})
	}
	if w := p.Walltime; w != nil {
		long := func(s float64) string {
			return units.FormatDuration(time.Duration(s * float64(time.Second)).Round(time.Second))
		}
		name := "walltime"
		if w.Ratio == "" {
			name = "walltime so far"
		}
		rows = append(rows, []string{name, long(w.Plan), long(w.P90), "–", long(w.Actual), ratioText(w.Ratio)})
	}
	return rows
}

// lists reports whether something of a unit was planned or came.
func (p *Planned) lists(unit string) bool {
	if unit == "node_hours" && !slices.Contains(p.asked, unit) {
		return false
	}
	for _, r := range p.Rows {
		if r.Unit == unit && r.Phase == "" {
			return r.Plan == "" || amount.Of(r.Plan).IsPositive() || amount.Of(r.Actual).IsPositive()
		}
	}
	return false
}

func ratioText(ratio string) string {
	if ratio == "" {
		return "–"
	}
	return ratio + "×"
}

// head says which part of the plan the rows cover.
func (p *Planned) head() string {
	return fmt.Sprintf("planned and actual, for %d of %s", p.Billed, units.Count(p.Jobs, "planned job"))
}

// left lists the jobs that are in no row; "" for none.
func (p *Planned) left() string {
	if p.Without == 0 {
		return ""
	}
	return fmt.Sprintf("%s not compared: no forecast was kept with the approval.", units.Count(p.Without, "attempt"))
}

// text is the part of `muster cost`.
func (p *Planned) text(row int) string {
	if p == nil || p.Billed == 0 {
		return ""
	}
	t := term.Table{Indent: "  ", Width: row, Align: slices.Repeat([]term.Align{term.Right}, 6)}
	t.Align[0] = term.Left
	for _, row := range p.cells("  ") {
		t.Row(row...)
	}
	out := fmt.Sprintf("\n  %s\n%s", p.head(), t.String())
	if left := p.left(); left != "" {
		out += "  " + left + "\n"
	}
	return out
}

// markdown is the part of `muster report`.
func (p *Planned) markdown(w writing) string {
	if p == nil || p.Billed == 0 {
		return ""
	}
	out := fmt.Sprintf("\n## Planned and actual\n\nFor %d of %s.\n\n%s", p.Billed, units.Count(p.Jobs, "planned job"), w.table(p.cells("")))
	if left := p.left(); left != "" {
		out += "\n" + strings.ToUpper(left[:1]) + left[1:] + "\n"
	}
	return out
}
