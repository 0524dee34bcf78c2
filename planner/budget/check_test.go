package budget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// TestWhatIsLeftOut: smokes are paid first, then the jobs in plan order, and
// what a budget does not count takes nothing of it.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	usd := func(n int64) map[string]decimal.Decimal {
		return map[string]decimal.Decimal{"usd": decimal.NewFromInt(n)}
	}
	lines := []forecast.CostLine{{Unit: "usd", P90: forecast.Figure{Text: "4"}, AtMost: forecast.Figure{Text: "20"}}}
	for name, c := range map[string]struct {
		limit, applies, spent string
		left                  int
		ceiling               string
	}{
		"over everything":      {"10", "", "0", 6, "10"}, // 3 for the smoke, 1 of 2 jobs at 4 each, 3 of 8 at 1
		"some is spent":        {"10", "", "2.5", 9, "7.5"},
		"over one phase":       {"10", "phase.b", "0", 1, "20"}, // the smoke counts, and of a nothing
		"over one backend":     {"10", "backend.x.y", "0", 1, "20"},
		"all of it is covered": {"20", "", "0", 0, "20"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := lang.Budget{Name: "b", Limits: map[string]string{"usd": c.limit}}
			if c.applies != "" {
				b.AppliesTo = []string{c.applies}
			}
			f := forecast.Forecast{Lines: lines, ByScope: map[string][]forecast.CostLine{"b": lines}}
			at := Case{Forecast: &f, Ledger: []state.Entry{{Phase: "b", Backend: "x.y", Spent: state.TextsOf(state.Amounts{"usd": c.spent})}}, Works: func() []Work {
				return []Work{{Phase: "a", Smokes: usd(3), Jobs: []Jobs{{Backend: "local.local", N: 2, Each: usd(4)}}}, {Phase: "b", Jobs: []Jobs{{Backend: "x.y", N: 8, Each: usd(1)}}}}
			}}
			check := at.Check(b)
			if check.Left != c.left || len(check.Broken) != 0 || check.Spent["usd"] != c.spent {
				t.Errorf("%d are left, not %d: %+v", check.Left, c.left, check)
			}
			if got := at.Ceiling([]lang.Budget{b}, []Check{check})["usd"]; got != c.ceiling {
				t.Errorf("at most $%s is granted, not %s", got, c.ceiling)
			}
		})
	}
}

// TestWhatABudgetIsShortOf: a budget of what the jobs cost holds, though a third has
// no end; a smaller one says which limit would do.
func TestWhatABudgetIsShortOf(t *testing.T) {
	t.Parallel()
	lines := []forecast.CostLine{{Unit: "usd", P90: forecast.Figure{Text: "0.3"}, AtMost: forecast.Figure{Text: "1"}}}
	f := forecast.Forecast{Lines: lines, ByScope: map[string][]forecast.CostLine{"b": lines}}
	at := Case{Forecast: &f, Works: func() []Work {
		return []Work{{Phase: "a", Jobs: []Jobs{{Backend: "x.y", N: 3, Each: map[string]decimal.Decimal{"usd": decimal.RequireFromString("0.333333333333333")}}}}}
	}}
	for limit, want := range map[string]string{"1": "[]", "0.9": "[in the worst case the budget runs out with one job left. Set usd = 1]", "0.999": "[in the worst case the budget runs out with one job left. Set usd = 1]",
		"0.33": "[in the worst case the budget runs out with 3 jobs left. Set usd = 1]"} {
		if got := fmt.Sprint(at.Check(lang.Budget{Name: "b", Limits: map[string]string{"usd": limit}}).Warn); got != want {
			t.Errorf("%s: %s", limit, got)
		}
	}
}

// TestPlanThatStartsNothingBreaksNoBudget: what was spent cannot be taken back,
// and what runs is watched, or cancelled, all the same.
func TestPlanThatStartsNothingBreaksNoBudget(t *testing.T) {
	t.Parallel()
	lines := []forecast.CostLine{{Unit: "usd", P90: forecast.Figure{Text: "4"}, AtMost: forecast.Figure{Text: "4"}}}
	f := forecast.Forecast{Lines: lines, ByScope: map[string][]forecast.CostLine{"b": lines}}
	end := time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC)
	b := lang.Budget{Name: "b", Limits: map[string]string{"usd": "10"}, Deadline: end.Add(-time.Hour)}
	for rests, broken := range map[bool]int{true: 0, false: 2} {
		c := Case{Rests: rests, Forecast: &f, End: end, Ledger: []state.Entry{{Phase: "a", Spent: state.TextsOf(state.Amounts{"usd": "7"})}}}
		check := c.Check(b)
		if len(check.Broken) != broken || len(check.Broken)+len(check.Warn) != 2 {
			t.Errorf("nothing starts: %t: %+v", rests, check)
		}
	}
}

// TestUnknownCostsHoldNoBudget, and the way to know them is named.
func TestUnknownCostsHoldNoBudget(t *testing.T) {
	t.Parallel()
	lines := []forecast.CostLine{{Unit: "usd", P90: forecast.Figure{Mark: forecast.Unknown}, AtMost: forecast.Figure{Mark: forecast.Unknown}}}
	f := forecast.Forecast{Lines: lines, ByScope: map[string][]forecast.CostLine{"b": lines}}
	c := Case{Forecast: &f, HowToKnow: func(unit string) string { return "write a price of " + unit }}
	b := lang.Budget{Name: "b", Limits: map[string]string{"usd": "8"}}
	if got := c.Check(b).Broken; len(got) != 1 || !strings.HasSuffix(got[0], "write a price of usd") {
		t.Errorf("%q", got)
	}
	asks := c.Asks(lang.Policy{ApproveAbove: map[string]string{"usd": "1"}}, state.Amounts{})
	if len(asks) != 1 || !strings.Contains(asks[0], "policy approve_above is $1") {
		t.Errorf("%q", asks)
	}
	c.Rests = true
	if asks := c.Asks(lang.Policy{ApproveAbove: map[string]string{"usd": "1"}}, state.Amounts{"usd": "8"}); len(asks) != 0 {
		t.Errorf("of a plan that starts nothing: %q", asks)
	}
}
