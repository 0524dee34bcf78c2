package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// priced is a group on a backend with a price; walltime 0 is not stated.
func priced(backend string, shape offer.Shape, price offer.Price, walltime time.Duration, launches int) Group {
	shape.Walltime = walltime
	return Group{Decision: place.Decision{Backend: backend, Shape: shape, Price: price, Segments: 1}, Runtime: Declared(walltime), Launches: launches}
}

func oneOf(name string, n int, g Group) Phase {
	p := phase(name, n, 0)
	p.Groups[1] = g
	return p
}

var (
	free      = offer.Price{Known: true}
	a100Hour  = offer.Price{Known: true, SUPerGPUHour: "108.2"}
	rental    = offer.Price{Known: true, USDPerGPUHour: "1.10"}
	units100  = offer.Price{Known: true, SUPerGPUHour: "100"}
	oneGPU    = offer.Shape{CPUs: 8, GPUs: 1, Nodes: 1}
	fourCores = offer.Shape{CPUs: 4, Nodes: 1}
)

// show is a line as "usd 1 2* ?": expected, p90 and at most.
func show(lines []CostLine) []string {
	var out []string
	for _, l := range lines {
		s := l.Unit
		for _, f := range []Figure{l.Expected, l.P90, l.AtMost} {
			s += " " + f.Text + map[Mark]string{Estimated: "*", Unknown: "?"}[f.Mark]
		}
		out = append(out, s)
	}
	return out
}

