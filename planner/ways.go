package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// A Faster is one thing that would make the plan end sooner.
type Faster struct {
	What  string        // "1 more GPU on ssh.lab"
	End   time.Duration // expected, from now
	Saves time.Duration
	// Costs is the change of the expected cost in money and service units; negative where it
	// is cheaper, absent where nothing changes.
	Costs map[string]string
	// Unknown says that its cost is unknown.
	Unknown bool
}

// Bounds of the changes that are tried, and of those shown.
const (
	fasterCells = 200_000          // of larger plans nothing is tried
	fasterFrom  = 10 * time.Minute // of shorter ones neither
	fasterBy    = 0.05             // share of the time that must be saved
	mostFaster  = 3
)

// A trial is one thing that is tried.
type trial struct {
	what string
	in   forecast.Input
}

// A fasterPhase is where the jobs of one go, in the order of the forecast's phases.
type fasterPhase struct {
	Name       string
	Placements []place.Decision
	Smoke      place.Decision // where its smokes are to run; zero = none are
}

// carry adds to an input the files that would move if all jobs of a phase went to another
// candidate.
type carry func(in *forecast.Input, phase string, to place.Candidate)

// fasterWays lists changes that would end the forecast sooner, each tried by itself in the
// simulation, the largest saving first.
func fasterWays(f forecast.Forecast, in forecast.Input, phases []fasterPhase, carried carry) []Faster {
	cells := 0
	for _, p := range in.Phases {
		cells += len(p.Of)
	}
	if cells > fasterCells || f.Walltime.Mark == forecast.Unknown || f.Walltime.P50 < fasterFrom {
		return nil
	}
	critical := map[string]bool{}
	for _, name := range f.Critical {
		critical[name] = true
	}
	var out []Faster
	for _, c := range slices.Concat(moreDevices(in, phases, critical), higherCaps(in, critical), otherPools(in, phases, critical, carried)) {
		end, lines := forecast.Outlook(c.in)
		saves := f.Walltime.P50 - end
		if float64(saves) < fasterBy*float64(f.Walltime.P50) {
			continue
		}
		x := Faster{What: c.what, End: end, Saves: saves}
		x.Costs, x.Unknown = costDifference(f.Lines, lines)
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Faster) int { return cmp.Compare(b.Saves, a.Saves) })
	return out[:min(len(out), mostFaster)]
}

// costDifference is by how much one forecast is expected to cost more than another.
func costDifference(was, is []forecast.CostLine) (out map[string]string, unknown bool) {
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		a, b := forecast.LineOf(was, unit), forecast.LineOf(is, unit)
		if b.Expected.Mark == forecast.Unknown || a.Expected.Mark == forecast.Unknown {
			unknown = true
			continue
		}
		if d := amount.Of(b.Expected.Text).Sub(amount.Of(a.Expected.Text)); !d.IsZero() {
			if out == nil {
				out = map[string]string{}
			}
			out[unit] = d.String()
		}
	}
	return out, unknown
}

