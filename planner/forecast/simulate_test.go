package forecast

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
)

// TestWalltime plays small campaigns whose ends were worked out by hand, in
// minutes; p90 runtimes are twice the expected ones.
func TestWalltime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		in       Input
		end, p90 float64
		critical string
	}{
		{"nothing", Input{}, 0, 0, ""},
		{"nothing to do", Input{Phases: []Phase{phase("a", 3, 10, of(0, 0, 0))}}, 0, 0, ""},
		{"one job", Input{Phases: []Phase{phase("a", 1, 10)}}, 10, 20, "a"},
		{"10 jobs on 4 cores are 3 waves", Input{Phases: []Phase{phase("a", 10, 10)}, Pools: []offer.Pool{machine(4)}}, 30, 60, "a"},
		{"a phase cap of 3", Input{Phases: []Phase{phase("a", 10, 10, capped(3))}, Pools: []offer.Pool{machine(8)}}, 40, 80, "a"},
		{"a backend cap of 5", Input{Phases: []Phase{phase("a", 10, 10)}, Pools: []offer.Pool{machine(8)}, BackendCaps: map[string]int{"local.local": 5}}, 20, 40, "a"},
		{"a campaign cap of 2", Input{Phases: []Phase{phase("a", 10, 10)}, Pools: []offer.Pool{machine(8)}, CampaignCap: 2}, 50, 100, "a"},
		{"the least of three caps", Input{Phases: []Phase{phase("a", 12, 10, capped(6))}, Pools: []offer.Pool{machine(8)}, CampaignCap: 4, BackendCaps: map[string]int{"local.local": 5}}, 30, 60, "a"},
		{"a queue that takes two: whoever comes later waits anew", Input{Phases: []Phase{phase("a", 6, 10, waits(5))}, Pools: []offer.Pool{submits(machine(8), 2)}}, 45, 75, "a"},
		{"what two phases may submit", Input{Phases: []Phase{phase("a", 2, 10, waits(5)), phase("b", 2, 10, waits(5))}, Pools: []offer.Pool{submits(machine(8), 2)}}, 30, 50, "b"},
		{"a queue without arrays is given what runs at once", Input{Phases: []Phase{phase("a", 6, 10, waits(5))}, Pools: []offer.Pool{runs(machine(8), 3)}, Driven: map[string]bool{"local.local": true}}, 30, 50, "a"},
		{"a limit of their own: two at once", Input{Phases: []Phase{phase("a", 6, 10, held(offer.Limits{MaxJobs: 2}))}, Pools: []offer.Pool{machine(8)}}, 30, 60, "a"},
		{"two phases share a limit of their own", Input{Phases: []Phase{phase("a", 4, 10, held(offer.Limits{MaxJobs: 2})), phase("b", 4, 10, held(offer.Limits{MaxJobs: 2}))}, Pools: []offer.Pool{machine(8)}}, 40, 80, "b"},
		{"and others are not held to it", Input{Phases: []Phase{phase("a", 4, 10, held(offer.Limits{MaxJobs: 2})), phase("b", 6, 10)}, Pools: []offer.Pool{machine(8)}}, 20, 40, "a"},
		{"a limit of their own in place of the pool's", Input{Phases: []Phase{phase("a", 6, 10, held(offer.Limits{MaxJobs: 3}))}, Pools: []offer.Pool{runs(machine(8), 1)}}, 20, 40, "a"},
		{"none in place of the pool's", Input{Phases: []Phase{phase("a", 6, 10, held(offer.Limits{MaxJobs: offer.NoLimit}))}, Pools: []offer.Pool{runs(machine(8), 1)}}, 10, 20, "a"},
		{"a limit of their own waits once", Input{Phases: []Phase{phase("a", 6, 10, waits(5), held(offer.Limits{MaxJobs: 3}))}, Pools: []offer.Pool{machine(8)}}, 25, 45, "a"},
		{"a queue that takes two of theirs", Input{Phases: []Phase{phase("a", 6, 10, waits(5), held(offer.Limits{MaxSubmit: 2}))}, Pools: []offer.Pool{submits(machine(8), 6)}}, 45, 75, "a"},
		{"a queue that takes all of theirs", Input{Phases: []Phase{phase("a", 6, 10, waits(5), held(offer.Limits{MaxSubmit: offer.NoLimit}))}, Pools: []offer.Pool{submits(machine(8), 2)}}, 15, 25, "a"},
		{"what runs counts", Input{Phases: []Phase{phase("a", 3, 10, running(0), held(offer.Limits{MaxJobs: 2}), of(1, 1, 2), group(onMachine(minutes(10)))), phase("b", 2, 10, held(offer.Limits{MaxJobs: 2}))}, Pools: []offer.Pool{machine(8)}}, 20, 40, "b"},
		{"with arrays it has them all, and they wait once", Input{Phases: []Phase{phase("a", 6, 10, waits(5))}, Pools: []offer.Pool{runs(machine(8), 3)}}, 25, 45, "a"},
		{"a cap of another backend", Input{Phases: []Phase{phase("a", 4, 10)}, Pools: []offer.Pool{machine(4)}, BackendCaps: map[string]int{"ssh.lab": 1}}, 10, 20, "a"},
		{"two phases share the cores", Input{Phases: []Phase{phase("a", 4, 10), phase("b", 4, 10)}, Pools: []offer.Pool{machine(4)}}, 20, 40, "b"},
		{"a pool nobody described has room for all", Input{Phases: []Phase{phase("a", 1000, 10)}}, 10, 20, "a"},

		{"cell by cell: 4 pairs on 2 cores", Input{Phases: []Phase{phase("a", 4, 10), phase("b", 4, 10, from("a", newOneToOne(4)))}, Pools: []offer.Pool{machine(2)}}, 40, 80, "a b"},
		{"cell by cell: who is ready does not wait for the wave", Input{
			Phases: []Phase{phase("a", 2, 10, of(1, 2), group(onMachine(minutes(60)))), phase("b", 2, 30, from("a", newOneToOne(2)))}}, 90, 180, "a b"},
		{"depends_on waits for the wave", Input{
			Phases: []Phase{phase("a", 2, 10, of(1, 2), group(onMachine(minutes(60)))), phase("b", 1, 30, after("a"))}}, 90, 180, "a b"},
		{"from_all waits for all", Input{
			Phases: []Phase{phase("a", 2, 10, of(1, 2), group(onMachine(minutes(60)))), phase("b", 1, 5, from("a", newEverything(2)))}}, 65, 130, "a b"},
		{"a cell that waits for the short one only", Input{
			Phases: []Phase{phase("a", 2, 10, of(1, 2), group(onMachine(minutes(60)))), phase("b", 1, 5, from("a", table{{0}}))}}, 60, 120, "a"},
		{"two inputs: the later counts", Input{
			Phases: []Phase{phase("a", 1, 10), phase("b", 1, 25), phase("c", 1, 5, from("a", newOneToOne(1)), from("b", newOneToOne(1)))}}, 30, 60, "b c"},
		{"producers done already", Input{Phases: []Phase{phase("a", 2, 10, of(0, 0)), phase("b", 2, 5, from("a", newOneToOne(2)))}}, 5, 10, "b"},
		{"one producer done already", Input{Phases: []Phase{phase("a", 2, 10, of(0, 1)), phase("b", 2, 5, from("a", newOneToOne(2)))}}, 15, 30, "a b"},
		{"depends_on a phase with nothing to do", Input{Phases: []Phase{phase("a", 2, 10, of(0, 0)), phase("b", 1, 5, after("a"))}}, 5, 10, "b"},
		{"a producer that is not of the plan", Input{Phases: []Phase{phase("b", 1, 5, from("gone", newOneToOne(1)), after("gone"))}}, 5, 10, "b"},

		{"who waits for something held never runs", Input{Phases: []Phase{phase("a", 2, 10, of(1, Never)), phase("b", 2, 5, from("a", newOneToOne(2)))}}, 15, 30, "a b"},
		{"who goes on without something held", Input{Phases: []Phase{phase("a", 2, 10, of(1, Never)), phase("b", 1, 5, from("a", newEverything(2)), partial)}}, 15, 30, "a b"},
		{"all that waits for something held", Input{Phases: []Phase{phase("a", 2, 10, of(1, Never)), phase("b", 1, 5, after("a"))}}, 10, 20, "a"},
		{"all held", Input{Phases: []Phase{phase("a", 2, 10, of(Never, Never))}}, 0, 0, ""},

		{"smokes one after another, then the run", Input{Phases: []Phase{phase("a", 4, 10, smoke(5, 0, 3))}}, 20, 40, "a"},
		{"smokes beside one another", Input{Phases: []Phase{phase("a", 4, 10, smoke(5, 0, 3), func(p *Phase) { p.Parallel = true })}}, 15, 30, "a"},
		{"a pilot, then the rest", Input{Phases: []Phase{phase("a", 4, 10, pilot(1))}}, 20, 40, "a"},
		{"two smokes, then a pilot, then the rest", Input{Phases: []Phase{phase("a", 4, 10, smoke(5, 0, 3), pilot(1))}}, 30, 60, "a"},
		{"a pilot without a rest", Input{Phases: []Phase{phase("a", 1, 10, pilot(0))}}, 10, 20, "a"},
		{"a smoke waits for its own producers only", Input{
			Phases: []Phase{phase("a", 2, 10, of(1, 2), group(onMachine(minutes(60)))), phase("b", 2, 30, from("a", newOneToOne(2)), smoke(5, 0))}}, 90, 180, "a b"},
		{"a gate later than the producers", Input{
			Phases: []Phase{phase("a", 2, 10), phase("b", 2, 30, from("a", newOneToOne(2)), smoke(50, 0))}}, 90, 180, "a b"},
		{"a smoke of a phase whose jobs wait for something held", Input{
			Phases: []Phase{phase("a", 1, 10, of(Never)), phase("b", 1, 30, from("a", newOneToOne(1)), smoke(5, 0))}}, 0, 0, ""},

		{"a queue's wait", Input{Phases: []Phase{phase("a", 2, 10, waits(25))}}, 35, 45, "a"},
		{"a queue's wait is waited at once", Input{Phases: []Phase{phase("a", 100, 10, waits(25))}, Pools: []offer.Pool{machine(50)}}, 45, 65, "a"},
		{"a queue's wait is waited again under a cap", Input{Phases: []Phase{phase("a", 4, 10, waits(25), capped(2))}}, 70, 90, "a"},
		{"each launch of a chain waits, the first as quoted", Input{Phases: []Phase{phase("a", 1, 10, waits(25), chained(4, 15))}}, 65, 105, "a"}, // 25 and 4, 15 and 4, 15 and 2
		{"of a chain's place others make use", Input{Phases: []Phase{phase("a", 2, 8, chained(4, 4))}, Pools: []offer.Pool{machine(1)}}, 16, 32, "a"},
		{"what fits one launch waits once", Input{Phases: []Phase{phase("a", 1, 10, waits(25), chained(20, 15))}}, 35, 45, "a"},
		{"a chain that runs", Input{Phases: []Phase{phase("a", 1, 10, running(3), chained(5, 15))}}, 22, 62, "a"}, // 2 left of its launch, 15 and 5; late three times 15 and 5
		{"a machine that boots for each launch", Input{Phases: []Phase{phase("a", 1, 10, chained(5, 0), func(p *Phase) { p.Groups[1].Decision.Boot = minutes(3) })}}, 16, 32, "a"},
		{"an unknown wait is none", Input{Phases: []Phase{phase("a", 1, 10, waits(-1))}}, 10, 20, "a"},

		{"half run already", Input{Phases: []Phase{phase("a", 1, 10, running(5))}}, 5, 15, "a"},
		{"longer than thought", Input{Phases: []Phase{phase("a", 1, 10, running(15)), phase("b", 1, 10, from("a", newOneToOne(1)))}}, 10, 25, "a b"},
		{"what runs waits for no gate", Input{Phases: []Phase{phase("a", 2, 10, running(0), of(1, 2), group(onMachine(minutes(10))), smoke(30, 0))}}, 40, 80, "a"},
		{"what runs waits for no producer", Input{Phases: []Phase{phase("a", 1, 10), phase("b", 1, 5, running(0), from("a", newOneToOne(1)))}}, 10, 20, "a"},
		{"what runs holds its cores", Input{Phases: []Phase{phase("a", 2, 10), phase("b", 1, 15, running(0))}, Pools: []offer.Pool{machine(2)}}, 20, 40, "a"},
		{"what runs is over the cap already", Input{Phases: []Phase{phase("a", 3, 10, running(0)), phase("b", 2, 10)}, CampaignCap: 2}, 20, 40, "b"},

		{"retries as often as seen", Input{Phases: []Phase{phase("a", 1, 10, func(p *Phase) {
			p.Groups[1].Failing, p.Groups[1].Launches, p.Groups[1].Delay = 0.5, 3, minutes(2)
		})}}, 22, 42, "a"},
		{"no retries with one launch", Input{Phases: []Phase{phase("a", 1, 10, func(p *Phase) { p.Groups[1].Failing = 0.5 })}}, 10, 20, "a"},
		{"jobs that take no time", Input{Phases: []Phase{phase("a", 100, 0), phase("b", 100, 0, from("a", newOneToOne(100)))}, Pools: []offer.Pool{machine(3)}}, 0, 0, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := Make(c.in)
			if got := f.Walltime.P50.Minutes(); math.Abs(got-c.end) > 1e-6 {
				t.Errorf("ends after %v min, not %v", got, c.end)
			}
			if got := f.Walltime.P90.Minutes(); math.Abs(got-c.p90) > 1e-6 {
				t.Errorf("p90 ends after %v min, not %v", got, c.p90)
			}
			if got := strings.Join(f.Critical, " "); got != c.critical {
				t.Errorf("critical path %q, not %q", got, c.critical)
			}
		})
	}
}

