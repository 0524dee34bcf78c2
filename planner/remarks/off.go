package remarks

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Work is a phase of which something starts.
type Work struct {
	*lang.Phase
	Placements []place.Decision
	Starting   map[int]int     // jobs that start, by the index of their placement
	Unplaced   bool            // some of it has nowhere to start
	Smokes     int             // to be run before it
	SmokesAt   place.Decision  // where; zero = nowhere
	Moves      map[string]bool // inputs whose files move between backends
}

// noPlaceYet is why jobs wait that fit nowhere, or where nobody can be asked.
const noPlaceYet = "jobs that have no place yet"

// MusterOff says what runs while muster is off, and what the rest waits for:
// the rows "no" of the table in the design that apply to these works, which
// come in the order of the campaign; "" where none of them has a place.
func MusterOff(works []Work, can map[string]offer.Capabilities, pools []offer.Pool) string {
	first, rest := handedOver(works, can, pools)
	switch {
	case len(first) == 0 && (len(rest) == 0 || slices.Equal(rest, []string{noPlaceYet})):
		return ""
	case len(rest) == 0:
		run := "runs"
		if len(first) > 1 {
			run = "run"
		}
		return fmt.Sprintf("With muster off: %s %s everything once it is handed over.", strings.Join(first, ", "), run)
	case len(first) == 0:
		return fmt.Sprintf("With muster off: nothing starts; it waits for `muster apply -once` (%s).", strings.Join(rest, ", then "))
	}
	return fmt.Sprintf("With muster off: %s; the rest waits for `muster apply -once` (%s).", strings.Join(first, "; "), strings.Join(rest, ", then "))
}

// A queue is where jobs are counted together: a pool, and in it those that have
// a limit of their own.
type queue struct {
	backend, pool string
	own           int // as in offer.Limits
}

// handedOver is what backends run by themselves, and why the rest is not
// among it, in the order in which the plan meets the reasons.
func handedOver(works []Work, can map[string]offer.Capabilities, pools []offer.Pool) (first, rest []string) {
	stopped := map[string]bool{} // phases that wait for the engine
	say := func(why string) {
		if !slices.Contains(rest, why) {
			rest = append(rest, why)
		}
	}
	full, tried := map[string]bool{}, map[string]int{} // by backend: whether it has whole phases, how many smokes
	starting := map[queue]int{}
	for _, w := range works {
		waits := false
		for _, in := range w.Inputs {
			waits = waits || stopped[in.From.Name]
			if w.Moves[in.Name] {
				say("files that move between backends")
				waits = true
			}
		}
		for _, name := range w.DependsOn {
			waits = waits || stopped[name]
		}
		if !waits && w.waitsForEngine(works, can) {
			say("jobs that read what others make")
			waits = true
		}
		if !waits && w.Smokes > 0 && !w.ridesBehindSmokes(can) {
			why := "a gate"
			if len(w.Smoke.Expect) > 0 {
				why = "a gate on expect"
			}
			say(why)
			if on := w.SmokesAt.Backend; on != "" {
				tried[on] += w.Smokes
			}
			waits = true
		}
		if waits {
			stopped[w.Name] = true
			continue
		}
		for i, d := range w.Placements {
			if d.Backend != "" {
				full[d.Backend] = true
				starting[queue{d.Backend, d.Pool, d.Limits.MaxSubmit}] += w.Starting[i]
			}
		}
		if w.Unplaced {
			say(noPlaceYet)
		}
	}
	for _, p := range pools {
		for _, q := range slices.SortedFunc(maps.Keys(starting), func(a, b queue) int { return cmp.Compare(a.own, b.own) }) {
			if q.backend != p.Backend || q.pool != p.Name || p.Word == "offer" { // rentals have no queue
				continue
			}
			most := offer.Limits{MaxSubmit: q.own}.On(p).MaxSubmit
			if n := starting[q]; most > 0 && n > most {
				say(fmt.Sprintf("%s takes %s of yours at a time, of %d", strings.TrimSpace(p.Word+" "+p.Name), units.Count(most, "job"), n))
			}
		}
	}
	if len(rest) == 0 {
		return slices.Sorted(maps.Keys(full)), nil
	}
	return parts(tried, full), rest
}

// parts says of each backend what it runs although other work waits: its
// smokes, and the phases that were handed over whole.
func parts(smokes map[string]int, full map[string]bool) []string {
	var out []string
	for _, b := range slices.Sorted(maps.Keys(smokes)) {
		line := nickname(b) + " runs " + Smokes(smokes[b])
		if full[b] {
			line += " and what else was handed to it"
		}
		out = append(out, line)
	}
	for _, b := range slices.Sorted(maps.Keys(full)) {
		if smokes[b] == 0 {
			out = append(out, nickname(b)+" runs what was handed to it")
		}
	}
	return out
}

// waitsForEngine reports whether a phase reads what is still to be made, on a
// backend that cannot wait for it by itself.
func (w Work) waitsForEngine(works []Work, can map[string]offer.Capabilities) bool {
	alone := slices.ContainsFunc(w.Placements, func(d place.Decision) bool {
		typ, _, _ := strings.Cut(d.Backend, ".")
		return d.Backend != "" && !can[typ].Dependencies
	})
	return alone && slices.ContainsFunc(works, func(from Work) bool {
		return slices.Contains(w.DependsOn, from.Name) ||
			slices.ContainsFunc(w.Inputs, func(in *lang.Input) bool { return in.From.Name == from.Name })
	})
}

// ridesBehindSmokes reports whether a phase's jobs are queued behind its smokes:
// nothing but their success is expected, and one queue has them all.
func (w Work) ridesBehindSmokes(can map[string]offer.Capabilities) bool {
	typ, _, _ := strings.Cut(w.SmokesAt.Backend, ".")
	return len(w.Smoke.Expect) == 0 && can[typ].Dependencies && !slices.ContainsFunc(w.Placements, func(d place.Decision) bool {
		return d.Backend != "" && (d.Backend != w.SmokesAt.Backend || can[typ].HostQueue && d.Pool != w.SmokesAt.Pool)
	})
}

// Smokes is "the smoke" or "the 3 smokes".
func Smokes(n int) string {
	switch n {
	case 1:
		return "the smoke"
	case 2:
		return "the two smokes"
	}
	return fmt.Sprintf("the %d smokes", n)
}

// nickname is a backend's own name without its type.
func nickname(backend string) string {
	_, name, ok := strings.Cut(backend, ".")
	if !ok {
		return backend
	}
	return name
}

// NoCeiling warns of rentals that nothing stops while muster is off.
func NoCeiling(backends []*lang.Backend, used map[string]bool, can map[string]offer.Capabilities) (notes []string) {
	for _, b := range backends {
		if used[b.Address()] && can[b.Type].Rents && b.OnHold == "keep" {
			notes = append(notes, fmt.Sprintf("backend.%s: no ceiling while muster is off: $%s/h.", b.Address(), cmp.Or(b.Price.USDPerHour, b.Price.USDPerGPUHour, b.Price.USDPerCPUHour, "?")))
		}
	}
	return notes
}
