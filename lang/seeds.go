package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/wording"
)

// seedAxis is the name of an axis of independent samples that needs no repeat.
const seedAxis = "seed"

// seeded warns of phases with fewer samples of a setting than the policy asks for.
func (ps *phases) seeded(least int, at hcl.Range) {
	for _, p := range ps.order {
		samples, settings := p.samples()
		if least <= 1 || !p.ok || len(samples) == 0 {
			continue
		}
		each := p.Grid.Project(settings)
		seeds, fewest, few := make([]int, each.Len()), 0, 0
		for i := range p.Len() {
			seeds[each.Of(i)]++
		}
		for k, n := range seeds {
			if n < least {
				few++
			}
			if n < seeds[fewest] {
				fewest = k
			}
		}
		if few == 0 {
			continue
		}
		of := ""
		if len(settings) > 0 {
			of = " of " + setting(p.Grid, settings, each.First(fewest))
			if few > 1 {
				of += ", and too few of " + wording.Count(few-1, "more setting")
			}
		}
		ps.Perhaps.Warnat(p.Range, "Few seeds", "phase.%s runs %s%s; min_seeds of the policy (line %d) asks for %d. Add values to %s, or state the number beside the results.",
			p.Name, wording.Count(seeds[fewest], "seed"), of, at.Start.Line, least, strings.Join(samples, " or "))
	}
}

// samples are the axes of independent samples by name; settings are the others.
func (p *Phase) samples() (samples []string, settings []int) {
	for a, axis := range p.Grid.Axes {
		if axis.Name == seedAxis || slices.Contains(p.Grid.Repeat, axis.Name) {
			samples = append(samples, axis.Name)
		} else {
			settings = append(settings, a)
		}
	}
	return samples, settings
}

// setting is a cell's values on some axes: N=384,lr=0.1.
func setting(g *grid.Grid, axes []int, cell int) string {
	var parts []string
	for _, a := range axes {
		parts = append(parts, g.Axes[a].Name+"="+string(addr.AppendKeyText(nil, g.Value(cell, a).Text)))
	}
	return strings.Join(parts, ",")
}