// TestGantt checks when phases are busy: gates, waits and gaps included.
func TestGantt(t *testing.T) {
	t.Parallel()
	in := Input{Phases: []Phase{
		phase("teachers", 2, 120, smoke(10, 0, 1), pilot(0), waits(25)),
		phase("students", 24, 22.5, from("teachers", halves(24))),
		phase("figure", 1, 2.5, from("students", newEverything(24)), of(1)),
	}, Pools: []offer.Pool{machine(6)}}
	in.Phases[0].Groups[1].Decision.Backend = "slurm.alpine"
	f := Make(in)
	want := map[string][][2]float64{"teachers": {{0, 310}}, "students": {{165, 210}, {310, 355}}, "figure": {{355, 357.5}}}
	got := map[string][][2]float64{}
	for _, s := range f.Phases {
		got[s.Phase] = inMinutes(t, s.Busy)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, want := strings.Join(f.Critical, " → "), "teachers → students → figure"; got != want {
		t.Errorf("critical path %s, not %s", got, want)
	}
}

// halves joins the first half of n cells to cell 0 and the rest to cell 1.
func halves(n int) table {
	t := make(table, n)
	for i := range t {
		t[i] = []int{i / (n / 2)}
	}
	return t
}

// TestWaitingForCoresIsNotBusy: jobs that are ready but have no core yet make
// no bar.
func TestWaitingForCoresIsNotBusy(t *testing.T) {
	t.Parallel()
	f := Make(Input{Phases: []Phase{phase("a", 4, 10), phase("b", 4, 10, from("a", newOneToOne(4)))}, Pools: []offer.Pool{machine(2)}})
	if d := cmp.Diff([][2]float64{{20, 40}}, inMinutes(t, f.Phases[1].Busy)); d != "" {
		t.Error(d)
	}
}

// TestHeldPhaseEndsWhereItsJobsDo: a phase part of which never runs has a bar
// no longer than its jobs.
func TestHeldPhaseEndsWhereItsJobsDo(t *testing.T) {
	t.Parallel()
	f := Make(Input{Phases: []Phase{phase("a", 2, 10, of(1, Never)), phase("b", 1, 30)}})
	if d := cmp.Diff([][2]float64{{0, 10}}, inMinutes(t, f.Phases[0].Busy)); d != "" {
		t.Error(d)
	}
}
