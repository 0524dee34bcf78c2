package unattended

import (
	"slices"
	"strings"
)

// Simulated reports whether all backends of a list, by address, are simulated. Nothing goes on
// there with muster off: simulated time is that of a running muster.
func Simulated(backends []string) bool {
	return len(backends) > 0 && !slices.ContainsFunc(backends, func(name string) bool { return !strings.HasPrefix(name, "sim.") })
}
