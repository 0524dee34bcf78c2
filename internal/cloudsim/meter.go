package cloudsim

import (
	"time"

	"github.com/shopspring/decimal"
)

// A Meter counts the cost of one instance. It is exact: whole seconds at a price by the hour,
// and bytes at a price by 10^9 of them.
type Meter struct{ lines []Charge }

// A Charge is one thing that was billed at one price.
type Charge struct {
	Kind  string          `json:"kind"`
	Price decimal.Decimal `json:"price"` // dollars an hour; of bytes, dollars for 10^9
	From  time.Time       `json:"from"`
	To    time.Time       `json:"to,omitzero"` // zero while it runs
	Bytes int64           `json:"bytes,omitempty"`
}

// Run bills a kind at an hourly price from now on, and no other price of that
// kind. At a price of 0 the kind is not billed.
func (m *Meter) Run(kind string, price decimal.Decimal, now time.Time) {
	for i := range m.lines {
		if l := &m.lines[i]; l.Kind == kind && l.To.IsZero() && l.Bytes == 0 {
			if l.Price.Equal(price) {
				return
			}
			l.To = now
		}
	}
	if !price.IsZero() {
		m.lines = append(m.lines, Charge{Kind: kind, Price: price, From: now})
	}
}

// Stop ends everything that runs.
func (m *Meter) Stop(now time.Time) {
	for i := range m.lines {
		if l := &m.lines[i]; l.To.IsZero() {
			l.To = now
		}
	}
}

// Transferred bills bytes.
func (m *Meter) Transferred(kind string, bytes int64, price decimal.Decimal, now time.Time) {
	if bytes > 0 {
		m.lines = append(m.lines, Charge{Kind: kind, Price: price, From: now, To: now, Bytes: bytes})
	}
}

// Lines are all that was billed, in order.
func (m *Meter) Lines() []Charge { return m.lines }

var hour = decimal.NewFromInt(3600)
var giga = decimal.NewFromInt(1e9)

// Amount is the bill of a kind ("" = all) between two times; running instances are billed up
// to now.
func (m *Meter) Amount(kind string, from, to, now time.Time) (sum decimal.Decimal) {
	for _, l := range m.lines {
		if kind != "" && l.Kind != kind {
			continue
		}
		sum = sum.Add(l.amount(from, to, now))
	}
	return sum
}

// Total is all that was billed up to now.
func (m *Meter) Total(now time.Time) decimal.Decimal {
	return m.Amount("", time.Time{}, now, now)
}

// Burn is the current cost, in dollars an hour.
func (m *Meter) Burn() (sum decimal.Decimal) {
	for _, l := range m.lines {
		if l.To.IsZero() {
			sum = sum.Add(l.Price)
		}
	}
	return sum
}

func (l Charge) amount(from, to, now time.Time) decimal.Decimal {
	if l.Bytes > 0 {
		if l.From.Before(from) || l.From.After(to) {
			return decimal.Zero
		}
		return l.Price.Mul(decimal.NewFromInt(l.Bytes)).Div(giga)
	}
	begin, end := l.From, l.To
	if end.IsZero() {
		end = now
	}
	if begin.Before(from) {
		begin = from
	}
	if end.After(to) {
		end = to
	}
	if !end.After(begin) {
		return decimal.Zero
	}
	return l.Price.Mul(decimal.NewFromInt(int64(end.Sub(begin) / time.Second))).Div(hour)
}
