package advice

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// devices finds jobs that hold devices and put nothing on them.
func (a *adviser) devices(g *group) []Proposal {
	var out []Proposal
	for _, c := range g.classes(askedGPUs) {
		if c.asked == 0 {
			continue
		}
		if killed := failed(c.launches, oomGPU); float64(len(killed)) >= often*float64(len(c.launches)) && len(killed) > 0 {
			out = append(out, a.smallerBatch(c, killed))
			continue
		}
		used := measures(c.launches, usedDevice)
		if len(used) < enough || most(used) > 0 {
			continue
		}
		none := func(s offer.Shape) offer.Shape { s.GPUs = 0; return s }
		out = append(out, Proposal{Phase: g.phase.Name, Kind: "gpus", Title: "Ask for no GPU", Jobs: c.who(), Edit: a.asked(g, "gpus", "0"),
			Why:   fmt.Sprintf("Each held %s, and none of %s had anything on them.", count(int(c.asked), "GPU", "GPUs"), count(len(used), "measured launch", "measured launches")),
			Saves: a.spared(c, none)})
	}
	return out
}

// smallerBatch follows launches that ran out of a device's memory: how much
// they need nobody knows, so that no figure is proposed.
func (a *adviser) smallerBatch(c *class, killed []launch) Proposal {
	p := Proposal{Phase: c.phase.Name, Kind: "gpus", Title: "Put less on each GPU, or ask for larger ones", Jobs: c.who(),
		Why: fmt.Sprintf("%d of %s ran out of a GPU's memory%s.", len(killed), count(len(c.launches), "launch", "launches"), a.at(c.group, killed))}
	if at, ok := c.phase.Asks["gpu.memory"]; ok {
		p.Edit = a.edit(at, "")
		p.Edit.After = ""
	}
	t := tally{}
	for _, l := range killed {
		t.charged(c.shape(l.Cell), a.pool(l), elapsed(l), one)
	}
	p.Saves = t.list("that the "+count(len(killed), "launch", "launches")+" took", false)
	return p
}

// place finds work without GPUs that stood on nodes that have them, where a
// pool without would have taken it.
func (a *adviser) place(g *group) []Proposal {
	on := map[string][]launch{} // by backend and pool that has devices
	for _, l := range g.launches {
		if p := a.pool(l); g.shape(l.Cell).GPUs == 0 && p.GPUs > 0 && !p.OneMachine() {
			on[p.Backend+"/"+p.Name] = append(on[p.Backend+"/"+p.Name], l)
		}
	}
	var out []Proposal
	for _, key := range sortedKeys(on) {
		launches := on[key]
		here := a.pool(launches[0])
		there, ok := a.without(g, here, g.shape(launches[0].Cell))
		if !ok {
			continue
		}
		c := &class{group: g, launches: launches, jobs: g.phase.Len(), left: g.left, only: true}
		p := Proposal{Phase: g.phase.Name, Kind: "place", Title: "Move work without GPUs off nodes that have them", Edit: a.moveTo(g.phase, here, there),
			Why: fmt.Sprintf("%s asked for no GPU and ran on %s, whose nodes have %s each; %s of %s has none, and they fit there.",
				count(len(launches), "launch", "launches"), where(here), count(here.GPUs, "GPU", "GPUs"), where(there), there.Backend)}
		p.Saves = a.sparedOn(c, func(s offer.Shape) offer.Shape { return s }, func(offer.Pool) offer.Pool { return there })
		out = append(out, p)
	}
	return out
}

// without is the cheapest pool without devices that a shape fits.
func (a *adviser) without(g *group, here offer.Pool, s offer.Shape) (offer.Pool, bool) {
	return a.cheapest(g, here, s, func(p offer.Pool) bool { return p.GPUs == 0 && !p.OneMachine() })
}

// cheapest is the cheapest pool that suits and that a shape fits, of the
// backends the phase may use; one of the same backend where there is one.
func (a *adviser) cheapest(g *group, here offer.Pool, s offer.Shape, suits func(offer.Pool) bool) (offer.Pool, bool) {
	var fit []offer.Pool
	for _, p := range a.Pools {
		if !p.Testing && may(a.Campaign, g.phase, p.Backend) && suits(p) && place.Fits(p, s, g.phase.Checkpoint != nil) {
			fit = append(fit, p)
		}
	}
	slices.SortStableFunc(fit, func(x, y offer.Pool) int {
		if same := boolean(y.Backend == here.Backend) - boolean(x.Backend == here.Backend); same != 0 {
			return same
		}
		if known := boolean(priced(y)) - boolean(priced(x)); known != 0 {
			return known
		}
		return cost(s, x).Cmp(cost(s, y))
	})
	if len(fit) == 0 {
		return offer.Pool{}, false
	}
	return fit[0], true
}

// priced reports whether all that a pool charges is known.
func priced(p offer.Pool) bool { return p.Price.Known && !p.Price.UnknownSU }

// cost is the cost of a shape on a pool for its walltime, in the pool's unit.
func cost(s offer.Shape, p offer.Pool) decimal.Decimal {
	amounts, _ := place.Cost(s, place.NodePrice(p, p.Price), s.Walltime)
	return amounts[place.USD].Add(amounts[place.ServiceUnits])
}

// may reports whether a phase may use a backend.
func may(c *lang.Campaign, p *lang.Phase, backend string) bool {
	if slices.Contains(c.Policy.Deny, backend) || len(c.Policy.Allow) > 0 && !slices.Contains(c.Policy.Allow, backend) {
		return false
	}
	return len(p.Candidates) == 0 || slices.Contains(p.Candidates, backend)
}

// moveTo is the line that names another pool: an option of the job where the
// pool belongs to the same backend, else its candidates.
func (a *adviser) moveTo(p *lang.Phase, here, there offer.Pool) Edit {
	typ, _, _ := strings.Cut(there.Backend, ".")
	if there.Backend != here.Backend {
		if at, ok := a.attr(p, "candidates", "place"); ok {
			return a.edit(at, "[backend."+there.Backend+"]")
		}
		return a.add(p, "place { candidates = [backend."+there.Backend+"] }")
	}
	block := "options " + typ
	if at, ok := a.attr(p, there.Word, "job", block); ok {
		return a.edit(at, quoted(there.Name))
	}
	line := fmt.Sprintf("%s = %q", there.Word, there.Name)
	if e, ok := a.into(p, line, "job", block); ok {
		return e
	}
	line = fmt.Sprintf("options %q { %s }", typ, line)
	if e, ok := a.into(p, line, "job"); ok {
		return e
	}
	return a.add(p, line)
}

func where(p offer.Pool) string { return strings.TrimSpace(p.Word + " " + p.Name) }

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
