package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/offer"
)

// less says what a job could ask for less of, each by itself, for a partition to
// have enough nodes that have all of it at once; "" if nothing alone would do.
func (l *Partition) less(shape offer.Shape, constraint string) string {
	var ways []string
	way := func(format string, args ...any) { ways = append(ways, fmt.Sprintf(format, args...)) }
	nodes := max(shape.Nodes, 1)
	enough := func(s offer.Shape, constraint string) []*nodeFacts {
		if list := l.together(s, constraint); len(list) >= nodes {
			return list
		}
		return nil
	}
	s := shape
	for s.GPUs -= nodes; s.GPUs > 0; s.GPUs -= nodes {
		if enough(s, constraint) != nil {
			way("ask for at most gpus = %d", s.GPUs)
			break
		}
	}
	s = shape
	if s.GPU.Models = nil; len(shape.GPU.Models) > 0 {
		if list := enough(s, constraint); list != nil && len(types(list, (s.GPUs+nodes-1)/nodes)) > 0 {
			way("models = [%s]", strings.Join(types(list, (s.GPUs+nodes-1)/nodes), ", "))
		}
	}
	s = shape
	if s.Memory = 0; shape.Memory > 0 {
		if list := enough(s, constraint); list != nil {
			slices.SortFunc(list, func(a, b *nodeFacts) int { return cmp.Compare(b.memory, a.memory) })
			way("ask for at most memory = %s", measures[1].value(list[nodes-1].memory*int64(nodes)))
		}
	}
	s = shape
	if s.CPUs = nodes; shape.CPUs > nodes {
		if list := enough(s, constraint); list != nil {
			slices.SortFunc(list, func(a, b *nodeFacts) int { return cmp.Compare(b.cpus, a.cpus) })
			way("ask for at most cpus = %d", list[nodes-1].cpus*nodes)
		}
	}
	if len(required(constraint)) > 0 && enough(shape, "") != nil {
		way("take constraint out")
	}
	if have := len(l.together(shape, constraint)); have > 0 && shape.GPUs%nodes == 0 {
		way("ask for at most nodes = %d", have)
	}
	return strings.Join(ways, "; or ")
}

// types are the types of GPUs of which some nodes have so many, as a campaign
// writes them.
func types(list []*nodeFacts, count int) (names []string) {
	for _, n := range list {
		for model, has := range n.gpus {
			if name := strconv.Quote(strings.ToUpper(model)); has >= count && model != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
