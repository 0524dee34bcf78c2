package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// noteClocks says at which dates a platform deletes, bills or closes while the
// plan may still run, for the pools that it uses.
func (m *maker) noteClocks() {
	if !m.anythingRuns() {
		return
	}
	for _, name := range m.usedPools() {
		for i := range m.in.Pools {
			p := &m.in.Pools[i]
			if [2]string{p.Backend, p.Name} != name {
				continue
			}
			for _, c := range p.Clocks {
				if text := m.clock(c); text != "" {
					m.plan.Notes = append(m.plan.Notes, fmt.Sprintf("backend.%s: %s.", p.Backend, text))
				}
			}
		}
	}
}

// clock is what to say of one clock, "" when it ends after the plan.
func (m *maker) clock(c offer.Clock) string {
	takes := m.plan.Forecast.Walltime.P90
	end := m.in.Now.Add(takes)
	switch {
	case !c.At.IsZero() && !c.At.After(m.in.Now):
		return fmt.Sprintf("%s since %s", c.What, c.At.UTC().Format("2006-01-02"))
	case !c.At.IsZero() && !c.At.After(end):
		return fmt.Sprintf("%s on %s, before the p90 end of this plan, %s", c.What, c.At.UTC().Format("2006-01-02"), end.UTC().Format(minute))
	case c.At.IsZero() && c.After > 0 && takes >= c.After:
		return fmt.Sprintf("%s after %s without use, and this plan may take %s: what its first jobs leave there may be gone before the last end; `muster pull` keeps a copy",
			c.What, units.ShortDuration(c.After), units.ShortDuration(takes))
	}
	return ""
}

// usedPools are the pools that the plan's work goes to, in order, each once.
func (m *maker) usedPools() [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	for _, w := range m.works {
		for _, d := range w.pp.Placements {
			key := [2]string{d.Backend, d.Pool}
			if d.Backend != "" && !seen[key] {
				seen[key] = true
				out = append(out, key)
			}
		}
	}
	return out
}
