package selection

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
)

// mostProposed is how many words are completed: more is no help to anybody at
// a prompt.
const mostProposed = 2000

// Proposed lists completions of an address: those of the campaign and, once a
// word is begun, the values of its axes: seed=42,N=384.
func Proposed(c *lang.Campaign, begun string) []string {
	out := Jobs{}.List(c)
	out = out[:min(len(out), mostProposed)]
	if begun != "" {
		out = append(out, axisValues(c, begun[:strings.LastIndexByte(begun, ',')+1])...)
	}
	return out
}

// axisValues are the axis=value of all cells, each after the pairs that stand
// there before it.
func axisValues(c *lang.Campaign, before string) []string {
	seen := map[string]bool{}
	var out []string
	for _, p := range c.Phases {
		for i := range min(p.Len(), mostProposed) {
			for axis, value := range p.Axes(i) {
				pair := before + axis + "=" + string(addr.AppendKeyText(nil, value))
				if !seen[pair] && len(out) < mostProposed {
					seen[pair], out = true, append(out, pair)
				}
			}
		}
	}
	return out
}
