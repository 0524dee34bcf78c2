package slurm

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/offer"
)

// TestForTests: which partitions are for smokes only. What a profile says of
// one holds; a name counts only beside another partition with the same devices.
func TestForTests(t *testing.T) {
	t.Parallel()
	type pool = offer.Pool
	for name, c := range map[string]struct {
		pools []pool
		want  map[string][]string // for tests: what it stands for
	}{
		"Alpine": {[]pool{{Name: "amilan"}, {Name: "atesting"}, {Name: "aa100", GPUModel: "A100"}, {Name: "atesting_a100", GPUModel: "A100"}},
			map[string][]string{"atesting": {"amilan"}, "atesting_a100": {"aa100"}}},
		"the only one is called debug": {[]pool{{Name: "debug"}}, nil},
		"no other has its GPUs":        {[]pool{{Name: "cpu"}, {Name: "gputest", GPUModel: "T4"}}, nil},
		"the profile says so":          {[]pool{{Name: "short", Testing: true}}, map[string][]string{"short": nil}},
		"the profile says what it is":  {[]pool{{Name: "a"}, {Name: "b", Testing: true, StandsFor: []string{"c"}}}, map[string][]string{"b": {"c"}}},
		"two by name, and no other":    {[]pool{{Name: "debug"}, {Name: "test"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forTests(c.pools)
			for _, p := range c.pools {
				want, ok := c.want[p.Name]
				if p.Testing != ok || ok && !slices.Equal(p.StandsFor, want) {
					t.Errorf("%s: for tests %v, stands for %q; want %v, %q", p.Name, p.Testing, p.StandsFor, ok, want)
				}
			}
		})
	}
}

// TestStandardPartitionFirst: where the backend block states no order, the
// partition to which Slurm sends what names none comes before the others.
func TestStandardPartitionFirst(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.answer = func(argv []string) *command.Result {
		if !slices.Contains(argv, "partition") {
			return nil
		}
		return &command.Result{Out: []byte("PartitionName=amem State=UP Default=NO\nPartitionName=bigmem State=UP Default=NO\nPartitionName=cpu State=UP Default=YES\n")}
	}
	for config, want := range map[string][]string{
		`{}`: {"cpu", "amem", "bigmem"},
		`{"partitions": ["bigmem", "cpu", "amem"]}`: {"bigmem", "cpu", "amem"},
	} {
		k.b.Config = []byte(config)
		k.restart()
		pools, err := k.s.Pools(t.Context())
		var names []string
		for _, p := range pools {
			names = append(names, p.Name)
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %q, %v; want %q", config, names, err, want)
		}
	}
}
