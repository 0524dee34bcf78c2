package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
)

// TestRowsOfOnePhaseAreToldApart by what their requests differ in, and by that
// only, on every screen.
func TestRowsOfOnePhaseAreToldApart(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, c := range map[string]struct {
		one, other func(*offer.Shape)
		want       [2]string // the remark of each row; the same twice: one row
	}{
		"alike":       {want: [2]string{"", ""}},
		"memory":      {func(s *offer.Shape) { s.Memory = 4 * gib }, func(s *offer.Shape) { s.Memory = 16 * gib }, [2]string{"4GiB of memory", "16GiB of memory"}},
		"no memory":   {nil, func(s *offer.Shape) { s.Memory = 16 * gib }, [2]string{"any memory", "16GiB of memory"}},
		"cores":       {nil, func(s *offer.Shape) { s.CPUs = 4 }, [2]string{"1 core", "4 cores"}},
		"nodes":       {nil, func(s *offer.Shape) { s.Nodes = 2 }, [2]string{"1 node", "2 nodes"}},
		"disk":        {nil, func(s *offer.Shape) { s.Disk = 5e9 }, [2]string{"any disk", "5GB of disk"}},
		"GPU memory":  {nil, func(s *offer.Shape) { s.GPU.Memory = 40 * gib }, [2]string{"any GPU memory", "40GiB of GPU memory"}},
		"models":      {nil, func(s *offer.Shape) { s.GPU.Models = []string{"A100", "H100"} }, [2]string{"any model", "A100 or H100"}},
		"two things":  {func(s *offer.Shape) { s.Memory = gib }, func(s *offer.Shape) { s.CPUs, s.Memory = 2, 2*gib }, [2]string{"1 core, 1GiB of memory", "2 cores, 2GiB of memory"}},
		"an option":   {func(s *offer.Shape) { s.Options = `{"qos":"long","x":1}` }, func(s *offer.Shape) { s.Options = `{"qos":"short","x":1}` }, [2]string{`qos "long"`, `qos "short"`}},
		"an only one": {nil, func(s *offer.Shape) { s.Options = `{"account":"a"}` }, [2]string{"no account", `account "a"`}},
		"a long one": {nil, func(s *offer.Shape) { s.Options = `{"constraint":"` + strings.Repeat("b", 200) + `"}` },
			[2]string{"no constraint", `constraint "bbbbbbbbbb…bbbbbbbbbb"`}},
		"a hostile one": {nil, func(s *offer.Shape) { s.Options = "{\"a\\u001b[2J\":1}" }, [2]string{"no a", "a"}},
		"walltime":      {nil, func(s *offer.Shape) { s.Walltime *= 2 }, [2]string{"× ≤1h", "× ≤2h"}},
	} {
		for _, width := range []int{80, 100} {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				t.Parallel()
				p := plan(t, "campaign \"c\" {}\n"+phase("students", 12, "")+phase("whole", 2, ""))
				pp := p.Phase("students")
				pp.Placements = append(pp.Placements[:2:2], pp.Placements[1])
				for at, mod := range []func(*offer.Shape){c.one, c.other} {
					if mod != nil {
						mod(&pp.Placements[at+1].Shape)
					}
				}
				for i := range pp.Place {
					pp.Place[i] = uint16(1 + i/8)
				}
				s := screen(t, Human{Style: term.Style{UTF8: true, Width: width}}, p)
				checkScreen(t, s)
				var rows []string
				for l := range strings.Lines(s) {
					if strings.Contains(l, "+ run") {
						rows = append(rows, strings.TrimSpace(l))
					}
					if term.Width(strings.TrimSuffix(l, "\n")) > width {
						t.Errorf("wider than the screen: %s", l)
					}
				}
				if c.want[0] == c.want[1] {
					if len(rows) != 2 || !strings.HasSuffix(rows[0], "12 × ≤1h") {
						t.Errorf("like jobs are one row, and not\n%s", s)
					}
					return
				}
				if len(rows) != 3 {
					t.Fatalf("not two rows and one\n%s", s)
				}
				for i, n := range []string{"8 × ≤", "4 × ≤"} {
					if !strings.Contains(rows[i], n) || !strings.Contains(rows[i], c.want[i]) || strings.Contains(rows[i], "x 1") {
						t.Errorf("row %q, want %q in it", rows[i], c.want[i])
					}
				}
				if !strings.HasSuffix(rows[2], "≤1h") {
					t.Errorf("a phase of one kind says more: %q", rows[2])
				}
			})
		}
	}
}

// TestApartOnlyOfWhatStarts: what is done is no reason to say anything.
func TestApartOnlyOfWhatStarts(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("students", 12, ""))
	pp := p.Phases[0]
	big := pp.Placements[1]
	big.Shape.Memory = 1 << 40
	pp.Placements = append(pp.Placements, big)
	pp.Place[3], pp.Kind[3] = 2, planner.None
	if got := strings.Join(apart(pp), ""); got != "" {
		t.Error(got)
	}
	pp.Kind[3] = planner.Retry
	if got := strings.Join(apart(pp), "|"); got != "|any memory|1TiB of memory" {
		t.Error(got)
	}
}
