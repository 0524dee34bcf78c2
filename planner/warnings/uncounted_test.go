package warnings

import (
	"slices"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestWhatIsLeftOutIsSaid: what no figure of a plan has, and what counts as no
// limit or as nothing because nobody knows it, is named.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	rate := offer.Price{Known: true, SUPerGPUHour: "108"}
	paid := offer.Pool{Backend: "slurm.x", Name: "aa100", Kind: offer.QueuePool, Word: "partition", GPUs: 3, Total: 33, Price: rate}
	free := offer.Pool{Backend: "slurm.x", Name: "al40", Kind: offer.QueuePool, Word: "partition", GPUs: 3, Total: 9, Price: offer.Price{Known: true}}
	unknown := free
	unknown.Price.UnknownSU = true
	large := offer.Pool{Backend: "slurm.x", Name: "gh200", Kind: offer.QueuePool, Word: "partition", GPUs: 1, Price: rate}
	at := func(p offer.Pool) []place.Decision {
		return []place.Decision{{}, {Backend: p.Backend, Pool: p.Name, Word: p.Word, Price: p.Price, Shape: offer.Shape{CPUs: 1, GPUs: 1, Walltime: time.Hour}}}
	}
	jobs := func(n int) *lang.Phase {
		var values []grid.Value
		for i := range n {
			v, err := grid.NewValue(cty.NumberIntVal(int64(i)))
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		g, diags := grid.Expand(grid.Spec{Axes: []grid.Axis{{Name: "i", Values: values}}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return &lang.Phase{Name: "p", Grid: g}
	}
	roomy := func(p offer.Pool) []place.Decision {
		d := at(p)
		d[1].Shape.GPU.Memory = 40 << 30
		return d
	}
	measured, machine := paid, paid
	measured.GPUMem, machine.Kind, machine.Word = 80<<30, offer.MachinePool, "machine"
	quoted := at(free) // of a pool without a rate
	quoted[1].Price.SUPerCPUHour = "1"
	const (
		unrated = "The charge of slurm.x al40 in service units is unknown: "
		endless = "How many jobs slurm.x gh200 runs at once is not known and counted as no limit."
	)
	for name, c := range map[string]struct {
		work    Work
		pools   []offer.Pool
		profile string
		want    []string
	}{
		"all is known":             {Work{Phase: jobs(40), Placements: at(paid)}, []offer.Pool{paid, free}, "", nil},
		"a place that has no rate": {Work{Phase: jobs(40), Placements: at(unknown)}, []offer.Pool{paid, unknown}, "", []string{unrated + "state one for partition al40 of backend.slurm.x, 0 where it is free."}},
		"a place of which a profile has no rate": {Work{Phase: jobs(40), Placements: at(unknown)}, []offer.Pool{paid, unknown}, "site.hcl",
			[]string{unrated + "give partition al40 a price in site.hcl, service_units_per_node_hour = 0 where it is free."}},
		"a place of which a profile of ours has no rate": {Work{Phase: jobs(40), Placements: at(unknown)}, []offer.Pool{paid, unknown}, "cu-alpine",
			[]string{unrated + "name a profile of your own on backend.slurm.x, a file, in which partition al40 has a price, service_units_per_node_hour = 0 where it is free."}},
		"GPUs of a memory that nobody knows": {Work{Phase: jobs(40), Placements: roomy(paid)}, []offer.Pool{paid}, "",
			[]string{`The memory of the GPUs of slurm.x aa100 is not known, and gpu { memory = "40GiB" } holds nothing off it: state it in a profile, as memory of gpu of that partition.`}},
		"of a machine": {Work{Phase: jobs(40), Placements: roomy(machine)}, []offer.Pool{machine}, "",
			[]string{`The memory of the GPUs of slurm.x aa100 is not known, and gpu { memory = "40GiB" } holds nothing off it.`}},
		"GPUs of a memory that is known":  {Work{Phase: jobs(40), Placements: roomy(measured)}, []offer.Pool{measured}, "", nil},
		"a rate that was quoted":          {Work{Phase: jobs(40), Placements: quoted}, []offer.Pool{paid, unknown}, "", nil},
		"a site that charges nothing":     {Work{Phase: jobs(40), Placements: at(free)}, []offer.Pool{free}, "", nil},
		"a place of any size":             {Work{Phase: jobs(40), Placements: at(large)}, []offer.Pool{large}, "", []string{endless}},
		"a place of any size for one job": {Work{Phase: jobs(1), Placements: at(large)}, []offer.Pool{large}, "", nil},
	} {
		if got := Uncounted([]Work{c.work}, c.pools, []*lang.Backend{{Type: "slurm", Name: "x", Profile: c.profile}}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
