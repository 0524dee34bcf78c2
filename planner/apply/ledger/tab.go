package ledger

import (
	"time"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Tab keeps the cost of one token's launches: those that are over, entered
// once each, and those still to come, set aside at their ceiling.
type Tab struct {
	Item
	Dues
	Address string
	Token   string
	Pool    string
	Tariff  *Tariff // nil: how its launches are charged is not known
	First   int     // launch that the token began with
	Paid    int     // the last launch that is entered

	// guessed are launches that were entered at their ceiling, for nothing was
	// heard of their end.
	guessed map[int]Amounts
	parked  bool          // it cannot start: nothing is set aside for it
	covered time.Duration // of the present launch's wait, beyond its quote
}

// An EndedLaunch is a launch that is over, as far as it is known.
type EndedLaunch struct {
	N     int
	Shape offer.Shape   // as large as it was
	Limit time.Duration // the longest that it may have run; 0 = not stated
	// Waited is how long it was queued before it ran, with the boot of its machine;
	// less than 0 where that is not known.
	Waited time.Duration
	Idle   bool // it never ran: all that is billed of it is its wait
	Seen   *offer.Observation
}

// Open sets aside the rest of a tab; Close takes it away.
func (bs *Books) Open(t *Tab) { bs.count(t, 1) }

// count counts the rest of a tab as in flight; negative times take it away.
func (bs *Books) count(t *Tab, times int64) {
	if !t.parked {
		bs.reserve(t.Item, t.Rest(), times)
		bs.shares.of(t.Backend, short(t.Token)).Held.Add(t.Rest(), times)
	}
}

// Covers reports whether the reservation of a tab still fits into every account that counts
// it: a limit may have been lowered since.
func (bs *Books) Covers(t *Tab, now time.Time) bool {
	bs.count(t, -1)
	defer bs.count(t, 1)
	return bs.Afford(t.Item, t.Address, t.Dues, now)
}

// Fits reports whether a tab would fit in place of one that is open, nil for none.
// One that would not is not reported as refused.
func (bs *Books) Fits(t, open *Tab, now time.Time) bool {
	short, why, approval := bs.Short, bs.Why, bs.Approval
	defer func() { bs.Short, bs.Why, bs.Approval = short, why, approval }()
	if open != nil {
		bs.count(open, -1)
		defer bs.count(open, 1)
	}
	return bs.Afford(t.Item, t.Address, t.Dues, now)
}

// Refuses says why no account may pay the next launch of a tab, which its queue
// makes by itself, "" where all may: a limit may have been lowered, or a bill was
// above its quote.
func (bs *Books) Refuses(t *Tab, now time.Time) string {
	if t.Left == 0 {
		return ""
	}
	next := *t
	next.Left = 1
	short, told, approval := bs.Short, bs.Why, bs.Approval
	bs.Why = ""
	bs.count(t, -1)
	bs.Afford(t.Item, t.Address, next.Dues, now)
	bs.count(t, 1)
	why := bs.Why
	bs.Short, bs.Why, bs.Approval = short, told, approval
	return why
}

// Close ends a tab.
func (bs *Books) Close(t *Tab) {
	bs.count(t, -1)
	t.Left = 0
}

// Bill enters the cost of a launch, once. Earlier launches whose end is unknown
// are entered at their ceiling; its own entry is the last.
func (bs *Books) Bill(t *Tab, l EndedLaunch, at time.Time) (entries []state.Entry) {
	for n := max(t.Paid+1, t.First); n < l.N; n++ {
		most := bs.landOne(t)
		if t.guessed == nil {
			t.guessed = map[int]Amounts{}
		}
		t.guessed[n] = most
		entries = append(entries, bs.book(t, n, most, most, false, nil, at))
	}
	t.Paid = l.N
	if unbegun(l.Seen) {
		return append(entries, bs.book(t, l.N, Amounts{}, Amounts{}, true, l.Seen, at))
	}
	most := bs.landOne(t)
	spent, known := t.cost(l, most)
	return append(entries, bs.book(t, l.N, spent, most, known, l.Seen, at))
}

// Correct enters the real cost of a launch that was entered at its ceiling; ok
// is false for any other. A launch that took nothing is still to come.
func (bs *Books) Correct(t *Tab, l EndedLaunch, at time.Time) (en state.Entry, ok bool) {
	guess, ok := t.guessed[l.N]
	if !ok {
		return en, false
	}
	delete(t.guessed, l.N)
	spent, known := Amounts{}, true
	if unbegun(l.Seen) {
		bs.count(t, -1)
		t.Left++
		bs.count(t, 1)
	} else {
		spent, known = t.cost(l, guess)
	}
	en = bs.book(t, l.N, spent, guess, known, l.Seen, at)
	var back Amounts
	back.Add(guess, -1)
	bs.enter(t.Item, back, Amounts{}, "")
	bs.shares.of(t.Backend, short(t.Token)).Spent.Add(back, 1)
	bs.Spent.Add(guess, -1)
	return en, true
}

// landOne takes away the reservation of the next launch, which is over; nothing without one.
func (bs *Books) landOne(t *Tab) (most Amounts) {
	if t.Left <= 0 {
		return most
	}
	most = t.Next()
	bs.count(t, -1)
	t.Left--
	t.Waited, t.covered = Amounts{}, 0
	bs.count(t, 1)
	return most
}

// book enters an amount into every account, and makes its entry.
func (bs *Books) book(t *Tab, n int, spent, most Amounts, known bool, seen *offer.Observation, at time.Time) state.Entry {
	class := ""
	if seen != nil {
		class = seen.Class
	}
	bs.enter(t.Item, spent, most, class)
	bs.shares.of(t.Backend, short(t.Token)).Spent.Add(spent, 1)
	bs.Spent.Add(spent, 1)
	return state.Entry{Address: t.Address, Attempt: n, Token: short(t.Token), Plan: t.Plan, Backend: t.Backend, Pool: t.Pool, Phase: t.Phase,
		At: at, Spent: state.TextsOf(spent.Text()), Unknown: !known, Unpriced: t.unpriced(spent), Estimated: t.estimated(spent, seen)}
}

// unpriced are the units in which a launch that took something was charged by a
// place that states no price in them, unless its backend said how much.
func (t *Tab) unpriced(spent Amounts) []string {
	if t.Tariff == nil || !t.Tariff.Price.UnknownSU || spent == (Amounts{}) || spent[serviceUnits] > 0 {
		return nil
	}
	return []string{units[serviceUnits]}
}

// estimated reports whether money or service units of the spending come from estimated rates,
// not from its backend's bill.
func (t *Tab) estimated(spent Amounts, o *offer.Observation) bool {
	if t.Tariff == nil {
		return false
	}
	billed := -1
	if o != nil && o.Usage != nil {
		if unit, _, ok := Billed(o.Usage.Billed); ok {
			billed = unit
		}
	}
	for i, unit := range units {
		if i != billed && place.Guessed(t.Tariff.Price, unit) && spent[i] > 0 {
			return true
		}
	}
	return false
}

// cost is a launch's use at its real size and the price of its placement, unless its backend
// reports a charge. An unknown cost counts at its ceiling, and known is false.
func (t *Tab) cost(l EndedLaunch, most Amounts) (spent Amounts, known bool) {
	elapsed, measured := elapsedOf(l.Seen, l.Limit)
	switch {
	case t.Tariff == nil:
		spent, known = most, measured && len(t.One) == 0
	case l.Idle && l.Waited >= 0:
		spent, known = t.Tariff.Waiting(l.Shape, l.Waited), true
	case !measured:
		spent = most
	default:
		waited := l.Waited
		if waited >= 0 {
			waited = max(waited-t.Tariff.Boot, 0) // a charge includes the boot beside the wait
		}
		spent, known = t.Tariff.Took(l.Shape, elapsed, waited)
		if !known {
			spent.Charge(most)
		}
	}
	if l.Seen.Usage != nil && l.Seen.Usage.NodeTime > 0 && t.Tariff != nil && known {
		t.Tariff.share(&spent, l.Shape, l.Seen.Usage.NodeTime)
	}
	if l.Seen.Usage != nil {
		if unit, billed, ok := Billed(l.Seen.Usage.Billed); ok {
			spent[unit] = billed
			known = known || measured
		}
	}
	return spent, known
}

// unbegun reports whether a launch was put off, or could not be made, before it
// took any time: the launches that its job may have are still to come.
func unbegun(o *offer.Observation) bool {
	return o.Status == offer.Waiting && o.Usage != nil && o.Usage.Elapsed == 0
}

// implausible is how many walltimes a launch cannot have taken: between its
// start and its end a clock was set.
const implausible = 10

// elapsedOf is how long a launch ran: as measured, else between its times,
// which say nothing where a clock was set between them.
func elapsedOf(o *offer.Observation, limit time.Duration) (elapsed time.Duration, ok bool) {
	if o.Usage != nil && o.Usage.Elapsed >= 0 {
		return o.Usage.Elapsed, true
	}
	if o.Started.IsZero() || o.Ended.IsZero() {
		return 0, false
	}
	elapsed = o.Ended.Sub(o.Started)
	return elapsed, elapsed >= 0 && (limit == 0 || elapsed <= implausible*limit)
}

// tokenDigits is how many digits of its token tell an attempt from others of
// the same number.
const tokenDigits = 8

func short(token string) string { return token[:min(len(token), tokenDigits)] }

// Recall enters a state's ledger, each entry under its phase. It returns, for tokens in
// flight, the last launch.
func (bs *Books) Recall(st *state.State, phase func(*state.Entry) string) (last func(address, token string) int) {
	type tab struct{ address, token string }
	paid := map[tab]int{}
	for i := range st.Ledger {
		en := &st.Ledger[i]
		j := st.Jobs[en.Address]
		if en.Token != "" && j != nil && j.InFlight() {
			at := tab{en.Address, en.Token}
			paid[at] = max(paid[at], en.Attempt)
		}
		bs.recall(en, phase(en), j)
	}
	return func(address, token string) int { return paid[tab{address, short(connection.Stem(token))}] }
}

func (bs *Books) recall(en *state.Entry, phase string, j *state.Job) {
	plan, ceiling, class := en.Plan, state.Amounts(nil), ""
	if j != nil {
		for i := range j.Attempts {
			if a := &j.Attempts[i]; a.N == en.Attempt && (en.Token == "" || en.Token == short(a.Token)) {
				ceiling, class = a.Ceiling, a.Class
				if plan == "" {
					plan = a.Plan
				}
			}
		}
	}
	spent := state.Amounts(en.Spent.Map())
	if en.Unknown && len(spent) == 0 {
		spent = ceiling
	}
	bs.enter(Item{Phase: phase, Backend: en.Backend, Plan: plan}, Parse(spent), Parse(ceiling), class)
	bs.shares.enter(en, Parse(spent))
}
