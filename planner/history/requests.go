package history

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// offBy is how far a request may be from the evidence before it is pointed
// out.
const offBy = 2

// shortWalltime is a walltime so short that no scheduler places a job worse
// for it.
const shortWalltime = 10 * time.Minute

// FarOff says of each kind of jobs that start and ask for the same memory whether it
// is too much or too little; starts tells which do.
func (h *Past) FarOff(starts func(asked int64) bool) (out []string) {
	for _, m := range h.Memory() {
		if v := m.Verdict(); v != TooMuch && v != TooLittle || m.Launches < enoughRuns || !starts(m.Asked) {
			continue
		}
		asks := "no memory"
		if m.Asked > 0 {
			asks = units.FormatSize(m.Asked) + " of memory"
		}
		if out = append(out, fmt.Sprintf("phase.%s asks for %s, and %s.", h.phase.Name, asks, m.Why())); len(out) == mostSizes {
			break
		}
	}
	return out
}

// mostSizes limits the sizes of a phase's jobs that a plan calls wrong.
const mostSizes = 3

// LittleMemory, in bytes, is a request that nobody need lower, whatever was used:
// an interpreter takes that much to start, and peaks of a moment are not seen.
const LittleMemory = 64_000_000

// FarOff reports requested time and cores that are more than twice, or less than half, of the
// most that the phase's runs used; longest is the expected time of the next ones.
func (ev *Measurements) FarOff(most offer.Shape, longest time.Duration) []string {
	longest = max(longest, ev.longest)
	runs := fmt.Sprintf("%d runs", len(ev.seen))
	var out []string
	say := func(asked, used float64, what, format func(float64) string) {
		if used <= 0 || asked <= 0 || asked <= offBy*used && asked*offBy >= used {
			return
		}
		out = append(out, fmt.Sprintf("phase.%s asks for %s, and the most that any of its %s used was %s.", ev.phase, what(asked), runs, format(used)))
	}
	span := func(v float64) string {
		if d := time.Duration(v); d >= time.Second {
			return units.ShortDuration(d.Round(time.Second))
		}
		return "less than 1s"
	}
	if most.Walltime > shortWalltime && most.Walltime > offBy*longest { // a shorter one shows as a runtime that passes it
		say(float64(most.Walltime), float64(longest), func(v float64) string { return "a walltime of " + span(v) }, span)
	}
	if most.CPUs > 1 {
		cores := func(v float64) string { return fmt.Sprintf("%.2g cores", v) }
		if busy := max(ev.cores, 1); float64(most.CPUs) > offBy*busy && ev.cores > 0 {
			say(float64(most.CPUs), busy, cores, cores)
		}
	}
	return out
}
