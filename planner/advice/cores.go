package advice

import (
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/providers/offer"
)

var one = decimal.NewFromInt(1)

// cores compares the cores asked for with the most that a launch kept busy on
// the average of its time.
func (a *adviser) cores(g *group) []Proposal {
	var out []Proposal
	for _, c := range g.classes(askedCores) {
		busy := measures(c.launches, usedCores)
		if len(busy) < enough || c.asked <= 1 || c.asked <= offBy*max(most(busy), 1) {
			continue
		}
		n := int(math.Ceil(most(busy)*aboveUse - 1e-9))
		fewer := func(s offer.Shape) offer.Shape { s.CPUs = n; return s }
		p := Proposal{Phase: g.phase.Name, Kind: "cores", Title: "Ask for fewer cores, or let the program use them", Jobs: c.who(), Edit: a.asked(g, "cpus", fmt.Sprint(n)),
			Why:    fmt.Sprintf("%.0f cores requested, but the most that any of %s kept busy was %.2g.", c.asked, count(len(busy), "measured launch", "measured launches"), most(busy)),
			Margin: "20 % above the most that were busy, rounded up"}
		p.Saves = append(a.spared(c, fewer), a.beside(c, fewer)...)
		out = append(out, p)
	}
	return out
}
