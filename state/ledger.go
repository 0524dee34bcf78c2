package state

import (
	"cmp"
	"time"

	"github.com/shopspring/decimal"
)

// A ledgerKey names what an entry paid for. Attempts count from 1 again after
// a change, so a key may occur more than once; the last one counts as current.
type ledgerKey struct {
	address string
	attempt int
	backend string
}

// spend enters what something cost. What is known better of the same attempt
// replaces what was entered before; the same entry twice counts once. Attempts
// are told apart by their tokens, for clocks jump; entries without one by when
// their attempt began.
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

// readdress gives what a record cost to the address it moved to: a phase of
// another name has spent the same.
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

// Add adds what is not a number as nothing.
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
