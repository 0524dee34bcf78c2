package warnings

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Turns says in how many allocations jobs run in turns, or why they take none although
// their backend has allocations for that.
func Turns(works []Work, pools []offer.Pool) (notes []string) {
	for _, w := range works {
		for i, d := range w.Placements {
			at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if at < 0 || w.Starting[i] == 0 || pools[at].Allocation <= 0 {
				continue
			}
			notes = append(notes, fmt.Sprintf("phase.%s: %s", w.Name, turns(w.Starting[i], d, pools[at])))
		}
	}
	return notes
}

func turns(jobs int, d place.Decision, p offer.Pool) string {
	s := d.Shape
	if s.Turns() < 2 {
		return fmt.Sprintf("allocation = %q of backend.%s changes nothing: %s.", units.FormatDuration(p.Allocation), d.Backend, noTurns(jobs, d, p))
	}
	n, each := (jobs+s.Pack-1)/s.Pack, " each"
	if n == 1 {
		each = ""
	}
	text := fmt.Sprintf("%s on %s wait in the queue as %s of at most %s%s, in which up to %d run one after another",
		units.Count(jobs, "job"), d.Where(), units.Count(n, "allocation"), units.FormatDuration(s.Lasts()), each, s.Turns())
	if s.Beside() > 1 {
		text += fmt.Sprintf(" in each of %d slots", s.Beside())
	}
	if most := d.Limits.On(p).MaxTime; most > 0 && most < p.Allocation {
		text += fmt.Sprintf("; %s %s ends jobs at %s", p.Word, p.Name, units.FormatDuration(most))
	}
	return text + ". A job that may not end in time does not begin: muster submits it again."
}

// noTurns is why jobs of a placement do not take turns.
func noTurns(jobs int, d place.Decision, p offer.Pool) string {
	limited := d.Limits.On(p)
	longest, takes := limited.Longest(), d.Shape.Walltime
	switch {
	case d.Segments > 1:
		return "jobs in segments have allocations of their own"
	case d.Shape.Nodes > 1:
		return "jobs of several nodes have allocations of their own"
	case takes == 0:
		return "no walltime is stated for its jobs"
	case jobs <= d.Shape.Beside():
		return "all of its jobs may run at once"
	case 2*takes > longest && limited.MaxTime > 0 && limited.MaxTime < p.Allocation:
		return fmt.Sprintf("%s %s ends jobs at %s, in which no second job of at most %s fits", p.Word, p.Name, units.FormatDuration(limited.MaxTime), units.FormatDuration(takes))
	}
	return fmt.Sprintf("no second job of at most %s fits in it", units.FormatDuration(takes))
}

// Memory says that jobs that share a node are not kept from the memory of one another.
func Memory(works []Work) []string {
	for _, w := range works {
		for i, d := range w.Placements {
			if w.Starting[i] == 0 || d.Shape.Beside() < 2 {
				continue
			}
			text := "Nothing divides the memory of a node between the jobs that share it: one that uses more than it requests may end the others."
			if d.Shape.Memory == 0 {
				text += fmt.Sprintf(" State memory in resources of phase.%s, so that no more of its jobs share a node than fit.", w.Name)
			}
			return []string{text}
		}
	}
	return nil
}
