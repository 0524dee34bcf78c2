package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// An allocation is an account whose balance is known, and the backends that charge it.
type allocation struct {
	left     string // service units
	backends []string
	expected decimal.Decimal
	p90      decimal.Decimal
}

// overdrawn refuses a plan that is likely to need more of an account than its balance:
// the last jobs would not start. Running jobs count, too: sites book them when they
// end.
func overdrawn(fs *facts, ps phases, f forecast.Forecast) (out diag.List) {
	if !ps.anythingStarts() {
		return nil
	}
	accounts := map[string]*allocation{}
	for _, address := range slices.Sorted(maps.Keys(f.ByBackend)) {
		l := forecast.LineOf(f.ByBackend[address], place.ServiceUnits)
		account, left := fs.left(address, false)
		if l.Unit == "" || left == "" {
			continue
		}
		kind, _, _ := strings.Cut(address, ".")
		key := kind + " " + account + " " + left
		a := accounts[key]
		if a == nil {
			a = &allocation{left: left}
			accounts[key] = a
		}
		a.backends = append(a.backends, address)
		a.expected, a.p90 = a.expected.Add(amount.Of(l.Expected.Text)), a.p90.Add(amount.Of(l.P90.Text))
	}
	for _, key := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[key]
		if !amount.Exceeds(a.p90, amount.Of(a.left)) {
			continue
		}
		d := diag.Diagnostic{Severity: diag.Error, Summary: "The allocation does not cover the plan",
			Detail: fmt.Sprintf("The account of backend.%s has %s left. This plan is likely to need up to %s there (p90; expected %s). Ask the site for more, give the plan less to do (-target, fewer cells, a shorter walltime), or place jobs elsewhere.",
				strings.Join(a.backends, " and backend."), amount.Words(place.ServiceUnits, a.left), amount.Words(place.ServiceUnits, a.p90.String()), amount.Words(place.ServiceUnits, a.expected.String()))}
		if b := fs.backend(a.backends[0]); b != nil {
			d.Subject, d.In = b.Range.Ptr(), "backend."+a.backends[0]
		}
		out.Append(d)
	}
	return out
}

// runsOut warns of an account whose credit does not last until the p90 end: its provider
// stops or deletes machines then, whatever runs on them.
func runsOut(fs *facts, ps phases, f forecast.Forecast) (out diag.List) {
	if !ps.anythingRuns() {
		return nil
	}
	for _, address := range slices.Sorted(maps.Keys(f.ByBackend)) {
		_, left := fs.left(address, true)
		l := forecast.LineOf(f.ByBackend[address], place.USD)
		credit, p90 := amount.Of(left), amount.Of(l.P90.Text)
		if left == "" || l.Unit == "" || !amount.Exceeds(p90, credit) {
			continue
		}
		share := decimal.Max(credit, decimal.Zero).Div(p90).InexactFloat64()
		ends := fs.in.Now.Add(time.Duration(share * float64(f.Walltime.P90)))
		d := diag.Diagnostic{Severity: diag.Warning, Summary: "The account's credit does not last until the end",
			Detail: fmt.Sprintf("The account of backend.%s has %s left, and this plan is likely to need up to %s there (p90). At that rate it runs out about %s, and the provider stops the machines then. Add credit, or give the plan less to do.",
				address, amount.Words(place.USD, left), amount.Words(place.USD, l.P90.Text), units.FormatTime(ends.UTC()))}
		if b := fs.backend(address); b != nil {
			d.Subject, d.In = b.Range.Ptr(), "backend."+address
		}
		out.Append(d)
	}
	return out
}

// left is the balance of a backend's account, and the account's name: of one that rents
// machines, in US dollars, or of another, in service units. "" = not known.
func (fs *facts) left(address string, rents bool) (account, left string) {
	for _, p := range fs.in.Pools {
		if p.Backend == address && p.Balance != "" && (p.Kind == offer.RentalPool) == rents {
			return p.Account, p.Balance
		}
	}
	return "", ""
}
