package planfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// mostNamed is how many jobs a refusal names.
const mostNamed = 20

// Check says what moved since the plan was saved: the configuration, the
// state, prices. A plan that was begun is resumed; one that is finished is
// refused. Progress that only removes work is fine. Quotes are those of now;
// one of the plan's that has expired must have a successor among them.
func (f *File) Check(c *lang.Campaign, st *state.State, quotes []place.Quoted, now time.Time) diag.List {
	l := f.Current(c, st)
	if a, ok := f.approval(st); f.elsewhere(st) || ok && a.Ended() {
		return l
	}
	f.checkPrices(&l, c, quotes)
	f.checkExpiry(&l, quotes, now)
	return l
}

// Current says why the plan can no longer be applied, as far as the campaign and the
// state tell: prices are looked at when it is applied.
func (f *File) Current(c *lang.Campaign, st *state.State) diag.List {
	var l diag.List
	if a, ok := f.approval(st); ok && a.Ended() {
		l.Errorf("The plan was applied already", "%s finished it on %s (%s). Make a new plan with `muster plan -out`.", a.Who, day(a.Finished), a.Outcome)
		return l
	}
	f.checkCampaign(&l, c)
	if f.elsewhere(st) {
		l.Errorf("The plan is for another state", "It was made from lineage %s, and the state here is %s. Apply it where it was made, or plan again.", f.Head.Lineage, st.Lineage)
		return l
	}
	_, begun := f.approval(st)
	f.checkJobs(&l, st, begun)
	return l
}

// elsewhere reports whether the plan was made from another state.
func (f *File) elsewhere(st *state.State) bool {
	return f.Head.Lineage != "" && st.Lineage != "" && f.Head.Lineage != st.Lineage
}

// approval is that of the plan in the state; false where it was not begun.
func (f *File) approval(st *state.State) (state.Approval, bool) {
	for _, a := range st.Approvals {
		if a.Plan == f.Head.ID {
			return a, true
		}
	}
	return state.Approval{}, false
}

func day(t time.Time) string { return units.FormatTime(t.UTC()) }

// checkCampaign names the files that changed.
func (f *File) checkCampaign(l *diag.List, c *lang.Campaign) {
	now := fileDigests(c)
	if c.Digest == f.Head.Digest && maps.Equal(now, f.Head.Files) {
		return
	}
	var moved []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := f.Head.Files[name]; !ok {
			moved = append(moved, name+" is new")
		} else if old != now[name] {
			moved = append(moved, name+" was edited")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Head.Files)) {
		if _, ok := now[name]; !ok {
			moved = append(moved, name+" is gone")
		}
	}
	what := strings.Join(moved, ", ")
	if what == "" {
		what = "the values of variables differ"
		if len(f.Head.Sensitive) > 0 {
			what = "sensitive variables (" + strings.Join(f.Head.Sensitive, ", ") + ") have other values than the plan was made with"
		}
	}
	l.Errorf("The campaign changed since the plan was made", "%s. The plan of %s no longer says what would be done; plan again, or undo the change.", what, day(f.Head.Now))
}

// checkJobs compares each action's precondition with the record now.
func (f *File) checkJobs(l *diag.List, st *state.State, begun bool) {
	var moved []string
	n := 0
	refuse := func(address, why string) {
		if n++; n <= mostNamed {
			moved = append(moved, address+" "+why)
		}
	}
	for p, head := range f.Head.Phases {
		c := &f.phases[p]
		if len(st.Jobs) == 0 && !c.anyRecord() {
			continue
		}
		for i, k := range c.kind {
			if acts(k) {
				address := address(head.Name, c.key(i))
				if why := f.moved(st.Jobs[address], c.before(i), c.result[i].String(), begun); why != "" {
					refuse(address, why)
				}
			}
		}
	}
	for _, r := range f.Head.Loose {
		if !acts(r.Kind) || r.Release {
			continue
		}
		if why := f.moved(st.Jobs[r.Address], r.Before, "", begun); why != "" {
			refuse(r.Address, why)
		}
	}
	if n == 0 {
		return
	}
	if n > mostNamed {
		moved = append(moved, fmt.Sprintf("and %d more", n-mostNamed))
	}
	l.Errorf("The state changed since the plan was made", "The state was at serial %d and is at %d:\n  %s\n\nPlan again to see the remaining work.", f.Head.Serial, st.Serial, strings.Join(moved, "\n  "))
}

func (c *columns) anyRecord() bool {
	return slices.ContainsFunc(c.status, func(s uint8) bool { return s != 0 })
}

// acts reports whether an action does something to its record.
func acts(k planner.Kind) bool {
	switch k {
	case planner.None, planner.Continue, planner.Skipped, planner.HeldKind, planner.Blocked, planner.UnknownAt, planner.Missing, planner.Bytes, planner.Altered:
		return false
	}
	return true
}

