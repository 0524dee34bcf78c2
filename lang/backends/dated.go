package backends

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Machine is one that somebody rents by hand, whatever muster does with it.
type Machine struct {
	Name    string
	Status  string    // "running" or "stopped"
	Since   time.Time // when it came into this Status
	PerHour string    // USD, its bill today; "" = not known
	Written hcl.Range // of since; of the block where that is not written
}

// dated reads a block's statements about its platform beside the price, and
// the month in which they were compared with it: when it deletes or closes
// something, and the machines there.
func (s *Set) dated(b *syntax.Block, out *Backend) {
	if text, ok := s.MaybeText(b, "verified"); ok {
		if out.Verified = text; !isMonth(text) {
			s.Wrong(b.Expr("verified"), "verified", "%q is not a month: write the one in which the block was compared with the platform, such as \"2026-05\".", wording.Clip(text))
		}
	}
	for _, c := range b.All("clock") {
		out.Clocks = append(out.Clocks, s.clock(c))
	}
	for _, r := range b.All("rented") {
		out.Rented = append(out.Rented, s.machine(r))
	}
}

func isMonth(text string) bool {
	_, err := time.Parse("2006-01", text)
	return err == nil
}

func (s *Set) clock(b *syntax.Block) offer.Clock {
	c := offer.Clock{What: b.Labels[0], After: s.Duration(b, "after", 0), At: s.date(b, "at")}
	if b.Expr("after") != nil && b.Expr("at") != nil {
		s.Sure.Errorat(b.Range, "A clock that counts twice", "`after` counts from the last use, `at` is a date: write one of them.")
	}
	return c
}

// least is the least that a machine is said to be billed for an hour, in USD.
var least = decimal.New(1, -4)

// hoursOfMonth is the month by which platforms bill storage.
const hoursOfMonth = 730

func (s *Set) machine(b *syntax.Block) Machine {
	m := Machine{Name: b.Labels[0], Status: s.OneOf(b, "status", "running", "stopped"), Since: s.date(b, "since")}
	if m.Written = b.Range; b.Expr("since") != nil {
		m.Written = b.Expr("since").Range()
	}
	if m.Status == "" {
		m.Status = "stopped"
	}
	disk, e := s.Size(b, "disk"), b.Expr("price")
	if e == nil {
		return m
	}
	p, _ := s.Price(e)
	if p.USDPerGBMonth != "" && disk == 0 && !s.Broken {
		s.Wrong(e, "price", "A price by the gigabyte needs the size of the disk: add disk = \"50GB\".")
	}
	var hour decimal.Decimal
	if rate, err := decimal.NewFromString(p.USDPerHour); err == nil {
		hour = rate
	}
	if rate, err := decimal.NewFromString(p.USDPerGBMonth); err == nil {
		hour = hour.Add(rate.Mul(decimal.New(disk, -9)).Div(decimal.NewFromInt(hoursOfMonth)))
	}
	if p.USDPerHour == "" && p.USDPerGBMonth == "" && p.Known {
		s.Wrong(e, "price", "A machine is billed by the hour, for its disk by the month, or both: { usd_per_hour = 0.02 } or { usd_per_gb_month = 0.2 }.")
		return m
	}
	if hour.IsPositive() { // a billed thing is not shown as free
		hour = decimal.Max(hour.Round(4), least)
	}
	if p.Known {
		m.PerHour = hour.String()
	}
	return m
}

// date is a day, which begins at midnight UTC, or a time; zero when it is not written.
func (s *Set) date(b *syntax.Block, name string) time.Time {
	text, ok := s.MaybeText(b, name)
	if !ok {
		return time.Time{}
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	s.Wrong(b.Expr(name), name, "%q is neither a day nor a time: write \"2026-11-28\", or \"2026-11-28T12:00:00Z\".", wording.Clip(text))
	return time.Time{}
}
