package apply

import (
	"slices"

	"github.com/muster-run/muster/state"
)

// waived reports whether a person let the gate at one of the addresses pass: for any
// fingerprint, or for this one. Print is called only where it decides; nil means every gate,
// so that only the first kind counts.
func waived(st *state.State, print func() string, addresses ...string) bool {
	return slices.ContainsFunc(st.Overrides, func(o state.Override) bool {
		return slices.Contains(addresses, o.Address) && (o.Fingerprint == "" || print != nil && o.Fingerprint == print())
	})
}
