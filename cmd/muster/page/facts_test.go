package page

import (
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/offer"
)

// Below the pools the page says where facts come from if they have more than one source, what
// each source says if they differ, and what is known of the site.
func TestWhoseFactsAreTold(t *testing.T) {
	profile, cluster := "profile site.hcl", "cluster"
	facts := func(walltime string, more ...offer.Fact) []offer.Fact {
		return append([]offer.Fact{
			{Name: "cores", Value: "64", Source: cluster, Since: "15:04 UTC"}, {Name: "memory", Value: "256 GB", Source: cluster, Since: "15:04 UTC"},
			{Name: "walltime", Value: walltime, Source: cluster, Since: "15:04 UTC", Differs: "24h in profile site.hcl"},
			{Name: "site", Value: "Ours", Source: profile, Since: "2026-05"},
		}, more...)
	}
	price := offer.Fact{Name: "price", Value: "1 SU/core-hour", Source: profile, Since: "2026-05"}
	long := offer.Fact{Name: "qos long", Value: "≤7d; lower priority", Source: profile, Since: "2026-05"}
	got := BackendsText([]Backend{
		{Name: "slurm.a", Pools: []offer.Pool{{Kind: offer.QueuePool, Word: "partition", Name: "x", Source: "live", Facts: facts("7d", price, long)}, {Kind: offer.QueuePool, Word: "partition", Name: "y", Source: "live", Facts: facts("no limit", price)}}},
		{Name: "slurm.b", Pools: []offer.Pool{{Kind: offer.QueuePool, Word: "partition", Name: "x", Source: "live", Facts: facts("7d")[:2]}}},
	}, term.MaxWidth, 0)
	want := `
backend.slurm.a   live
  partition x        price unknown
  partition y        price unknown
  facts: price from profile site.hcl (2026-05); all else from the cluster (15:04 UTC)
  walltime on x: 7d by the cluster (15:04 UTC), 24h in profile site.hcl
  walltime on y: no limit by the cluster (15:04 UTC), 24h in profile site.hcl
  site: Ours
  qos long on x: ≤7d; lower priority; by profile site.hcl (2026-05)

backend.slurm.b
  partition x        price unknown  live
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