func TestCosts(t *testing.T) {
	t.Parallel()
	h := time.Hour
	tenth := offer.Price{Known: true, USDPerHour: "0.1"}
	hourly, queued := offer.Price{Known: true, USDPerHour: "1"}, offer.Price{Known: true, USDPerHour: "1", BillsWhileQueued: true}
	wholeHours := offer.Price{Known: true, USDPerHour: "1", Granularity: h}
	minutely := offer.Price{Known: true, USDPerHour: "6", Granularity: time.Hour}
	observed := func(g Group, seen ...time.Duration) Group {
		g.Runtime = Observed("a", seen, g.Decision.Shape.Walltime)
		return g
	}
	mod := func(g Group, f func(*Group)) Group { f(&g); return g }
	for _, c := range []struct {
		name  string
		parts []Group // one phase each, of n jobs
		n     int
		want  []string
	}{
		{"nothing", nil, 0, []string{"usd 0 0 0"}},
		{"local: money is a known zero", []Group{priced("local.local", fourCores, free, h, 1)}, 10, []string{"usd 0 0 0", "cpu_hours 20* 40* 40"}},
		{"GPUs hide cores", []Group{priced("ssh.lab", oneGPU, free, h, 1)}, 2, []string{"usd 0 0 0", "gpu_hours 1* 2* 2"}},
		{"service units", []Group{priced("slurm.alpine", oneGPU, a100Hour, 4*h, 3)}, 2, []string{"usd 0 0 0", "service_units 432.8* 865.6* 2596.8", "gpu_hours 4* 8* 24"}},
		{"money", []Group{priced("vastai.cloud", oneGPU, rental, h, 1)}, 3, []string{"usd 1.65* 3.3* 3.3", "gpu_hours 1.5* 3* 3"}},
		{"a tenth a thousand times is a hundred", []Group{priced("x.y", fourCores, tenth, 2*h, 1)}, 1000, []string{"usd 100* 200* 200", "cpu_hours 4000* 8000* 8000"}},
		{"no walltime: unknown, never zero", []Group{priced("slurm.alpine", oneGPU, a100Hour, 0, 1)}, 1, []string{"usd 0 0 0", "service_units ? ? ?", "gpu_hours ? ? ?"}},
		{"no walltime beside a stated one", []Group{priced("ssh.lab", oneGPU, free, 0, 1), priced("ssh.lab", oneGPU, free, h, 1)}, 1, []string{"usd 0 0 0", "gpu_hours ? ? ?"}},
		{"no walltime, but history: only at most is unknown", []Group{observed(priced("ssh.lab", oneGPU, free, 0, 1), h, h, h)}, 2, []string{"usd 0 0 0", "gpu_hours 2* 2* ?"}},
		{"a price that is not known", []Group{priced("vastai.cloud", oneGPU, offer.Price{}, h, 1)}, 1, []string{"usd ? ? ?", "gpu_hours 0.5* 1* 1"}},
		{"a price that is not known beside a known one", []Group{priced("vastai.cloud", oneGPU, offer.Price{}, h, 1), priced("vastai.cloud", oneGPU, rental, h, 1)}, 1, []string{"usd ? ? ?", "gpu_hours 1* 2* 2"}},
		{"a rate per GPU charges no CPU work", []Group{priced("slurm.alpine", fourCores, a100Hour, 0, 1)}, 1, []string{"usd 0 0 0", "cpu_hours ? ? ?"}},
		{"billed by the hour, each launch anew", []Group{priced("x.y", fourCores, minutely, 90*time.Minute, 2)}, 1, []string{"usd 6* 12* 24", "cpu_hours 4* 8* 16"}},
		{"retries as often as seen", []Group{mod(priced("ssh.lab", oneGPU, free, 2*h, 3), func(g *Group) { g.Failing, g.Delay = 0.5, 100*h })}, 1, []string{"usd 0 0 0", "gpu_hours 2* 6* 6"}},
		{"running: paid since its start", []Group{mod(priced("ssh.lab", oneGPU, free, 4*h, 1), func(g *Group) { g.Running, g.InFlight = 3*h, true })}, 1, []string{"usd 0 0 0", "gpu_hours 3* 4* 4"}},
		{"boot: paid before each launch, and no hours of work", []Group{mod(priced("vastai.cloud", fourCores, hourly, h, 2), func(g *Group) { g.Decision.Boot = 30 * time.Minute })}, 2, []string{"usd 2* 3* 6", "cpu_hours 4* 8* 16"}},
		{"hold: paid after each launch", []Group{mod(priced("vastai.cloud", fourCores, hourly, 2*h, 2), func(g *Group) { g.Decision.Hold = h })}, 3, []string{"usd 6* 9* 18", "cpu_hours 12* 24* 48"}},
		{"hold after each segment", []Group{mod(priced("vastai.cloud", fourCores, hourly, 2*h, 1), func(g *Group) { g.Decision.Hold, g.Decision.Segments, g.Shapes = h, 2, cut(g, h, h) })}, 1, []string{"usd 3* 4* 4", "cpu_hours 4* 8* 8"}},
		{"billed while queued", []Group{mod(priced("x.y", fourCores, queued, 2*h, 1), func(g *Group) { g.Decision.Wait = 3 * h })}, 1, []string{"usd 4* 5* 5", "cpu_hours 4* 8* 8"}},
		{"billed while queued for nobody knows how long", []Group{mod(priced("x.y", fourCores, offer.Price{USDPerHour: "1", SUPerNodeHour: "1", BillsWhileQueued: true}, 2*h, 1), func(g *Group) { g.Decision.Wait = -1 })}, 1,
			[]string{"usd ? ? ?", "service_units ? ? ?", "cpu_hours 4* 8* 8"}},
		{"not billed while queued", []Group{mod(priced("x.y", fourCores, hourly, 2*h, 1), func(g *Group) { g.Decision.Wait = 3 * h })}, 1, []string{"usd 1* 2* 2", "cpu_hours 4* 8* 8"}},
		{"segments are billed one by one", []Group{mod(priced("x.y", fourCores, wholeHours, 50*h, 1), func(g *Group) { g.Decision.Segments, g.Shapes = 3, cut(g, 17*h, 17*h, 17*h) })}, 1, []string{"usd 27* 51* 51", "cpu_hours 108* 204* 204"}},
		{"at most on the dearest candidate", []Group{mod(priced("ssh.lab", oneGPU, free, h, 1), func(g *Group) {
			g.Dearer = dearer(g, rental)
		})}, 2, []string{"usd 0 0 2.2", "gpu_hours 1* 2* 2"}},
		{"at most by unit: money there, service units here", []Group{mod(priced("slurm.x", oneGPU, units100, h, 1), func(g *Group) {
			g.Dearer = dearer(g, rental)
		})}, 2, []string{"usd 0 0 2.2", "service_units 100* 200* 200", "gpu_hours 1* 2* 2"}},
		{"at most by unit: of two other places each is dearer in one", []Group{mod(priced("ssh.lab", oneGPU, free, h, 1), func(g *Group) {
			g.Dearer = dearer(g, rental, units100)
		})}, 2, []string{"usd 0 0 2.2", "service_units 0 0 200", "gpu_hours 1* 2* 2"}},
		{"at most where another place has no price", []Group{mod(priced("slurm.x", oneGPU, units100, h, 1), func(g *Group) {
			g.Dearer = dearer(g, offer.Price{UnknownSU: true})
		})}, 2, []string{"usd 0 0 0", "service_units 100* 200* 200", "gpu_hours 1* 2* 2"}},
		{"billed by the hour: none is ended after its walltime", []Group{observed(priced("x.y", fourCores, wholeHours, h, 3), 50*time.Minute, 55*time.Minute, h, 48*time.Minute, 57*time.Minute)}, 1, []string{"usd 1* 1* 3", "cpu_hours 4* 4* 12"}},
		{"launches that failed under a longer walltime", []Group{mod(priced("x.y", fourCores, hourly, h, 2), func(g *Group) { g.Failing, g.Lost = 0.5, 9*h })}, 1, []string{"usd 2* 2* 2", "cpu_hours 8* 8* 8"}},
		{"no price in service units", []Group{priced("slurm.x", oneGPU, offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, h, 1)}, 2, []string{"usd 1* 2* 2", "service_units ? ? ?", "gpu_hours 1* 2* 2"}},
		{"no price in service units beside one", []Group{priced("slurm.x", oneGPU, units100, h, 1), priced("slurm.x", oneGPU, offer.Price{Known: true, UnknownSU: true}, h, 1)}, 1, []string{"usd 0 0 0", "service_units ? ? ?", "gpu_hours 1* 2* 2"}},
		{"free in service units", []Group{priced("slurm.x", oneGPU, offer.Price{Known: true, SUPerGPUHour: "0"}, h, 1)}, 2, []string{"usd 0 0 0", "service_units 0 0 0", "gpu_hours 1* 2* 2"}},
		{"by a profile", []Group{priced("slurm.x", oneGPU, offer.Price{Known: true, Estimated: true, SUPerGPUHour: "10"}, h, 1)}, 2, []string{"usd 0 0 0", "service_units 10* 20* 20*", "gpu_hours 1* 2* 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := Input{}
			for i, g := range c.parts {
				in.Phases = append(in.Phases, oneOf(fmt.Sprint(i), c.n, g))
			}
			if d := cmp.Diff(c.want, show(Make(in).Lines)); d != "" {
				t.Error(d)
			}
		})
	}
}

