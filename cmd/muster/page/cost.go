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
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/planner/warnings"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Cost is the JSON of `muster cost -json`; amounts are decimal text.
type Cost struct {
	FormatVersion string                   `json:"format_version"`
	Campaign      string                   `json:"campaign"`
	Total         state.Amounts            `json:"total"`
	ByPhase       map[string]state.Amounts `json:"by_phase"`
	ByBackend     map[string]state.Amounts `json:"by_backend"`
	ByDay         map[string]state.Amounts `json:"by_day"`
	TimeZone      string                   `json:"time_zone"` // in which days and times are
	Unknown       int                      `json:"unknown"`   // entries billed at an amount nobody knows
	Unpriced      map[string]int           `json:"unpriced"`  // by unit, entries of places that state no price in it
	Budgets       []budgetSpent            `json:"budgets"`
	Rentals       []state.Rental           `json:"rentals"`
	InFlight      int                      `json:"in_flight"`
	Billed        []billing                `json:"billed"` // the jobs that run now
	Approvals     []state.Approval         `json:"approvals"`
	Planned       *Planned                 `json:"planned,omitempty"` // nil where no approval kept its forecast

	Estimated int `json:"estimated"` // entries by rates that are a guess

	now     time.Time
	asked   []string        // units that a budget or the policy limits
	more    map[string]bool // rows, and units in which they took more than is known
	guessed map[string]bool // rows, and units of which a part is by rates that are a guess
}

// A budgetSpent is a budget and what of the ledger counts in it.
type budgetSpent struct {
	Name   string        `json:"name"`
	Limits state.Amounts `json:"limits"`
	Spent  state.Amounts `json:"spent"`
	// Of a budget that several campaigns share: the file that declares it, and what
	// the others spent and may still spend.
	File   string        `json:"file,omitempty"`
	Others state.Amounts `json:"others,omitempty"`
}

// CostOf is the cost of a campaign, in days of the time zone of now.
func CostOf(c *lang.Campaign, st *state.State, now time.Time) Cost {
	r := Cost{FormatVersion: FormatVersion, Campaign: c.Name, Total: state.Amounts{},
		Unpriced: map[string]int{}, more: map[string]bool{}, guessed: map[string]bool{}, ByPhase: map[string]state.Amounts{}, ByBackend: map[string]state.Amounts{}, ByDay: map[string]state.Amounts{}, Budgets: []budgetSpent{}, Rentals: []state.Rental{},
		Approvals: append([]state.Approval{}, st.Approvals...), now: now, TimeZone: now.Format("MST (UTC-07:00)")}
	for _, b := range c.Budgets {
		r.Budgets = append(r.Budgets, budgetOf(c, st, b))
	}
	phase := history.Spender(c.Moved, nil)
	for _, e := range st.Ledger {
		for i, b := range c.Budgets {
			if b.Counts(phase(&e), e.Backend) {
				r.Budgets[i].Spent.Add(e.Spent.Map())
			}
		}
	}
	for _, e := range st.Shared() {
		e.Phase = phase(&e)
		if e.Unknown {
			r.Unknown++
		}
		day := r.in(e.At).Format("2006-01-02")
		rows := []string{"by phase" + e.Phase, "by backend" + e.Backend, byDay + day, total}
		for _, unit := range e.Unpriced {
			r.Unpriced[unit]++
			for _, row := range rows {
				r.more[row+unit] = true
			}
		}
		if e.Estimated {
			r.Estimated++
			for unit := range e.Spent.All() {
				for _, row := range rows {
					r.guessed[row+unit] = place.Guessed(offer.Price{Estimated: true}, unit)
				}
			}
		}
		r.Total.Add(e.Spent.Map())
		under(r.ByPhase, e.Phase).Add(e.Spent.Map())
		under(r.ByBackend, e.Backend).Add(e.Spent.Map())
		under(r.ByDay, day).Add(e.Spent.Map())
	}
	for _, rental := range warnings.ByHand(st.Rentals, c.Backends) {
		r.Rentals = append(r.Rentals, rental)
	}
	slices.SortFunc(r.Rentals, func(a, b state.Rental) int { return strings.Compare(a.ID, b.ID) })
	r.InFlight = len(st.InFlight())
	r.Billed = billingNow(c, st, now)
	r.Planned = plannedOf(c, st)
	r.asked = asked(c)
	return r
}

// budgetOf is a budget before this campaign's spending is counted.
func budgetOf(c *lang.Campaign, st *state.State, b lang.Budget) budgetSpent {
	out := budgetSpent{Name: b.Name, Limits: b.Limits, Spent: state.Amounts{}}
	if b.Shared != nil {
		out.File, out.Others = b.Shared.File, state.Amounts{}
		for _, other := range b.Others(lang.Owner{Lineage: st.Lineage, Dir: c.Dir}) {
			out.Others.Add(other)
		}
	}
	return out
}

