package remarks

import (
	"slices"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers/offer"
)

// TestWhatIsLeftOutIsSaid: what no figure of a plan has, and what counts as no
// limit or as nothing because nobody knows it, is named.
func TestWhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	rate := offer.Price{Known: true, SUPerGPUHour: "108"}
	paid := offer.Pool{Backend: "slurm.x", Name: "aa100", Word: "partition", GPUs: 3, Total: 33, Price: rate}
	free := offer.Pool{Backend: "slurm.x", Name: "al40", Word: "partition", GPUs: 3, Total: 9, Price: offer.Price{Known: true}}
	large := offer.Pool{Backend: "slurm.x", Name: "gh200", Word: "partition", GPUs: 1, Price: rate}
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
	quoted := at(free)
	quoted[1].Price.SUPerCPUHour = "1"
	const (
		unrated = "What slurm.x al40 charges in service units is not known and counted as none: other partitions of backend.slurm.x charge them."
		endless = "How many jobs slurm.x gh200 runs at once is not known and counted as no limit."
	)
	for name, c := range map[string]struct {
		work  Work
		moves []transfers.Transfer
		pools []offer.Pool
		want  []string
	}{
		"all is known":                         {Work{Phase: jobs(40), Placements: at(paid)}, nil, []offer.Pool{paid, free}, nil},
		"a place without a rate beside others": {Work{Phase: jobs(40), Placements: at(free)}, nil, []offer.Pool{paid, free}, []string{unrated}},
		"a rate that was quoted":               {Work{Phase: jobs(40), Placements: quoted}, nil, []offer.Pool{paid, free}, nil},
		"a site that charges nothing":          {Work{Phase: jobs(40), Placements: at(free)}, nil, []offer.Pool{free}, nil},
		"a place of any size":                  {Work{Phase: jobs(40), Placements: at(large)}, nil, []offer.Pool{large}, []string{endless}},
		"a place of any size for one job":      {Work{Phase: jobs(1), Placements: at(large)}, nil, []offer.Pool{large}, nil},
		"files of which no size is known":      {Work{Phase: jobs(1)}, []transfers.Transfer{{Files: 2, Bytes: -1}, {Files: 24, Bytes: -1}}, nil, []string{"The walltime leaves out moving 26 files between backends; `muster rehearse` plays it."}},
		"files of known sizes":                 {Work{Phase: jobs(1)}, []transfers.Transfer{{Files: 1, Bytes: 3 << 30}}, nil, []string{"The walltime leaves out moving 1 file (3GiB) between backends; `muster rehearse` plays it."}},
		"some of known sizes":                  {Work{Phase: jobs(1)}, []transfers.Transfer{{Files: 1, Bytes: 3 << 30}, {Files: 1999, Bytes: -1}}, nil, []string{"The walltime leaves out moving 2,000 files (3GiB and more) between backends; `muster rehearse` plays it."}},
	} {
		if got := Uncounted([]Work{c.work}, c.moves, c.pools); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
