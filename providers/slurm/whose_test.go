package slurm

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

const ownProfile = `site     = "Ours"
verified = "2026-05"
partition "gpu" {
  nodes    = 10
  cpus     = 64
  memory   = "256GiB"
  max_time = "24h"
  gpu "A100" {
    count  = 4
    memory = "40GiB"
  }
  price {
    service_units_per_gpu_hour = "100"
  }
}
partition "other" {
  max_time = "1h"
}
qos "long" {
  max_time = "7d"
  only     = ["gpu"]
  note     = "lower priority"
}
`

// TestWhoseFacts: each fact of a partition is the cluster's where that tells it,
// and the profile's where it does not; where the two differ, both are told. A
// cluster that was not asked tells none.
func TestWhoseFacts(t *testing.T) {
	t.Parallel()
	b, err := New(providers.Backend{Name: "slurm.mine", Profile: "site.hcl", ProfileSource: ownProfile})
	if err != nil {
		t.Fatal(err)
	}
	s := &cluster.Facts{Asked: time.Date(2026, 6, 1, 15, 4, 0, 0, time.UTC), Partitions: []cluster.Partition{
		{Name: "gpu", Up: true, Nodes: 10, CPUs: 64, Memory: 250 << 30, GPUs: map[string]int{"a100": 3}, AllGPUs: 30, AllCPUs: 640},
	}}
	live := func(name, value, differs string) offer.Fact {
		return offer.Fact{Name: name, Value: value, Source: "cluster", Since: "15:04 UTC", Differs: differs}
	}
	written := func(name, value string) offer.Fact {
		return offer.Fact{Name: name, Value: value, Source: "profile site.hcl", Since: "2026-05"}
	}
	alone := []offer.Fact{written("price", "100 SU/GPU-hour"), written("site", "Ours"), written("qos long", "≤7d; lower priority")}
	want := slices.Concat([]offer.Fact{
		live("cores", "64", ""), live("memory", "250GiB", ""), live("GPUs", "3", "4 in profile site.hcl"), live("GPU model", "A100", ""),
		written("GPU memory", "40GiB"), live("cores or GPUs in all", "30", ""), live("walltime", "no limit", "24h in profile site.hcl"),
		live("nodes of a job", "10", ""), live("GRES", "gpu:a100:3", ""),
	}, alone)
	if diff := cmp.Diff(want, b.pool(s, &s.Partitions[0]).Facts); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	want = slices.Concat([]offer.Fact{
		written("cores", "64"), written("memory", "256GiB"), written("GPUs", "4"), written("GPU model", "A100"), written("GPU memory", "40GiB"),
		written("walltime", "24h"), written("nodes of a job", "10"),
	}, alone)
	if diff := cmp.Diff(want, b.known("it is away")[0].Facts); diff != "" {
		t.Errorf("from the profile (-want +got):\n%s", diff)
	}
}
