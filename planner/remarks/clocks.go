package remarks

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// Clocks says at which dates a platform deletes, bills or closes while a plan
// may still run that takes so long from now on, for the pools that it uses,
// each a backend and its own name.
func Clocks(pools []offer.Pool, used [][2]string, now time.Time, takes time.Duration) (notes []string) {
	for _, name := range used {
		for i := range pools {
			p := &pools[i]
			if [2]string{p.Backend, p.Name} != name {
				continue
			}
			for _, c := range p.Clocks {
				if text := clock(c, now, takes); text != "" {
					notes = append(notes, fmt.Sprintf("backend.%s: %s.", p.Backend, text))
				}
			}
		}
	}
	return notes
}

// clock is what to say of one clock, "" when it ends after the plan.
func clock(c offer.Clock, now time.Time, takes time.Duration) string {
	end := now.Add(takes)
	switch {
	case !c.At.IsZero() && !c.At.After(now):
		return fmt.Sprintf("%s since %s", c.What, c.At.UTC().Format("2006-01-02"))
	case !c.At.IsZero() && !c.At.After(end):
		return fmt.Sprintf("%s on %s, before the p90 end of this plan, %s", c.What, c.At.UTC().Format("2006-01-02"), end.UTC().Format("2006-01-02 15:04Z"))
	case c.At.IsZero() && c.After > 0 && takes >= c.After:
		return fmt.Sprintf("%s after %s without use, and this plan may take %s: what its first jobs leave there may be gone before the last end; `muster pull` keeps a copy",
			c.What, units.ShortDuration(c.After), units.ShortDuration(takes))
	}
	return ""
}
