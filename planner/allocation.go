package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
)

// An allocation is an account whose balance is known, and the backends that charge it.
type allocation struct {
	left     string // service units
	backends []string
	expected decimal.Decimal
	p90      decimal.Decimal
}

// overdrawn refuses a plan that is likely to need more of an account than its balance:
// the last jobs would not start. What runs counts, too: sites book it when it ends.
func overdrawn(fs *facts, ps phases, f forecast.Forecast) (out diag.List) {
	if !ps.anythingStarts() {
		return nil
	}
	accounts := map[string]*allocation{}
	for _, address := range slices.Sorted(maps.Keys(f.ByBackend)) {
		l := forecast.LineOf(f.ByBackend[address], place.ServiceUnits)
		account, left := fs.balance(address)
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

// balance is that of a backend's account, and the account's name; "" where it is not
// known.
func (fs *facts) balance(address string) (account, left string) {
	for _, p := range fs.in.Pools {
		if p.Backend == address && p.Balance != "" {
			return p.Account, p.Balance
		}
	}
	return "", ""
}
