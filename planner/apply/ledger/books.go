package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// An Item names the phase, backend and plan of an expense. They decide which
// accounts count it.
type Item struct{ Phase, Backend, Plan string }

// An account is one budget, or the ceiling that was approved.
type account struct {
	name     string
	limit    Amounts
	has      [len(units)]bool
	deadline time.Time
	warnAt   float64
	phases   map[string]bool
	backends map[string]bool // with phases: both nil = everything
	plan     string          // of the approval whose ceiling this is
	used     Amounts         // the ledger
	inFlight Amounts         // in flight, at its ceiling
	warned   bool
}

// Books are all accounts of a run. Short says that something ready was not
// affordable since it was cleared, Why which account refused it, and Approval that
// this was an approved ceiling and no budget.
type Books struct {
	accounts []*account
	Short    bool
	Why      string
	Approval bool
	Spent    Amounts // by this run
	shares   shares
}

// Budget opens an account for a campaign's budget.
func (bs *Books) Budget(b *lang.Budget) {
	a := &account{name: fmt.Sprintf("budget %q", b.Name), deadline: b.Deadline, warnAt: b.WarnAt}
	a.set(b.Limits)
	for _, to := range b.AppliesTo {
		if name, ok := strings.CutPrefix(to, "phase."); ok {
			set(&a.phases, name)
		} else {
			set(&a.backends, strings.TrimPrefix(to, "backend."))
		}
	}
	bs.accounts = append(bs.accounts, a)
}

// Ceiling opens an account for the approval of a plan; an open one stays unchanged.
func (bs *Books) Ceiling(plan string, limits state.Amounts) {
	if slices.ContainsFunc(bs.accounts, func(a *account) bool { return a.plan == plan }) {
		return
	}
	a := &account{name: "the approved ceiling", plan: plan}
	a.set(limits)
	bs.accounts = append(bs.accounts, a)
}

func set(m *map[string]bool, key string) {
	if *m == nil {
		*m = map[string]bool{}
	}
	(*m)[key] = true
}

func (a *account) set(limits map[string]string) {
	a.limit = Parse(limits)
	for u, name := range units {
		_, a.has[u] = limits[name]
	}
}

func (a *account) counts(it Item) bool {
	if a.plan != "" {
		return a.plan == it.Plan
	}
	return a.phases == nil && a.backends == nil || a.phases[it.Phase] || a.backends[it.Backend]
}

// enter counts the spending of a launch that ended with a class; most is the
// ceiling at which it was admitted.
func (bs *Books) enter(it Item, spent, most Amounts, class string) {
	for _, a := range bs.accounts {
		switch {
		case !a.counts(it):
		case a.plan != "":
			a.used.Add(lost(class, capped(spent, most), most), 1)
		default:
			a.used.Add(spent, 1)
		}
	}
}

// capped counts measured hours at most at their ceiling: the seconds between
// a polite end and a hard one are no reason to leave the last job.
func capped(spent, ceiling Amounts) Amounts {
	for u := gpuHours; u < len(units); u++ {
		if ceiling[u] > 0 {
			spent[u] = min(spent[u], ceiling[u])
		}
	}
	return spent
}

// lost is the part of a launch that counts against an approval when the machine
// failed and not the job. Where nothing is charged, its core-hours and node-hours
// do not count, so that the job can be launched once more. Budgets count them.
func lost(class string, spent, most Amounts) Amounts {
	if failure.Infrastructure(class) && most.free() {
		spent[cpuHours], spent[nodeHours] = 0, 0
	}
	return spent
}

// free reports whether nothing but core-hours and node-hours is counted.
func (a Amounts) free() bool {
	a[cpuHours], a[nodeHours] = 0, 0
	return a == Amounts{}
}

// reserve counts a launch in flight at its ceiling; negative times take it away.
func (bs *Books) reserve(it Item, what Amounts, times int64) {
	if what == (Amounts{}) {
		return
	}
	for _, a := range bs.accounts {
		if a.counts(it) {
			a.inFlight.Add(what, times)
		}
	}
}

// Afford reports whether a job fits into every account that counts it: ledger
// + in flight at its ceiling + its own ceiling ≤ the limit. An unbounded cost
// fits into no limit.
func (bs *Books) Afford(it Item, address string, due Dues, now time.Time) bool {
	rest := due.Rest()
	for _, a := range bs.accounts {
		if !a.counts(it) {
			continue
		}
		if why := a.refuses(address, rest, due.Open, now); why != "" {
			bs.Short, bs.Why, bs.Approval = true, why, a.plan != ""
			return false
		}
	}
	return true
}

// Enter counts spending beside any launch, if every account covers it; else it names the
// account that does not.
func (bs *Books) Enter(en state.Entry) (why string) {
	it, spent := Item{Phase: en.Phase, Backend: en.Backend, Plan: en.Plan}, Parse(en.Spent.Map())
	for _, a := range bs.accounts {
		if a.counts(it) {
			why = cmp.Or(why, a.refuses("the files of "+en.Address, spent, [len(units)]bool{}, en.At))
		}
	}
	if why == "" {
		why = bs.claimEntry(&en, spent)
	}
	if why == "" {
		bs.enter(it, spent, spent, "")
		bs.Spent.Add(spent, 1)
	}
	return why
}

// Restate replaces spending entered beside any launch.
func (bs *Books) Restate(en state.Entry, was, now state.Amounts) {
	more := Parse(now)
	more.Add(Parse(was), -1)
	bs.enter(Item{Phase: en.Phase, Backend: en.Backend, Plan: en.Plan}, more, more, "")
	bs.shares.enter(&en, more)
	bs.Spent.Add(more, 1)
}

func (a *account) refuses(address string, rest Amounts, open [len(units)]bool, now time.Time) string {
	if a.late(now) {
		return a.lateText()
	}
	for u := range units {
		if a.has[u] && open[u] {
			return fmt.Sprintf("%s limits %s, and the need of %s is unknown: its place states no price or bills a wait of unknown length, or the job has no walltime", a.name, amount.Unit(units[u]), address)
		}
		if after := plus(plus(a.used[u], a.inFlight[u]), rest[u]); a.has[u] && (after > a.limit[u] || after == beyond) {
			why := fmt.Sprintf("%s does not cover %s: %s spent, %s in flight and %s for it pass %s", a.name, address,
				words(u, a.used[u]), words(u, a.inFlight[u]), words(u, rest[u]), words(u, a.limit[u]))
			if a.plan == "" && after < beyond {
				why += ". " + amount.Set(units[u], exact(after)) + " to start it"
			}
			return why
		}
	}
	return ""
}

// Warnings are, once each, the budgets whose share ledger plus in flight
// passed.
func (bs *Books) Warnings() (out []string) {
	for _, a := range bs.accounts {
		if a.warned || a.warnAt <= 0 || a.plan != "" {
			continue
		}
		for u := range units {
			if a.has[u] && a.limit[u] > 0 && float64(plus(a.used[u], a.inFlight[u])) >= a.warnAt*float64(a.limit[u]) {
				a.warned = true
				out = append(out, fmt.Sprintf("%s: %s of %s spent or in flight", a.name, words(u, plus(a.used[u], a.inFlight[u])), words(u, a.limit[u])))
				break
			}
		}
	}
	return out
}
