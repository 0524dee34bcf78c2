package forecast

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/providers/offer"
)

// draw makes a campaign of a few phases on one machine, joined at random to
// phases before them.
func draw(t *rapid.T, slots int) Input {
	in := Input{Pools: []offer.Pool{machine(slots)}}
	for i := range rapid.IntRange(1, 6).Draw(t, "phases") {
		n := rapid.IntRange(1, 12).Draw(t, "cells")
		p := Phase{Name: string(rune('a' + i)), Of: make([]uint16, n), Groups: []Group{{}}}
		for range rapid.IntRange(1, 3).Draw(t, "groups") {
			p.Groups = append(p.Groups, onMachine(time.Duration(rapid.IntRange(0, 50).Draw(t, "minutes"))*time.Minute))
		}
		for c := range p.Of {
			p.Of[c] = uint16(rapid.IntRange(0, len(p.Groups)-1).Draw(t, "group"))
		}
		for k := range i {
			p.join(t, &in.Phases[k])
		}
		p.gates(t)
		in.Phases = append(in.Phases, p)
	}
	return in
}

func (p *Phase) join(t *rapid.T, producer *Phase) {
	switch rapid.IntRange(0, 5).Draw(t, "join") {
	case 0:
		p.DependsOn = append(p.DependsOn, producer.Name)
	case 1, 2:
		j := make(table, len(p.Of))
		for c := range j {
			j[c] = rapid.SliceOfNDistinct(rapid.IntRange(0, len(producer.Of)-1), 0, 3, rapid.ID).Draw(t, "members")
		}
		p.Inputs = append(p.Inputs, Edge{From: producer.Name, Join: j})
	}
}

func (p *Phase) gates(t *rapid.T) {
	if rapid.Bool().Draw(t, "smoke") {
		p.Smoke, p.Parallel = []int{0}, rapid.Bool().Draw(t, "parallel")
		if len(p.Of) > 1 {
			p.Smoke = append(p.Smoke, len(p.Of)-1)
		}
		p.SmokeJob = onMachine(time.Duration(rapid.IntRange(0, 9).Draw(t, "smoke minutes")) * time.Minute)
	}
	if p.Of[0] != 0 && rapid.Bool().Draw(t, "pilot") {
		p.Pilot = []int{0}
	}
}

// work is the time of all jobs and the longest chain of them, which the
// simulation without any limit takes.
func work(in Input) (sum, chain time.Duration) {
	eachGroup(in, func(_ string, g Group, n int) { sum += time.Duration(n) * g.duration(false, 1) })
	in.Pools = nil
	return sum, Make(in).Walltime.P50
}

// TestGraham: a schedule that never idles a core without need ends no later
// than the work over the cores plus the longest chain, and no earlier than
// either (Graham 1966). The smokes of a phase, one after another, are counted
// in the chain.
func TestGraham(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 5).Draw(t, "slots")
		in := draw(t, slots)
		sum, chain := work(in)
		end := Make(in).Walltime.P50
		if end < chain || end*time.Duration(slots) < sum {
			t.Fatalf("ends after %v: the work is %v on %d cores, the longest chain %v", end, sum, slots, chain)
		}
		if end > sum/time.Duration(slots)+chain+time.Duration(slots) {
			t.Fatalf("ends only after %v: the work is %v on %d cores, the longest chain %v", end, sum, slots, chain)
		}
	})
}

// TestConservation: nothing is ever over a limit, every job runs, and in the
// end all that was taken is given back.
func TestConservation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, rapid.IntRange(1, 5).Draw(t, "slots"))
		in.CampaignCap = rapid.IntRange(0, 6).Draw(t, "campaign cap")
		in.BackendCaps = map[string]int{"local.local": rapid.IntRange(0, 6).Draw(t, "backend cap")}
		for i := range in.Phases {
			in.Phases[i].Cap = rapid.IntRange(0, 4).Draw(t, "phase cap")
			for g := range in.Phases[i].Groups {
				in.Phases[i].Groups[g].Decision.Wait = time.Duration(rapid.IntRange(0, 2).Draw(t, "wait")) * 7 * time.Minute
			}
		}
		s, fresh := build(&in, deal{}), build(&in, deal{})
		ended := 0
		s.begin()
		for len(s.events) > 0 {
			for _, e := range s.events {
				if e.at == s.events[0].at && e.ended {
					ended += len(e.batch.cells)
				}
			}
			s.step()
			s.within(t)
		}
		want := 0
		eachGroup(in, func(_ string, _ Group, n int) { want += n })
		if ended != want {
			t.Fatalf("%d jobs ran, not %d", ended, want)
		}
		s.same(t, fresh)
	})
}