// cut are the launches that a job's work is cut into.
func cut(g *Group, each ...time.Duration) (out []offer.Shape) {
	for _, d := range each {
		s := g.Decision.Shape
		s.Walltime = d
		out = append(out, s)
	}
	return out
}

// TestNothingIsForetoldAboveAtMost: in no unit is more expected, or the p90 higher,
// than all jobs at all their launches may take, whatever was seen of those before
// and however they are billed.
func TestNothingIsForetoldAboveAtMost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minutes := func(from, to int, label string) time.Duration {
			return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Minute
		}
		in := Input{}
		for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
			price := offer.Price{Known: true, USDPerHour: "0.11", SUPerCPUHour: "1", BillsWhileQueued: rapid.Bool().Draw(t, "queue"),
				Granularity: minutes(0, 2, "granularity") * 30, Minimum: minutes(0, 2, "minimum") * 20}
			g := priced("x.y", offer.Shape{CPUs: 1, GPUs: rapid.IntRange(0, 2).Draw(t, "gpus"), Nodes: 1}, price, minutes(1, 90, "walltime"), rapid.IntRange(1, 3).Draw(t, "launches"))
			g.Decision.Wait, g.Decision.Boot, g.Decision.Hold, g.Decision.WholeNode = minutes(-1, 9, "wait"), minutes(0, 9, "boot"), minutes(0, 9, "hold"), rapid.Bool().Draw(t, "whole node")
			if seen := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 6000), func(s int) time.Duration { return time.Duration(s) * time.Second }), 0, 30).Draw(t, "seen"); len(seen) > 0 {
				g.Runtime = Observed("a", seen, g.Decision.Shape.Walltime)
			}
			g.Failing, g.Lost = float64(rapid.IntRange(0, 9).Draw(t, "failing"))/10, minutes(0, 100, "lost")
			in.Phases = append(in.Phases, oneOf(fmt.Sprint(i), rapid.IntRange(1, 30).Draw(t, "jobs"), g))
		}
		for _, l := range Make(in).Lines {
			if l.AtMost.Mark != Unknown && (dec(l.Expected.Text).GreaterThan(dec(l.AtMost.Text)) || dec(l.P90.Text).GreaterThan(dec(l.AtMost.Text))) {
				t.Fatalf("%s: expected %s, p90 %s, at most %s", l.Unit, l.Expected.Text, l.P90.Text, l.AtMost.Text)
			}
		}
	})
}