// sharedBudgets are the budgets that a campaign shares with others, with the amounts
// that all of them spent and may still spend.
func sharedBudgets(c *lang.Campaign) (out []budgetSpent) {
	for _, b := range c.Budgets {
		if b.Shared == nil {
			continue
		}
		one := budgetSpent{Name: b.Name, Limits: b.Limits, Spent: state.Amounts{}, File: b.Shared.File}
		for _, spent := range b.Others(lang.Owner{}) {
			one.Spent.Add(spent)
		}
		out = append(out, one)
	}
	return out
}

// text says how much of a shared budget is taken.
func (b budgetSpent) text() string {
	var out strings.Builder
	for _, unit := range slices.Sorted(maps.Keys(b.Limits)) {
		fmt.Fprintf(&out, "  budget %q of all campaigns: %s of %s spent or held (%s)\n", b.Name, orZero(unit, b.Spent[unit]), view.Amount(unit, b.Limits[unit]), b.File)
	}
	return out.String()
}

// others says what other campaigns took of a budget that they share, and where it is declared.
func (b budgetSpent) others(unit string) string {
	if b.File == "" {
		return ""
	}
	return fmt.Sprintf("; %s spent or still held by other campaigns (%s)", orZero(unit, b.Others[unit]), b.File)
}

// in is a time in the time zone of the page.
func (r Cost) in(at time.Time) time.Time { return at.In(r.now.Location()) }

func under(m map[string]state.Amounts, key string) state.Amounts {
	if m[key] == nil {
		m[key] = state.Amounts{}
	}
	return m[key]
}

// Text is the page of `muster cost`.
func (r Cost) Text(width, row int) string {
	var b strings.Builder
	listed := r.unitsOf()
	if len(r.ByPhase) == 0 {
		fmt.Fprintf(&b, "Nothing was spent yet.\n")
	} else {
		r.table(&b, "by phase", r.ByPhase, listed, row)
		r.table(&b, "by backend", r.ByBackend, listed, row)
		if len(r.ByDay) > 1 {
			r.table(&b, byDay, r.ByDay, listed, row)
		}
	}
	if len(r.Budgets) > 0 && len(r.ByPhase) > 0 {
		fmt.Fprintf(&b, "\n")
	}
	for _, budget := range r.Budgets {
		for _, unit := range slices.Sorted(maps.Keys(budget.Limits)) {
			fmt.Fprintf(&b, "  budget %q: %s of %s%s%s\n", budget.Name, orZero(unit, budget.Spent[unit]), view.Amount(unit, budget.Limits[unit]), over(unit, budget), budget.others(unit))
		}
	}
	if _, beside := r.ByPhase[""]; beside && len(r.Rentals) > 0 {
		fmt.Fprintf(&b, "  other: what machines cost beside their jobs (boot, idle, disk)\n")
	}
	if r.Unknown > 0 {
		fmt.Fprintf(&b, "  %s billed at an unknown amount; each counts at its ceiling.\n", units.Count(r.Unknown, "attempt"))
	}
	if r.Estimated > 0 {
		b.WriteString("  * estimated: by rates that are the provider's guess, and not stated by who bills\n")
	}
	for _, unit := range slices.Sorted(maps.Keys(r.Unpriced)) {
		fmt.Fprintf(&b, "  No figure has the use of %s in %s: their place states no price in them.\n", units.Count(r.Unpriced[unit], "attempt"), amount.Unit(unit))
	}
	b.WriteString(r.Planned.text(row))
	r.writeApprovals(&b, width)
	r.writeBilled(&b, width, row)
	return b.String()
}

// over says by how much a budget was passed, "" where it was not.
func over(unit string, b budgetSpent) string {
	by := amount.Of(b.Spent[unit]).Sub(amount.Of(b.Limits[unit]))
	if !by.IsPositive() {
		return ""
	}
	return ", over by " + amount.Words(unit, by.String())
}

// shownApprovals is how many approvals are listed, the last ones.
const shownApprovals = 5

// writeApprovals says who approved work that costs more than this machine's
// hours.
func (r Cost) writeApprovals(b *strings.Builder, width int) {
	list := slices.DeleteFunc(slices.Clone(r.Approvals), func(p state.Approval) bool { return view.Amounts(p.Ceiling, r.asked...) == "" || onlyHours(p.Ceiling) })
	if n := len(list) - shownApprovals; n > 0 {
		list = list[n:]
	}
	for i, p := range list {
		if i == 0 {
			fmt.Fprintf(b, "\n")
		}
		outcome := cmp.Or(p.Outcome, "begun, not finished")
		b.WriteString(wrapped("  ", "    ", fmt.Sprintf("Approved by %s on %s: at most %s; %s", p.Who, units.FormatTime(r.in(p.Begun)), view.Amounts(p.Ceiling, r.asked...), outcome), width))
	}
}

