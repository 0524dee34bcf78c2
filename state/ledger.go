package state

import (
	"cmp"
	"time"

	"github.com/shopspring/decimal"
)

// A ledgerKey names the expense of an entry. Attempts count from 1 again after
// a change, so a key may occur more than once; the last one counts as current.
type ledgerKey struct {
	address string
	attempt int
	backend string
}

// spend enters a cost. A better figure of the same attempt replaces the earlier one; the same
// entry twice counts once. Attempts are told apart by their tokens, for clocks jump; entries
// without one by when their attempt began.
func (s *State) spend(e Entry, since time.Time) {
	e.At, e.Spent = plain(e.At), list(e.Spent)
	if s.ledger == nil {
		s.ledger = make(map[ledgerKey]int, len(s.Ledger))
		for i := range s.Ledger {
			s.ledger[s.Ledger[i].key()] = i
		}
	}
	if i, ok := s.ledger[e.key()]; ok {
		old := s.Ledger[i]
		if old.same(e, since) {
			s.Ledger[i] = e
			return
		}
	}
	if s.paid != nil {
		s.paid[e.Address] = append(s.paid[e.Address], len(s.Ledger))
	}
	s.ledger[e.key()] = len(s.Ledger)
	s.Ledger = append(s.Ledger, e)
}

// readdress moves the cost of a record to its new address: a phase of another
// name has spent the same.
func (s *State) readdress(from, to, phase string) {
	if s.paid == nil {
		s.paid = map[string][]int{}
		for i := range s.Ledger {
			s.paid[s.Ledger[i].Address] = append(s.paid[s.Ledger[i].Address], i)
		}
	}
	for _, i := range s.paid[from] {
		e := &s.Ledger[i]
		last := s.ledger[e.key()] == i
		if last {
			delete(s.ledger, e.key())
		}
		e.Address, e.Phase = to, cmp.Or(phase, e.Phase)
		if last && s.ledger != nil {
			s.ledger[e.key()] = i
		}
	}
	s.paid[to] = append(s.paid[to], s.paid[from]...)
	delete(s.paid, from)
}

// same reports whether an entry is about what a later one is about, whose
// attempt began at since.
func (e Entry) same(as Entry, since time.Time) bool {
	if e.Token != "" && as.Token != "" {
		return e.Token == as.Token
	}
	return e.At.Equal(as.At) || e.Unknown || !since.IsZero() && !e.At.Before(since)
}

func (e Entry) key() ledgerKey { return ledgerKey{e.Address, e.Attempt, e.Backend} }

// Spent sums the ledger by unit, over the entries that the filter takes (nil:
// all). An entry whose price is not known counts with the ceiling of its
// attempt; unknown is how many there were without even that.
func (s *State) Spent(filter func(Entry) bool) (spent Amounts, unknown int) {
	sum := map[string]decimal.Decimal{}
	for _, e := range s.Ledger {
		if filter != nil && !filter(e) {
			continue
		}
		amounts := e.Spent
		if e.Unknown && len(amounts) == 0 {
			amounts = TextsOf(s.ceiling(e))
		}
		if e.Unknown && len(amounts) == 0 {
			unknown++
			continue
		}
		for unit, text := range amounts.All() {
			d, err := decimal.NewFromString(text)
			if err != nil {
				unknown++
				continue
			}
			sum[unit] = sum[unit].Add(d)
		}
	}
	spent = Amounts{}
	for unit, d := range sum {
		spent[unit] = d.String()
	}
	return spent, unknown
}

// machines reports whether an entry is the cost of a backend's machines beside its jobs.
func (e *Entry) machines() bool { return e.Attempt == 0 && e.Address == "backend."+e.Backend }

// usd is the money of an entry.
func (e *Entry) usd() decimal.Decimal {
	d, err := decimal.NewFromString(e.Spent.Get("usd"))
	if err != nil {
		return decimal.Zero
	}
	return d
}

// Shared is the ledger as jobs share the bill of their machines: where those cost less
// than the jobs of a backend were charged one by one, each job is charged so much less
// of it, in proportion. The sum is that of the ledger.
func (s *State) Shared() []Entry {
	over, charged, last := map[string]decimal.Decimal{}, map[string]decimal.Decimal{}, map[string]int{}
	for i := range s.Ledger {
		switch e := &s.Ledger[i]; {
		case e.machines() && e.usd().IsNegative():
			over[e.Backend] = e.usd().Neg()
		case e.Attempt > 0 && e.usd().IsPositive():
			charged[e.Backend] = charged[e.Backend].Add(e.usd())
			last[e.Backend] = i
		}
	}
	if len(over) == 0 {
		return s.Ledger
	}
	out := make([]Entry, 0, len(s.Ledger))
	left := map[string]decimal.Decimal{} // of over, that no job was charged less yet
	for name, usd := range over {
		left[name] = decimal.Min(usd, charged[name])
		over[name] = left[name]
	}
	for i, e := range s.Ledger {
		less, shares := over[e.Backend]
		switch {
		case shares && e.machines():
			e.Spent = e.Spent.with("usd", e.usd().Add(less))
		case shares && e.Attempt > 0 && e.usd().IsPositive():
			cut := e.usd().Mul(less).DivRound(charged[e.Backend], 9)
			if i == last[e.Backend] {
				cut = left[e.Backend]
			}
			left[e.Backend] = left[e.Backend].Sub(cut)
			e.Spent = e.Spent.with("usd", e.usd().Sub(cut))
		}
		if !shares || !e.machines() || !e.usd().IsZero() {
			out = append(out, e)
		}
	}
	return out
}

// with is a list of amounts with another one of a unit.
func (t Texts) with(unit string, d decimal.Decimal) Texts {
	m := t.Map()
	m[unit] = d.String()
	return TextsOf(m)
}

// Add counts text that is no number as zero.
func (a Amounts) Add(more Amounts) {
	for unit, text := range more {
		d, err := decimal.NewFromString(text)
		if err != nil {
			continue
		}
		was, _ := decimal.NewFromString(cmp.Or(a[unit], "0"))
		a[unit] = was.Add(d).String()
	}
}

func (s *State) ceiling(e Entry) Amounts {
	j := s.Jobs[e.Address]
	if j == nil {
		return nil
	}
	for _, a := range j.Attempts {
		if a.N == e.Attempt {
			return a.Ceiling
		}
	}
	return nil
}
