package planner

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// backendView is the line about one backend: what is free where this plan
// goes, and how old the facts are.
func (m *maker) backendView(name string) BackendView {
	v := BackendView{Name: name, Problem: m.in.Observed.Unreachable[name]}
	var pools []offer.Pool
	goes := m.poolsInUse(name)
	for _, p := range m.in.Pools {
		if p.Backend == name && (goes[p.Name] || len(goes) == 0) {
			pools = append(pools, p)
		}
	}
	var parts []string
	for _, p := range pools {
		if p.Testing && len(pools) > 1 {
			continue // smokes only; the line is about where the work goes
		}
		if s := poolSummary(p, m.in.Pools); s != "" {
			parts = append(parts, s)
		}
		if p.Verified != "" {
			v.Facts = "facts of " + p.Verified
			m.warnStale(name, p.Verified)
		}
	}
	v.Summary = strings.Join(parts, "; ")
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			if d.Backend == name && d.Fallback != "" && v.Fallback == "" {
				v.Fallback = d.Fallback
			}
		}
	}
	return v
}

func (m *maker) poolsInUse(backend string) map[string]bool {
	out := map[string]bool{}
	for _, w := range m.works {
		for at, d := range w.pp.Placements {
			if at > 0 && d.Backend == backend {
				out[d.Pool] = true
			}
		}
	}
	return out
}

// poolSummary is "12 A100 idle on aa100, about 25m wait", or on a single
// machine "6 of 8 GPUs free, 2 held by others".
func poolSummary(p offer.Pool, all []offer.Pool) string {
	what := "slots"
	if p.GPUs > 0 {
		what = orElse(p.GPUModel, "GPUs")
	}
	var s string
	switch {
	case p.Idle < 0 && p.Wait < 0:
		return ""
	case p.Idle < 0:
		s = orElse(p.Name, "all") + ": idle devices unknown"
	case p.Name == "":
		if p.GPUs > 0 {
			what = "GPUs"
		}
		s = fmt.Sprintf("%d of %d %s free", p.Idle, max(p.Total, p.Idle), what)
	default:
		s = fmt.Sprintf("%d %s idle on %s", p.Idle, what, p.Name)
	}
	if p.Others > 0 {
		s += fmt.Sprintf(", %d held by others", p.Others)
	}
	if p.Wait > 0 {
		s += ", about " + units.ShortDuration(p.Wait) + " wait"
	}
	return s
}

// months is how old a fact of a month is, in months.
func months(at, now time.Time) string {
	n := 12*(now.Year()-at.Year()) + int(now.Month()-at.Month())
	if n == 1 {
		return "1 month"
	}
	return fmt.Sprintf("%d months", n)
}

// warnStale says when facts were verified too long ago to be relied on.
func (m *maker) warnStale(backend, month string) {
	if !m.in.Campaign.Policy.Stale(month, m.in.Now) {
		return
	}
	after := m.in.Campaign.Policy.StaleAfter
	at, _ := time.Parse("2006-01", month)
	d := diag.Diagnostic{Severity: diag.Warning, Summary: "facts about a backend are old", Address: "backend." + backend,
		Detail: fmt.Sprintf("Limits, prices and deletion rules of backend.%s were verified in %s, %s ago, which is longer than stale_after (%s). `muster backends` prints them: compare them with what the site says.",
			backend, month, months(at, m.in.Now), units.ShortDuration(after))}
	for _, b := range m.in.Campaign.Backends {
		if b.Address() == backend && !b.Implied {
			d.Subject = b.Range.Ptr()
		}
	}
	m.diags.Append(d)
}