func (s *sim) within(t *rapid.T) {
	for name, c := range s.caps {
		if *c < 0 {
			t.Fatalf("cap of %q is %d over", name, -*c)
		}
	}
	for name, c := range s.pools {
		if c.jobs < 0 || c.gpus < 0 || c.cpus < 0 || c.memory < 0 {
			t.Fatalf("pool %q is over its capacity: %+v", name, *c)
		}
	}
	for _, n := range s.nodes {
		if *n.cap < 0 {
			t.Fatalf("cap of phase %q is %d over", n.phase, -*n.cap)
		}
	}
}

func (s *sim) same(t *rapid.T, fresh *sim) {
	for name, c := range s.caps {
		if *c != *fresh.caps[name] {
			t.Fatalf("cap of %q was not given back", name)
		}
	}
	for name, c := range s.pools {
		if *c != *fresh.pools[name] {
			t.Fatalf("pool %q was not given back: %+v", name, *c)
		}
	}
}

// TestOrderOfPhases: phases without edges between them may be written in any
// order. Where cores are short, this needs jobs that are alike.
func TestOrderOfPhases(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		short := rapid.Bool().Draw(t, "short of cores")
		in := Input{}
		if short {
			in.Pools = []offer.Pool{machine(3)}
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "phases") {
			minutes := 10.0
			if !short {
				minutes = float64(rapid.IntRange(0, 50).Draw(t, "minutes"))
			}
			in.Phases = append(in.Phases, phase(string(rune('a'+i)), rapid.IntRange(0, 9).Draw(t, "cells"), minutes))
		}
		end := Make(in).Walltime
		in.Phases = rapid.Permutation(in.Phases).Draw(t, "order")
		if again := Make(in).Walltime; again != end {
			t.Fatalf("%v in this order, %v before", again, end)
		}
	})
}

// TestSameAgain: the same input gives the same forecast.
func TestSameAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, 2)
		a, b := Make(in), Make(in)
		if a.Walltime != b.Walltime || !slices.Equal(a.Critical, b.Critical) || len(a.Phases) != len(b.Phases) {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}

// TestLongestFirst: jobs of different lengths that start the longest first end
// within a third of any other order (Graham 1969), hardly ever after the order
// of the grid, and on the average before it.
func TestLongestFirst(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	const tries = 400
	sum, worse := 0.0, 0
	for range tries {
		cores := 1 + r.IntN(8)
		p := Phase{Name: "a", Groups: []Group{{}}}
		for range cores + r.IntN(60) {
			p.Of = append(p.Of, uint16(len(p.Groups)))
			p.Groups = append(p.Groups, onMachine(minutes(1+r.ExpFloat64()*30)))
		}
		ends := make([]time.Duration, cores) // in the order of the grid
		for _, g := range p.Of {
			ends[slices.Index(ends, slices.Min(ends))] += p.Groups[g].Runtime.Expected
		}
		grid, longest := slices.Max(ends), Make(Input{Phases: []Phase{p}, Pools: []offer.Pool{machine(cores)}}).Walltime.P50
		ratio := float64(longest) / float64(grid)
		if most := 4.0/3 - 1/(3*float64(cores)); ratio > most+1e-9 {
			t.Fatalf("%d jobs on %d cores: %v longest first, %v as in the grid", len(p.Of), cores, longest, grid)
		}
		sum += ratio
		if ratio > 1.01 {
			worse++
		}
	}
	if mean := sum / tries; mean > 0.97 || worse > tries/50 {
		t.Errorf("longest first takes %.3f of the grid's order, and more than it %d times of %d", mean, worse, tries)
	}
}