// dearer are other places of these prices for the jobs of a group.
func dearer(g *Group, prices ...offer.Price) (out []Dear) {
	for i, p := range prices {
		d := g.Decision
		d.Backend, d.Price = fmt.Sprint("other.", i), p
		out = append(out, Dear{Decision: d})
	}
	return out
}

// TestUnknownWalltime: neither does the plan know its end.
func TestUnknownWalltime(t *testing.T) {
	t.Parallel()
	f := Make(Input{Phases: []Phase{oneOf("a", 1, priced("local.local", fourCores, free, 0, 1))}})
	if f.Walltime.Mark != Unknown {
		t.Errorf("the walltime is marked %d", f.Walltime.Mark)
	}
	if got := strings.Join(f.Basis, ""); !strings.Contains(got, "not known") {
		t.Errorf("basis %q", got)
	}
}

// TestSmokesCost: each smoke is one launch at the smoke's walltime.
func TestSmokesCost(t *testing.T) {
	t.Parallel()
	p := oneOf("teachers", 2, priced("slurm.alpine", oneGPU, a100Hour, 4*time.Hour, 3))
	p.Smoke, p.SmokeJob = []int{0, 1}, priced("slurm.alpine", oneGPU, a100Hour, 20*time.Minute, 1)
	q := oneOf("students", 24, priced("ssh.lab", oneGPU, free, 45*time.Minute, 1))
	q.Inputs = []Edge{{From: "teachers", Join: halves(24)}}
	f := Make(Input{Phases: []Phase{p, q}})
	want := []string{"usd 0 0 0", "service_units 468.866667* 937.733333* 2668.933334", "gpu_hours 13.333333* 26.666667* 42.666667"}
	if d := cmp.Diff(want, show(f.Lines)); d != "" {
		t.Error(d)
	}
}

// TestScopes: a budget counts the jobs of any of its phases or backends, in
// every unit.
func TestScopes(t *testing.T) {
	t.Parallel()
	in := Input{
		Phases: []Phase{oneOf("a", 1, priced("ssh.lab", oneGPU, free, 2*time.Hour, 1)), oneOf("b", 1, priced("local.local", fourCores, free, 2*time.Hour, 1))},
		Scopes: []Scope{{Name: "all"}, {Name: "a", Phases: map[string]bool{"a": true}}, {Name: "local", Backends: map[string]bool{"local.local": true}}, {Name: "none", Phases: map[string]bool{"z": true}}},
	}
	f := Make(in)
	want := map[string][]string{
		"all":   {"usd 0 0 0", "gpu_hours 1* 2* 2", "cpu_hours 12* 24* 24", "node_hours 2* 4* 4"},
		"a":     {"usd 0 0 0", "gpu_hours 1* 2* 2", "cpu_hours 8* 16* 16", "node_hours 1* 2* 2"},
		"local": {"usd 0 0 0", "cpu_hours 4* 8* 8", "node_hours 1* 2* 2"},
	}
	got := map[string][]string{}
	for name, lines := range f.ByScope {
		got[name] = show(lines)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"usd 0 0 0", "cpu_hours 4* 8* 8"}, show(f.ByPhase["b"])); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"usd 0 0 0", "gpu_hours 1* 2* 2"}, show(f.ByBackend["ssh.lab"])); d != "" {
		t.Error(d)
	}
}

