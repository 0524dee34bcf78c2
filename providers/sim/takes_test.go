package sim_test

import (
	"encoding/json"
	"testing"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sim"
)

// TestWhatAPoolTakes: a job has its share on each of its nodes, and what does
// not fit is told with what would.
func TestWhatAPoolTakes(t *testing.T) {
	t.Parallel()
	s := sim.New(clock.NewVirtual(start))
	const block = `{"pool": [{"name": "a", "nodes": 2, "cpus": 16, "memory": 68719476736, "gpus": 2, "gpu": "A100"}]}`
	if err := s.Configure(t.Context(), providers.Backend{Name: "sim.x", Config: json.RawMessage(block)}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		shape offer.Shape
		would string // "" = it fits
	}{
		{offer.Shape{CPUs: 16, Memory: 64 << 30, GPUs: 2}, ""},
		{offer.Shape{CPUs: 32, Memory: 128 << 30, GPUs: 4, Nodes: 2}, ""},
		{offer.Shape{Nodes: 3}, "nodes = 2"},
		{offer.Shape{CPUs: 17}, "cpus = 16"},
		{offer.Shape{CPUs: 40, Nodes: 2}, "cpus = 32"},
		{offer.Shape{GPUs: 3}, "gpus = 2"},
		{offer.Shape{Memory: 65 << 30}, `memory = "64GiB"`},
	} {
		q, err := s.Quote(t.Context(), "sim.x", []offer.Shape{x.shape})
		if err != nil || len(q) != 1 {
			t.Fatal(q, err)
		}
		if q[0].Fits != (x.would == "") || q[0].Would != x.would {
			t.Errorf("%+v: fits %v, would %q; not %q", x.shape, q[0].Fits, q[0].Would, x.would)
		}
	}
}

// TestPriceOfAnOffer: a rented machine without a price has one that nobody knows; on other
// pools nothing is charged.
func TestPriceOfAnOffer(t *testing.T) {
	t.Parallel()
	for block, known := range map[string]bool{
		`{"pool":[{"word":"offer"}]}`:                       false,
		`{"pool":[{"word":"offer","usd_per_hour":"0"}]}`:    true,
		`{"pool":[{"word":"offer","su_per_gpu_hour":"2"}]}`: true,
		`{"pool":[{}]}`: true,
	} {
		site, err := sim.SiteOf(providers.Backend{Name: "sim.x", Config: json.RawMessage(block)})
		if err != nil || len(site.Pools) != 1 || site.Pools[0].Price.Known != known {
			t.Errorf("%s: %v, %+v", block, err, site.Pools)
		}
	}
}