// moved says how a record differs from a precondition, "" when the action
// still holds or its work is done or under way already.
func (f *File) moved(job *state.Job, b Before, result string, begun bool) string {
	now := before(job)
	switch {
	case now == b:
		return ""
	case begun && job != nil && len(job.Attempts) > 0 && job.Attempts[len(job.Attempts)-1].Plan == f.Head.ID:
		return ""
	case job == nil && result == "" || now.Status == state.Forgotten && result == "":
		return "" // a cancel or forget that is done already
	case job != nil && result == "" && b.Status.Active() && !job.Status.Active():
		return "" // the job to cancel has ended
	case job != nil && now.Result == result && (now.Status == state.Completed || now.Status.Active()):
		return "" // done or under way: that only removes work
	case job == nil:
		return "has no record any more"
	case b.Status == "":
		return "was attempted: " + string(now.Status)
	case now.Status != b.Status:
		return fmt.Sprintf("was %s and is %s", b.Status, now.Status)
	case now.Attempt != b.Attempt:
		return fmt.Sprintf("was at attempt %d and is at %d", b.Attempt, now.Attempt)
	}
	return "was run with other content"
}

// address is a job's address from its phase and key.
func address(phase, key string) string {
	if key == "" {
		return "phase." + phase
	}
	return "phase." + phase + `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"]`
}

// checkPrices refuses placements whose quote rose by more than the tolerance.
func (f *File) checkPrices(l *diag.List, c *lang.Campaign, quotes []place.Quoted) {
	tolerance := decimal.NewFromFloat(1 + c.Policy.PriceTolerance)
	said := map[string]bool{}
	for _, p := range f.Head.Phases {
		for _, d := range p.Placements {
			now, ok := quoteFor(quotes, d)
			if !ok || d.Backend == "" || said[p.Name+d.Backend+d.Pool] {
				continue
			}
			if text := rose(d, now.Price, tolerance); text != "" {
				said[p.Name+d.Backend+d.Pool] = true
				l.Append(diag.Diagnostic{Summary: "A price rose since the plan was made", Address: "phase." + p.Name,
					Detail: fmt.Sprintf("On %s: %s. That is more than price_tolerance (%s %%) allows; plan again.", strings.TrimSuffix(d.Backend+" "+d.Pool, " "), text, decimal.NewFromFloat(100*c.Policy.PriceTolerance).Round(1))})
			}
		}
	}
}

// checkExpiry refuses placements at a price that expired and that
// nobody has offered again.
func (f *File) checkExpiry(l *diag.List, quotes []place.Quoted, now time.Time) {
	said := map[string]bool{}
	for _, p := range f.Head.Phases {
		for _, d := range p.Placements {
			was, ok := quoteFor(f.Head.Quotes, d)
			if !ok || d.Backend == "" || was.Expires.IsZero() || was.Expires.After(now) || said[d.Backend+"\x00"+d.Pool] {
				continue
			}
			if _, again := quoteFor(quotes, d); again {
				continue // compared with the new one above
			}
			said[d.Backend+"\x00"+d.Pool] = true
			l.Append(diag.Diagnostic{Summary: "A quote has expired since the plan was made", Address: "phase." + p.Name,
				Detail: fmt.Sprintf("The quote for %s expired at %s, and there is no new one. Plan again.", strings.TrimSuffix(d.Backend+" "+d.Pool, " "), day(was.Expires))})
		}
	}
}

func quoteFor(quotes []place.Quoted, d place.Decision) (offer.Quote, bool) {
	for _, q := range quotes {
		q.Shape.Options = d.Shape.Options // which change no price
		if q.Quote.Backend == d.Backend && q.Quote.Pool == d.Pool && q.Shape.Key() == d.Shape.Key() {
			return q.Quote, true
		}
	}
	return offer.Quote{}, false
}

// rose compares the cost of an hour then and now.
func rose(d place.Decision, now offer.Price, tolerance decimal.Decimal) string {
	then, before := place.Cost(d.Shape, d.Price, time.Hour)
	today, known := place.Cost(d.Shape, now, time.Hour)
	if text := lost(before, known); text != "" {
		return text
	}
	for _, unit := range slices.Sorted(maps.Keys(today)) {
		if before.Of(unit) && today[unit].GreaterThan(then[unit].Mul(tolerance)) {
			return fmt.Sprintf("%s an hour were %s and are %s", unit, amount.Digits(then[unit]), amount.Digits(today[unit]))
		}
	}
	return ""
}

// CheckProviders names provider versions that changed since the plan was made.
func (f *File) CheckProviders(now map[string]string) diag.List {
	var l diag.List
	for _, name := range slices.Sorted(maps.Keys(f.Head.Providers)) {
		if v, ok := now[name]; ok && v != f.Head.Providers[name] {
			l.Errorf("A provider changed since the plan was made", "%s was %s and is %s. Plan again with the new one.", name, f.Head.Providers[name], v)
		}
	}
	return l
}