// TestPartsAreTheWhole: phases sum to the campaign, at every mark.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := Input{}
		for i := range rapid.IntRange(1, 5).Draw(t, "phases") {
			g := priced("x.y", offer.Shape{GPUs: rapid.IntRange(1, 4).Draw(t, "gpus")}, rental, time.Duration(rapid.IntRange(1, 100).Draw(t, "h"))*time.Hour, rapid.IntRange(1, 3).Draw(t, "launches"))
			in.Phases = append(in.Phases, oneOf(fmt.Sprint(i), rapid.IntRange(1, 1000).Draw(t, "jobs"), g))
		}
		f := Make(in)
		for i, get := range []func(CostLine) string{func(l CostLine) string { return l.Expected.Text }, func(l CostLine) string { return l.P90.Text }, func(l CostLine) string { return l.AtMost.Text }} {
			for k, l := range f.Lines {
				sum := dec("0")
				for _, p := range in.Phases {
					sum = sum.Add(dec(get(f.ByPhase[p.Name][k])))
				}
				if !sum.Equal(dec(get(l))) {
					t.Fatalf("column %d of %s: the parts are %s, the whole %s", i, l.Unit, sum, get(l))
				}
			}
		}
	})
}

// TestPackedCosts: 20 jobs of one GPU on nodes of four take 5 nodes, and would take 20.
func TestPackedCosts(t *testing.T) {
	t.Parallel()
	h := time.Hour
	perNode := offer.Price{Known: true, SUPerNodeHour: "1"}
	packed := oneGPU
	packed.Pack = 4
	for name, c := range map[string]struct {
		jobs, launches int
		want, unpacked string
	}{
		"whole packs":           {20, 1, "node_hours 7.5* 15* 15", "node_hours 30* 60* 60"},
		"two places stay empty": {18, 1, "node_hours 7.5* 15* 15", "node_hours 27* 54* 54"},
		"retries alone":         {20, 2, "node_hours 7.5* 15* 75", "node_hours 30* 60* 120"},
	} {
		f := Make(Input{Phases: []Phase{oneOf("a", c.jobs, priced("pbs.polaris", packed, perNode, 3*h, c.launches))}})
		if got := show([]CostLine{LineOf(f.Lines, place.NodeHours), f.Unpacked}); got[0] != c.want || got[1] != c.unpacked {
			t.Errorf("%s: %q", name, got)
		}
		if su := LineOf(f.Lines, place.ServiceUnits); su.P90.Text != LineOf(f.Lines, place.NodeHours).P90.Text {
			t.Errorf("%s: %+v", name, su)
		}
	}
	turns := packed
	turns.Pack, turns.Slots, turns.Allocation = 12, 4, 9*h
	if f := Make(Input{Phases: []Phase{oneOf("a", 18, priced("pbs.polaris", turns, perNode, 3*h, 1))}}); show([]CostLine{LineOf(f.Lines, place.NodeHours)})[0] != "node_hours 7.5* 15* 15" { // three turns, and two of six
		t.Errorf("in turns: %q", show([]CostLine{LineOf(f.Lines, place.NodeHours)}))
	}
	one := oneGPU
	one.Pack, one.Slots, one.Allocation = 3, 1, 9*h
	if f := Make(Input{Phases: []Phase{oneOf("a", 20, priced("pbs.polaris", one, perNode, 3*h, 1))}}); f.Unpacked.Unit != "" || show([]CostLine{LineOf(f.Beside, place.NodeHours)})[0] != "node_hours 30* 60* 60" {
		t.Errorf("one after another: %q, unpacked %+v", show([]CostLine{LineOf(f.Beside, place.NodeHours)}), f.Unpacked)
	}
	if f := Make(Input{Phases: []Phase{oneOf("a", 20, priced("pbs.polaris", oneGPU, perNode, 3*h, 1))}}); f.Unpacked.Unit != "" || LineOf(f.Lines, place.NodeHours).Unit != "" {
		t.Errorf("nothing is packed: %+v", f.Unpacked)
	}
}
