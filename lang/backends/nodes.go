package backends

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/providers/offer"
)

// Nodes is how many nodes a job takes up: the number in its options for a type of backend,
// where that is larger than in its resources, since muster requests and pays for that one
// there. Where it may also run on a type that ignores these options, one number for both
// cannot be right, and is reported.
func (s *Set) Nodes(shape offer.Shape, options map[string]json.RawMessage, blocks []*syntax.Block, candidates []string) int {
	nodes := shape.Nodes
	for _, b := range blocks {
		var asked struct{ Nodes int }
		if json.Unmarshal(options[b.Name()], &asked) != nil || asked.Nodes <= shape.Nodes {
			continue // or its provider reports its problem
		}
		own := func(at string) bool { return strings.HasPrefix(at, b.Name()+".") }
		places := s.mayRunOn(shape, candidates)
		switch other := slices.IndexFunc(places, func(at string) bool { return !own(at) }); {
		case !slices.ContainsFunc(places, own): // nothing reads them
		case other < 0:
			nodes = max(nodes, asked.Nodes)
		case !s.split[b.Range]:
			s.split[b.Range] = true
			s.Wrong(b.Expr("nodes"), "nodes", "It asks for %d nodes, and resources for %d. On %s the jobs get %[2]d. Write nodes = %[1]d in resources, or let only backends of type %[4]s be candidates.", asked.Nodes, shape.Nodes, places[other], b.Name())
		}
	}
	return nodes
}

// mayRunOn are the places of a job of a shape: its candidates, without any this
// machine, or all for one with GPUs.
func (s *Set) mayRunOn(shape offer.Shape, candidates []string) []string {
	switch {
	case len(candidates) > 0:
		return candidates
	case shape.GPUs > 0:
		return s.Names
	}
	return []string{Local}
}