// moreDevices adds the devices that one more job takes to each pool of the
// critical path.
func moreDevices(in forecast.Input, phases []fasterPhase, critical map[string]bool) (out []trial) {
	tried := map[[3]any]bool{}
	for _, w := range phases {
		for _, d := range w.Placements {
			key := [3]any{d.Backend, d.Pool, d.Shape.GPUs}
			if !critical[w.Name] || d.Backend == "" || d.Shape.GPUs == 0 || tried[key] {
				continue
			}
			tried[key] = true
			at := slices.IndexFunc(in.Pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if at < 0 {
				continue
			}
			n := in.Pools[at].Takes(d.Price.Given(d.Shape)).Devices
			if pools, ok := forecast.OneMore(in.Pools, at, n); ok {
				more := in
				more.Pools = pools
				what := "1 more GPU"
				if n > 1 {
					what = fmt.Sprintf("%d more GPUs", n)
				}
				out = append(out, trial{fmt.Sprintf("%s on %s", what, placeText(d.Backend, d.Word, d.Pool)), more})
			}
		}
	}
	return out
}

// higherCaps doubles each max_parallel that holds for the critical path.
func higherCaps(in forecast.Input, critical map[string]bool) (out []trial) {
	twice := func(n int, where string) string {
		return fmt.Sprintf("max_parallel = %d instead of %d%s", 2*n, n, where)
	}
	if n := in.CampaignCap; n > 0 {
		more := in
		more.CampaignCap = 2 * n
		out = append(out, trial{twice(n, ""), more})
	}
	for _, name := range slices.Sorted(maps.Keys(in.BackendCaps)) {
		if n := in.BackendCaps[name]; n > 0 {
			more := in
			more.BackendCaps = maps.Clone(in.BackendCaps)
			more.BackendCaps[name] = 2 * n
			out = append(out, trial{twice(n, " on backend."+name), more})
		}
	}
	for i, p := range in.Phases {
		if p.Cap > 0 && critical[p.Name] {
			more := in
			more.Phases = slices.Clone(in.Phases)
			more.Phases[i].Cap = 2 * p.Cap
			out = append(out, trial{twice(p.Cap, " in phase."+p.Name), more})
		}
	}
	return out
}

// otherPools moves each phase of the critical path to each other candidate that
// could take all of it, as if it ran as fast there.
func otherPools(in forecast.Input, phases []fasterPhase, critical map[string]bool, carried carry) (out []trial) {
	for i, w := range phases {
		if !critical[w.Name] {
			continue
		}
		for _, to := range otherCandidates(w) {
			more := in
			more.Phases = slices.Clone(in.Phases)
			more.Phases[i].Groups = slices.Clone(in.Phases[i].Groups)
			for k := range more.Phases[i].Groups {
				g := &more.Phases[i].Groups[k]
				if g.Decision.Backend != "" && !g.InFlight && !g.Queued {
					g.Decision, g.Dearer = g.Decision.To(to), nil
				}
			}
			if g := &more.Phases[i].SmokeJob; g.Decision.Backend != "" { // it is tried where it runs
				g.Decision, g.Dearer = g.Decision.To(smokeAt(w.Smoke, to)), nil
			}
			carried(&more, w.Name, to)
			word := ""
			if d := w.Placements[w.firstPlaced()]; d.Backend == to.Backend {
				word = d.Word
			}
			what := fmt.Sprintf("phase.%s on %s, if it is as fast there", w.Name, placeText(to.Backend, word, to.Pool))
			if n := len(in.Phases[i].Of); n > 1 && takesAny(in.Pools, w, to) {
				what += fmt.Sprintf(" and has room for %s at once", amount.Jobs(n))
			}
			out = append(out, trial{what, more})
		}
	}
	return out
}

// takesAny reports whether nobody has stated how many jobs of a phase a
// candidate runs at once: the simulation runs all of them there.
func takesAny(pools []offer.Pool, w fasterPhase, to place.Candidate) bool {
	at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == to.Backend && p.Name == to.Pool })
	if at < 0 {
		return true
	}
	_, bounded := forecast.Bound(pools[at], w.Placements[w.firstPlaced()].To(to))
	return !bounded
}

// smokeAt is where a smoke goes whose jobs go to a pool: to the cheapest that its
// backend has for it, of these to the one that starts soonest, else to the pool
// itself.
func smokeAt(d place.Decision, to place.Candidate) place.Candidate {
	there := slices.DeleteFunc(slices.Clone(d.Candidates), func(c place.Candidate) bool { return c.Backend != to.Backend || !c.Fits })
	if len(there) == 0 {
		to.Segments = 1
		return to
	}
	return slices.MinFunc(there, func(a, b place.Candidate) int {
		for _, unit := range []string{place.USD, place.ServiceUnits} {
			if o := amount.Of(a.Cost[unit]).Cmp(amount.Of(b.Cost[unit])); o != 0 {
				return o
			}
		}
		return cmp.Compare(a.Wait, b.Wait)
	})
}

// firstPlaced is the first placement of a phase that holds one.
func (w fasterPhase) firstPlaced() int {
	return max(slices.IndexFunc(w.Placements, func(d place.Decision) bool { return d.Backend != "" }), 0)
}

// otherCandidates are those that fit every request of a phase and have not won
// all of them.
func otherCandidates(w fasterPhase) (out []place.Candidate) {
	type pool struct{ backend, name string }
	decisions, fits, won := 0, map[pool]int{}, map[pool]int{}
	for _, d := range w.Placements {
		if d.Backend == "" {
			continue
		}
		decisions++
		for _, c := range d.Candidates {
			at := pool{c.Backend, c.Pool}
			if !c.Fits {
				continue
			}
			if fits[at]++; fits[at] == 1 {
				out = append(out, c)
			}
			if c.Won {
				won[at]++
			}
		}
	}
	return slices.DeleteFunc(out, func(c place.Candidate) bool {
		at := pool{c.Backend, c.Pool}
		return fits[at] < decisions || won[at] == decisions
	})
}

func placeText(backend, word, pool string) string {
	switch {
	case pool == "":
		return backend
	case word == "":
		return backend + ", " + pool
	}
	return backend + ", " + word + " " + pool
}

// Price is its cost, in words: "at the same cost", "for $3.2 more".
func (w Faster) Price() string {
	text := ""
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		d, err := decimal.NewFromString(w.Costs[unit])
		if err != nil {
			continue
		}
		if text != "" {
			text += " and "
		}
		if d.IsNegative() {
			text += amount.Words(unit, d.Neg().String()) + " less"
		} else {
			text += amount.Words(unit, d.String()) + " more"
		}
	}
	switch {
	case text != "" && w.Unknown:
		return "for " + text + ", and a price that is not known"
	case text != "":
		return "for " + text
	case w.Unknown:
		return "at an unknown price"
	}
	return "for the same"
}
