package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
)

// Unknowns are why costs of a plan are not known.
type unknowns struct {
	phases
	backends  []*lang.Backend
	unbounded func() []string  // phases whose jobs start without a walltime
	moves     []forecast.Move  // billed transfers
	unpriced  []place.Decision // of jobs in flight with an unknown charge
}

// howToKnow names the change that would make an unknown cost known: hours are bounded by a
// walltime, and money and service units need a price as well.
func (un *unknowns) howToKnow(unit string) string {
	names := un.unbounded()
	for _, w := range un.drafts {
		if name := "phase." + w.p.Name; w.runsUnbounded() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch after := un.unweighed(); {
	case len(names) > 0:
		return "write a walltime in resources of " + strings.Join(names[:min(len(names), 5)], ", ")
	case unit == place.USD && after != "":
		return fmt.Sprintf("the size of files that a billed transfer moves is known only after phase.%s has made them: apply it first, with -target=phase.%[1]s", after)
	case unit == place.ServiceUnits && un.unrated(unit) != nil:
		d := un.unrated(unit)
		return fmt.Sprintf("the charge of %s in them is unknown: %s", d.Where(), d.HowToPrice(un.backends))
	case (unit == place.USD || unit == place.ServiceUnits) && un.waitUnknown():
		return "that queue bills waiting jobs (bills_while_queued), and the wait is unknown until jobs of this campaign have waited there; or name another backend"
	case unit == place.USD && un.unrated(unit) != nil:
		d := un.unrated(unit)
		return fmt.Sprintf("the charge of %s is unknown: write a price on backend.%s", d.Where(), d.Backend)
	case unit == place.USD || unit == place.ServiceUnits:
		return "write a price on the backend"
	}
	return "write a walltime in resources"
}

// unweighed is a phase whose files are billed when they leave, and of which
// nobody knows how large they will be; "" if there is none.
func (un *unknowns) unweighed() string {
	for _, o := range un.moves {
		if o.Expected == "" {
			return o.Phase
		}
	}
	return ""
}

// unrated is a place where jobs or smokes go, or are, with an unknown charge in a unit; nil if
// there is none.
func (un *unknowns) unrated(unit string) *place.Decision {
	not := func(d *place.Decision) bool {
		return d.Backend != "" && (unit == place.USD && !d.Price.Known && !d.Price.BillsWhileQueued || unit == place.ServiceUnits && d.Price.UnknownSU)
	}
	for _, w := range un.drafts {
		if g := w.pp.Smoke; g != nil && len(g.Run) > 0 && not(&g.Place) {
			return &g.Place
		}
		for i := range w.pp.Placements {
			if d := &w.pp.Placements[i]; not(d) {
				return d
			}
		}
	}
	for i := range un.unpriced {
		if d := &un.unpriced[i]; not(d) {
			return d
		}
	}
	return nil
}

// waitUnknown reports whether jobs go to where the queue is billed and nobody
// knows how long that is.
func (un *unknowns) waitUnknown() bool {
	for _, w := range un.drafts {
		for _, d := range w.pp.Placements {
			if d.Price.BillsWhileQueued && !d.Price.Known {
				return true
			}
		}
	}
	return false
}

// runsUnbounded reports whether a job is with its backend without a walltime.
func (w *draft) runsUnbounded() bool {
	for i, k := range w.pp.Kind {
		if (k == Continue || k == UnknownAt || k == Adopt) && w.request(i).Shape.Walltime == 0 {
			return true
		}
	}
	return false
}
