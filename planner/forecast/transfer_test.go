package forecast

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// elsewhere is a group of jobs of some minutes on another machine.
func elsewhere(d float64) Group {
	g := onMachine(minutes(d))
	g.Decision.Backend = "ssh.lab"
	return g
}

// leg has an input wait for a transfer, where its job goes to the other machine.
func leg(input, transfer int) func(*Phase) {
	return func(p *Phase) {
		p.Legs = append(p.Legs, make([][]Leg, input+1-len(p.Legs))...)
		p.Legs[input] = append(p.Legs[input], Leg{transfer, func(d place.Decision) bool { return d.Backend == "ssh.lab" }})
	}
}

// TestTransfers: what is read elsewhere arrives before it is read, one output after
// another, those of one link in turn; whoever reads where it was made waits for
// nothing more.
func TestTransfers(t *testing.T) {
	t.Parallel()
	way := func(name, phase string, each float64, cells ...int32) Transfer {
		return Transfer{Name: name, Phase: phase, Cells: cells, Link: "ssh.lab", Each: minutes(each), Late: 2 * minutes(each)}
	}
	b := func(mods ...func(*Phase)) Phase { return phase("b", 2, 10, append(mods, group(elsewhere(10)))...) }
	for name, c := range map[string]struct {
		in       Input
		p50, p90 float64 // minutes
		critical string
	}{
		"each after its own": {Input{Phases: []Phase{phase("a", 2, 10), b(from("a", newOneToOne(2)), leg(0, 0), of(2, 2))}, Transfers: []Transfer{way("w", "a", 5, 0, 1)}},
			30, 60, "a w b"}, // 10 + 5 + 5 + 10; late 20 + 10 + 10 + 20
		"one that reads where it is made": {Input{Phases: []Phase{phase("a", 2, 10), b(from("a", newOneToOne(2)), leg(0, 0), of(1, 2))}, Transfers: []Transfer{way("w", "a", 5, 1)}},
			25, 50, "a w b"},
		"what lies there already": {Input{Phases: []Phase{phase("a", 2, 10, of(0, 0)), b(from("a", newOneToOne(2)), leg(0, 0), of(2, 2))}, Transfers: []Transfer{way("w", "a", 5, 0, 1)}},
			20, 40, "w b"},
		"its phase is not planned": {Input{Phases: []Phase{b(from("z", newOneToOne(2)), leg(0, 0), of(2, 2))}, Transfers: []Transfer{way("w", "z", 5, 0, 1)}}, 10, 20, "b"},
		"two ways on one link": {Input{Phases: []Phase{phase("a", 1, 10), phase("c", 1, 10), phase("b", 1, 10, group(elsewhere(10)), of(2), from("a", newEverything(1)), from("c", newEverything(1)), leg(0, 0), leg(1, 1))},
			Transfers: []Transfer{way("w", "a", 5, 0), way("v", "c", 5, 0)}}, 30, 60, "c v b"},
		"its producer never ends": {Input{Phases: []Phase{phase("a", 2, 10, of(1, Never)), b(from("a", newOneToOne(2)), leg(0, 0), of(2, 2))}, Transfers: []Transfer{way("w", "a", 5, 0, 1)}},
			25, 50, "a w b"},
		"a smoke reads there, too": {Input{Phases: []Phase{phase("a", 1, 10), phase("b", 1, 10, group(elsewhere(10)), of(2), from("a", newEverything(1)), leg(0, 0), func(p *Phase) {
			p.Smoke, p.SmokeJob = []int{0}, elsewhere(3)
		})}, Transfers: []Transfer{way("w", "a", 5, 0)}}, 28, 56, "a w b"},
		"no time": {Input{Phases: []Phase{phase("a", 2, 10), b(from("a", newOneToOne(2)), leg(0, 0), of(2, 2))}, Transfers: []Transfer{way("w", "a", 0, 0, 1)}}, 20, 40, "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Pools = []offer.Pool{machine(8), {Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 8, Idle: 8, Total: 8}}
			f := Make(c.in)
			if f.Walltime.P50.Minutes() != c.p50 || f.Walltime.P90.Minutes() != c.p90 {
				t.Errorf("%s and %s, want %v and %v minutes", f.Walltime.P50, f.Walltime.P90, c.p50, c.p90)
			}
			if got := strings.Join(f.Critical, " "); got != c.critical {
				t.Errorf("critical path %s, want %s", got, c.critical)
			}
			for _, h := range c.in.Transfers {
				shown := slices.ContainsFunc(f.Phases, func(s PhaseSpan) bool { return s.Phase == h.Name })
				if want := strings.Contains(c.critical, h.Name) || name == "two ways on one link"; shown != want {
					t.Errorf("%s has a row: %t", h.Name, shown)
				}
			}
		})
	}
}
