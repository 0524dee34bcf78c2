// Package questions lists what is to be asked of backends before a plan is
// made, so that nothing is asked twice.
package questions

import (
	"encoding/json"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A Group is like jobs of one phase: same resources, options and candidates.
type Group struct {
	Phase      string
	Cells      int
	First      int // its first cell
	Candidates []string
	Shape      offer.Shape
	Options    map[string]json.RawMessage
	Smoke      bool
}

// Groups are the distinct questions of a campaign: like jobs with their
// candidates, so that one quote serves them all.
func Groups(c *lang.Campaign) []Group {
	var out []Group
	for _, p := range c.Phases {
		reqs := p.Requests(lang.Run)
		at := make([]int, len(reqs)) // index into out, plus one
		for i := range p.Len() {
			r := p.RequestOf(i, lang.Run)
			if at[r] == 0 {
				out = append(out, Group{Phase: p.Name, First: i, Candidates: all(p), Shape: reqs[r].Shape, Options: reqs[r].Options})
				at[r] = len(out)
			}
			out[at[r]-1].Cells++
		}
		out = append(out, smokeGroups(p)...)
	}
	return out
}

// all are the candidates of a phase's runs and those of its overflow; without
// candidates of its own it may go anywhere.
func all(p *lang.Phase) []string {
	if len(p.Candidates) == 0 {
		return nil
	}
	return slices.Concat(p.Candidates, p.Overflow)
}

func smokeGroups(p *lang.Phase) []Group {
	if p.Smoke == nil {
		return nil
	}
	var out []Group
	reqs := p.Requests(lang.SmokeRun)
	at := map[int]int{}
	for _, cell := range p.Smoke.Cells {
		r := p.RequestOf(cell, lang.SmokeRun)
		k, ok := at[r]
		if !ok {
			k = len(out)
			at[r] = k
			g := Group{Phase: p.Name, First: cell, Candidates: p.Candidates, Shape: reqs[r].Shape, Options: reqs[r].Options, Smoke: true}
			if len(p.Smoke.Candidates) > 0 {
				g.Candidates = p.Smoke.Candidates
			}
			g.Shape.Smoke = true
			out = append(out, g)
		}
		out[k].Cells++
	}
	return out
}
