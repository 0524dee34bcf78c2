package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// A BackendView is the line about a backend at the head of the plan.
type BackendView struct {
	Name     string
	Summary  string // "6 of 8 GPUs free, 2 held by others"
	Facts    string // "facts of 2026-05", "" for live
	Problem  string // why it cannot be asked
	Fallback string
}

// summarize is the line about a backend, and the months in which the facts of its pools were
// verified. goes are the pools of the plan's work, by name; none means all.
func summarize(backend string, pools []offer.Pool, goes map[string]bool) (v BackendView, months []string) {
	v.Name = backend
	var of []offer.Pool
	for _, p := range pools {
		if p.Backend == backend && (goes[p.Name] || len(goes) == 0) {
			of = append(of, p)
		}
	}
	var parts []string
	for _, p := range of {
		if p.Testing && len(of) > 1 {
			continue // smokes only; the line is about where the work goes
		}
		if s := poolSummary(p); s != "" {
			parts = append(parts, s)
		}
		if p.Verified != "" {
			v.Facts = "facts of " + p.Verified
			months = append(months, p.Verified)
		}
	}
	v.Summary = strings.Join(parts, "; ")
	return v, months
}

// poolSummary is "12 A100 idle on aa100, about 25m wait", or on a single machine
// "6 of 8 GPUs free, 2 held by others".
func poolSummary(p offer.Pool) string {
	what := "slots"
	if p.GPUs > 0 {
		if what = p.GPUModel; what == "" {
			what = "GPUs"
		}
	}
	var s string
	switch {
	case p.Kind == offer.RentalPool && len(p.Offers) > 0:
		return fmt.Sprintf("%s from %s", p.Name, amount.Hourly(p.Offers[0].USDPerHour))
	case p.Kind == offer.RentalPool && p.Total == 0:
		return "nothing offered within its limits"
	case p.Idle < 0 && p.Wait < 0:
		return ""
	case p.Idle < 0:
		name := p.Name
		if name == "" {
			name = "all"
		}
		s = name + ": idle devices unknown"
	case p.Name == "":
		if p.GPUs > 0 {
			what = "GPUs"
		}
		s = fmt.Sprintf("%d of %d %s free", p.Idle, max(p.Total, p.Idle), what)
	default:
		if p.Idle == 1 && what != p.GPUModel {
			what = strings.TrimSuffix(what, "s")
		}
		s = fmt.Sprintf("%d %s idle on %s", p.Idle, what, p.Name)
	}
	if p.Others > 0 {
		s += fmt.Sprintf(", %d held by others", p.Others)
	}
	if most := place.Together(p); most != "" {
		s += ", " + most
	}
	if p.Wait > 0 {
		s += ", about " + units.ShortDuration(p.Wait) + " wait"
	}
	return s
}

// Stated adds the month that a backend's own block names to those of its pools.
func (v *BackendView) Stated(backends []*lang.Backend, months []string) []string {
	for _, b := range backends {
		if b.Address() == v.Name && b.Verified != "" {
			if v.Facts == "" {
				v.Facts = "facts of " + b.Verified
			}
			months = append(months, b.Verified)
		}
	}
	return months
}

// oldFacts says that facts of a month about a backend were verified longer ago than
// the policy relies on; nil while they were not.
func oldFacts(policy *lang.Policy, backends []*lang.Backend, backend, month string, now time.Time) *diag.Diagnostic {
	if !policy.Stale(month, now) {
		return nil
	}
	d := &diag.Diagnostic{Severity: diag.Warning, Summary: "Facts about a backend are old", Address: "backend." + backend}
	what, then := "Limits, prices and deletion rules of backend."+backend, "`muster backends` prints them: compare them with the site's documentation."
	for _, b := range backends {
		if b.Address() != backend || b.Implied {
			continue
		}
		d.Subject = b.Range.Ptr()
		if b.Verified == month {
			what, then = "Prices and dates that the block of backend."+backend+" states", "Compare them with the platform's current terms, and write this month as `verified`."
		}
	}
	d.Detail = fmt.Sprintf("%s were verified in %s, %s, which is longer than stale_after (%s). %s", what, month, monthsAgo(month, now), units.ShortDuration(policy.StaleAfter), then)
	return d
}

// unaskedDeletion refuses to destroy files and machines on backends, by address,
// whose facts are old and that nobody asked just now: the platform's rules may have
// changed, and a deletion cannot be undone.
func unaskedDeletion(policy *lang.Policy, backends []*lang.Backend, pools []offer.Pool, doomed map[string]bool, asked func(backend string) bool, now time.Time) (found diag.List) {
	for _, name := range slices.Sorted(maps.Keys(doomed)) {
		if asked(name) {
			continue
		}
		v, months := summarize(name, pools, nil)
		for _, month := range v.Stated(backends, months) {
			if d := oldFacts(policy, backends, name, month, now); d != nil {
				d.Severity, d.Summary = diag.Error, "Nothing is destroyed by facts that are old"
				d.Detail = fmt.Sprintf("The facts about backend.%s were verified in %s, %s, and muster did not ask it now. Plan again when it answers, without -refresh=false; or compare its facts with the site's documentation.",
					name, month, monthsAgo(month, now))
				found.Append(*d)
				break
			}
		}
	}
	return found
}

// monthsAgo is how old a fact of a month is, in months.
func monthsAgo(month string, now time.Time) string {
	at, _ := time.Parse("2006-01", month)
	n := 12*(now.Year()-at.Year()) + int(now.Month()-at.Month())
	if n == 1 {
		return "1 month ago"
	}
	return fmt.Sprintf("%d months ago", n)
}
