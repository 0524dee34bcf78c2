package warnings

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Clocks says at which dates a platform deletes, bills or closes while a plan
// may still run that takes so long from now on, for the pools that it uses,
// each a backend and its own name; and which outputs of earlier jobs are due
// for deletion by then.
func Clocks(pools []offer.Pool, used [][2]string, now time.Time, takes time.Duration, jobs map[string]*state.Job) (notes []string) {
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
				if c.At.IsZero() && c.After > 0 {
					if text := due(c, p.Backend, now.Add(takes), jobs); text != "" {
						notes = append(notes, fmt.Sprintf("backend.%s: %s.", p.Backend, text))
					}
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
		return fmt.Sprintf("%s: due since %s", c.What, c.At.UTC().Format("2006-01-02"))
	case !c.At.IsZero() && !c.At.After(end):
		return fmt.Sprintf("%s on %s, before the p90 end of this plan, %s", c.What, c.At.UTC().Format("2006-01-02"), units.FormatTime(end.UTC()))
	case c.At.IsZero() && c.After > 0 && takes >= c.After:
		return fmt.Sprintf("%s after %s without use, and this plan may take %s: the outputs of its first jobs there may be gone before the last end; `muster pull` keeps a copy",
			c.What, units.ShortDuration(c.After), units.ShortDuration(takes))
	}
	return ""
}

// due names the files that exist only on a backend and that a clock deletes
// before the plan ends if nobody uses them. The clock counts from the last use;
// muster knows the time of the last write.
func due(c offer.Clock, backend string, end time.Time, jobs map[string]*state.Job) string {
	n, oldest := 0, end
	for _, j := range jobs {
		if j.Smoke {
			continue
		}
		for _, o := range j.Outputs {
			written := time.Unix(0, o.MTime)
			if o.Backend != backend || o.Missing || o.MTime == 0 || len(o.Copies) > 0 || written.Add(c.After).After(end) {
				continue
			}
			if n++; written.Before(oldest) {
				oldest = written
			}
		}
	}
	if n == 0 {
		return ""
	}
	what := fmt.Sprintf("%d outputs of earlier jobs are", n)
	if n == 1 {
		what = "1 output of an earlier job is"
	}
	return fmt.Sprintf("%s after %s without use, and %s on this backend alone that may be gone before the p90 end of this plan, the first on %s; `muster pull` keeps a copy",
		c.What, units.ShortDuration(c.After), what, oldest.Add(c.After).UTC().Format("2006-01-02"))
}
