package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
)

// HowToPrice names the setting that would make a place's charge in service units known, beside
// the prices of its neighbours.
func (d Decision) HowToPrice(backends []*lang.Backend) string {
	pool := strings.TrimSpace(cmp.Or(d.Word, "pool") + " " + d.Pool)
	var profile string
	if at := slices.IndexFunc(backends, func(b *lang.Backend) bool { return b.Address() == d.Backend }); at >= 0 {
		profile = backends[at].Profile
	}
	switch {
	case profile == "":
		return fmt.Sprintf("state one for %s of backend.%s, 0 where it is free", pool, d.Backend)
	case strings.HasSuffix(profile, ".hcl"):
		return fmt.Sprintf("give %s a price in %s, service_units_per_node_hour = 0 where it is free", pool, profile)
	}
	return fmt.Sprintf("name a profile of your own on backend.%s, a file, in which %s has a price, service_units_per_node_hour = 0 where it is free", d.Backend, pool)
}
