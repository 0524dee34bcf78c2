package refresh

import (
	"encoding/json"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A jobGroup is like jobs of one phase: same resources, options and candidates.
type jobGroup struct {
	Phase      string
	Cells      int
	First      int // its first cell
	Candidates []string
	Shape      offer.Shape
	Options    map[string]json.RawMessage
	Smoke      bool
}

// jobGroups are the distinct questions of a campaign: like jobs with their
// candidates, so that one quote serves them all.
func jobGroups(c *lang.Campaign) []jobGroup {
	var out []jobGroup
	for _, p := range c.Phases {
		reqs := p.Requests(lang.Run)
		at := make([]int, len(reqs)) // index into out, plus one
		for i := range p.Len() {
			r := p.RequestOf(i, lang.Run)
			if at[r] == 0 {
				out = append(out, jobGroup{Phase: p.Name, First: i, Candidates: candidatesOf(p), Shape: reqs[r].Shape, Options: reqs[r].Options})
				at[r] = len(out)
			}
			out[at[r]-1].Cells++
		}
		out = append(out, smokeGroups(p)...)
	}
	return out
}

// candidatesOf are the candidates of a phase's runs and those of its overflow and of retries; without
// candidates of its own it may go anywhere.
func candidatesOf(p *lang.Phase) []string {
	if len(p.Candidates) == 0 {
		return nil
	}
	return slices.Concat(p.Candidates, lang.Beyond(p))
}

func smokeGroups(p *lang.Phase) []jobGroup {
	if p.Smoke == nil {
		return nil
	}
	var out []jobGroup
	at := map[[16]byte]int{}
	for _, cell := range p.Smoke.Cells {
		v := p.Smoke.Longest(cell)
		r := &p.Requests(v)[p.RequestOf(cell, v)]
		k, ok := at[r.Hash]
		if !ok {
			k = len(out)
			at[r.Hash] = k
			g := jobGroup{Phase: p.Name, First: cell, Candidates: p.Candidates, Shape: r.Shape, Options: r.Options, Smoke: true}
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
