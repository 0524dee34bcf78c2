package view

import (
	"strings"

	"github.com/muster-run/muster/planner"
)

// A lossKind is what is lost of one phase in one way.
type lossKind struct {
	word, phase string
	addresses   []string
}

// namedLosses is how many losses of one kind are named one by one.
const namedLosses = 3

// lossKinds gathers rows by what is done and of which phase, in their order.
func lossKinds(rows []planner.Destruction) (out []*lossKind) {
	at := map[[2]string]*lossKind{}
	for _, r := range rows {
		word := Word(r.Kind)
		if r.Release {
			word = "- release"
		}
		phase, _, _ := strings.Cut(r.Address, "[")
		key := [2]string{word, phase}
		if at[key] == nil {
			at[key] = &lossKind{word: strings.TrimPrefix(word, "- "), phase: phase}
			out = append(out, at[key])
		}
		at[key].addresses = append(at[key].addresses, r.Address)
	}
	return out
}

// of names what is lost: a few by their addresses, more by their number.
func (k *lossKind) of() string {
	if n := len(k.addresses); n > namedLosses {
		return jobs(n, "", "") + " of " + code(k.phase) + ", the first " + code(k.addresses[0])
	}
	var out []string
	for _, a := range k.addresses {
		out = append(out, code(a))
	}
	return strings.Join(out, ", ")
}
