package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
)

// musterOff says what runs while muster is off, and what the rest waits for:
// the rows "no" of the table in the design that apply to this plan.
func (m *maker) musterOff() []string {
	if !m.anythingRuns() {
		return nil
	}
	first, rest := m.handedOver()
	var out []string
	switch {
	case len(rest) == 0:
		run := "runs"
		if len(first) > 1 {
			run = "run"
		}
		out = append(out, fmt.Sprintf("With muster off: %s %s everything once it is handed over.", strings.Join(first, ", "), run))
	case len(first) == 0:
		out = append(out, fmt.Sprintf("With muster off: nothing starts; it waits for `muster apply -once` (%s).", strings.Join(rest, ", then ")))
	default:
		out = append(out, fmt.Sprintf("With muster off: %s; the rest waits for `muster apply -once` (%s).", strings.Join(first, "; "), strings.Join(rest, ", then ")))
	}
	return append(out, m.noCeiling()...)
}

// handedOver is what backends run by themselves, and why the rest is not
// among it, in the order in which the plan meets the reasons.
func (m *maker) handedOver() (first, rest []string) {
	stopped := map[string]bool{} // phases that wait for the engine
	say := func(why string) {
		if !slices.Contains(rest, why) {
			rest = append(rest, why)
		}
	}
	full := map[string]bool{}
	for _, w := range m.works {
		if !w.starting() {
			continue
		}
		waits := false
		for _, in := range w.p.Inputs {
			waits = waits || stopped[in.From.Name]
			for _, t := range m.plan.Transfers {
				if t.Phase == w.p.Name && t.Input == in.Name {
					say("files that move between backends")
					waits = true
				}
			}
		}
		for _, name := range w.p.DependsOn {
			waits = waits || stopped[name]
		}
		if !waits && m.waitsForEngine(w) {
			say("jobs that read what others make")
			waits = true
		}
		gate := w.pp.Smoke
		if !waits && gate != nil && len(gate.Run) > 0 {
			why := "a gate"
			if len(w.p.Smoke.Expect) > 0 {
				why = "a gate on expect"
			}
			say(why)
			if gate.Place.Backend != "" {
				first = append(first, fmt.Sprintf("%s runs %s", nickname(gate.Place.Backend), smokes(len(gate.Run))))
			}
			waits = true
		}
		if waits {
			stopped[w.p.Name] = true
			continue
		}
		for _, d := range w.pp.Placements {
			if d.Backend != "" {
				full[d.Backend] = true
			}
		}
	}
	if len(rest) == 0 {
		return slices.Sorted(maps.Keys(full)), nil
	}
	for _, b := range slices.Sorted(maps.Keys(full)) {
		first = append(first, nickname(b)+" runs what was handed to it")
	}
	return first, rest
}

// waitsForEngine reports whether a phase reads what is still to be made, on a
// backend that cannot wait for it by itself.
func (m *maker) waitsForEngine(w *work) bool {
	alone := slices.ContainsFunc(w.pp.Placements, func(d place.Decision) bool {
		typ, _, _ := strings.Cut(d.Backend, ".")
		return d.Backend != "" && !m.in.Can[typ].Dependencies
	})
	return alone && slices.ContainsFunc(m.works, func(from *work) bool {
		return from.starting() && (slices.Contains(w.p.DependsOn, from.p.Name) ||
			slices.ContainsFunc(w.p.Inputs, func(in *lang.Input) bool { return in.From.Name == from.p.Name }))
	})
}

func smokes(n int) string {
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

// noCeiling warns of rentals that nothing stops while muster is off.
func (m *maker) noCeiling() []string {
	var out []string
	used := m.backendsInUse()
	for _, b := range m.in.Campaign.Backends {
		if used[b.Address()] && m.in.Can[b.Type].Rents && b.OnHold == "keep" {
			out = append(out, fmt.Sprintf("backend.%s: no ceiling while muster is off: $%s/h.", b.Address(), orElse(b.Price.USDPerHour, orElse(b.Price.USDPerGPUHour, "?"))))
		}
	}
	return out
}
