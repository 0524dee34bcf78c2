package planner

import "github.com/muster-run/muster/lang"

// nearness is where the inputs of a phase's cells are, by input and group: a bit
// for each host that has all of them.
type nearness struct {
	inputs []*lang.Input
	have   [][]uint64
}

// Add counts in an input, with the bits of its groups.
func (n *nearness) Add(in *lang.Input, have []uint64) {
	n.inputs, n.have = append(n.inputs, in), append(n.have, have)
}

// away counts the inputs of a cell that a host does not have, of those that
// some host has.
func (n *nearness) away(cell int, bit uint64) int {
	far := 0
	for k, in := range n.inputs {
		if have := n.have[k][in.GroupOf(cell)]; have != 0 && have&bit == 0 {
			far++
		}
	}
	return far
}

// Settle notes that a cell's inputs are on a host once it ran there.
func (n *nearness) Settle(cell int, bit uint64) {
	for k, in := range n.inputs {
		n.have[k][in.GroupOf(cell)] |= bit
	}
}