func onlyHours(ceiling state.Amounts) bool {
	for unit := range ceiling {
		if unit != "cpu_hours" && unit != "node_hours" {
			return false
		}
	}
	return true
}

// writeBilled prints everything that is billed now: machines, and running jobs.
func (r Cost) writeBilled(b *strings.Builder, width, row int) {
	rented := slices.DeleteFunc(slices.Clone(r.Rentals), func(rental state.Rental) bool { return !rental.Rented() })
	if len(rented)+len(r.Billed) == 0 {
		text := fmt.Sprintf("Billed right now: nothing rented, %s in flight", units.Count(r.InFlight, "job"))
		if r.InFlight > 0 {
			text += ", none of them running when last looked; `muster status -refresh` looks again"
		}
		b.WriteString("\n" + wrapped("  ", "  ", text+".", width))
		return
	}
	fmt.Fprintf(b, "\n  Billed right now\n")
	t := term.Table{Indent: "    ", Width: row}
	when := func(at time.Time) string { return "since " + units.FormatTime(r.in(at)) }
	for _, rental := range rented {
		price, day := "at an unknown price", ""
		if rate, err := decimal.NewFromString(rental.PerHour); err == nil {
			price = amount.Hourly(rental.PerHour)
			day = amount.Words("usd", rate.Mul(decimal.NewFromInt(24)).String()) + " a day"
		}
		since := ""
		if !rental.Since.IsZero() {
			since = when(rental.Since)
		}
		if usd, known := rental.Cost(r.now); known {
			day += ", about " + cmp.Or(view.Amount(place.USD, usd.String()), "nothing") + " so far"
		}
		t.Row(rental.ID+" on "+rental.Backend, rental.Status.Words(), price, since, day)
	}
	for _, run := range r.Billed {
		rate, soFar := rateText(run.PerHour, r.asked), "about "+cmp.Or(view.Amounts(run.SoFar, r.asked...), "nothing")+" so far"
		if usd := run.AtMost[place.USD]; usd != "" {
			soFar += ", at most " + view.Amount(place.USD, usd)
		}
		switch {
		case run.Unsaid == run.Jobs:
			rate, soFar = "rate unknown: no walltime", ""
		case run.Unsaid > 0:
			rate = fmt.Sprintf("%s, without the %d that have no walltime", rate, run.Unsaid)
		}
		t.Row(strings.TrimSuffix(run.Backend+", "+run.Pool, ", "), units.Count(run.Jobs, "job"), rate, when(run.Since), soFar)
	}
	b.WriteString(t.String())
}

// asked are the units that a budget or the policy limits.
func asked(c *lang.Campaign) []string {
	out := slices.Collect(maps.Keys(c.Policy.ApproveAbove))
	for _, b := range c.Budgets {
		out = slices.AppendSeq(out, maps.Keys(b.Limits))
	}
	return out
}

func orZero(unit, text string) string { return cmp.Or(view.Amount(unit, text), "nothing") }

func (r Cost) unitsOf() []string {
	var out []string
	for _, u := range costUnits {
		if view.Amount(u, r.Total[u]) != "" && (u != "node_hours" || slices.Contains(r.asked, u)) || r.Unpriced[u] > 0 {
			out = append(out, u)
		}
	}
	return out
}

// costUnits are the units in the order in which they are listed.
var costUnits = []string{"usd", "service_units", "gpu_hours", "cpu_hours", "node_hours"}

// total is the row of all of them, and byDay the title of a table.
const (
	total = "total"
	byDay = "by day"
)

func (r Cost) table(b *strings.Builder, title string, rows map[string]state.Amounts, listed []string, columns int) {
	t := term.Table{Indent: "  ", Width: columns, Align: slices.Repeat([]term.Align{term.Right}, len(listed)+1)}
	t.Align[0] = term.Left
	row := func(name, key string, amounts state.Amounts) {
		cells := []string{name}
		for _, u := range listed {
			text := view.Amount(u, amounts[u])
			if r.guessed[key+u] && text != "" {
				text += " *"
			}
			switch more := r.more[key+u]; {
			case more && text == "":
				text = "unknown"
			case more:
				text = "≥" + text
			}
			cells = append(cells, cmp.Or(text, "–"))
		}
		t.Row(cells...)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row(cmp.Or(name, "other"), title+name, rows[name])
	}
	row(total, total, r.Total)
	if title == byDay {
		title += ", " + r.TimeZone
	}
	fmt.Fprintf(b, "\n  %s\n%s", title, t.String())
}
