package planner

import (
	"testing"

	"github.com/muster-run/muster/state"
)

// Two phases joined cell by cell; `make bench` prints plans of whole campaigns.

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		seeds := make([]int, n/2)
		for i := range seeds {
			seeds[i] = i
		}
		c := load(b, nil, phaseSpec{name: "a", seeds: seeds, lr: "1"}, phaseSpec{name: "b", seeds: seeds, lr: "1", input: "a"})
		b.Run("first/"+size(n), func(b *testing.B) { makeN(b, input(c, &state.State{}), n) })
		b.Run("unchanged/"+size(n), func(b *testing.B) { makeN(b, input(c, applied(b, c, state.Completed)), n) })
	}
}

// BenchmarkSpread is two phases over the hosts of one backend, each with files
// of its own.
func BenchmarkSpread(b *testing.B) {
	const n = 100_000
	seeds := make([]int, n/2)
	for i := range seeds {
		seeds[i] = i
	}
	in := lab(b, false, map[string]int{"w": 8, "x": 8, "y": 4, "z": 4},
		phaseSpec{name: "a", seeds: seeds, lr: "1", gpus: 1}, phaseSpec{name: "b", seeds: seeds, lr: "1", gpus: 1, input: "a"})
	makeN(b, in, n)
}

func size(n int) string {
	return map[int]string{1_000: "1k", 10_000: "10k", 100_000: "100k"}[n]
}

func makeN(b *testing.B, in Input, n int) {
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := Make(in); p.Counts.Run+p.Counts.Unchanged != n {
			b.Fatalf("%+v", p.Counts)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/job")
}

// BenchmarkFitted is a phase of which some jobs have completed, in times that
// follow an axis with a value for every cell.
func BenchmarkFitted(b *testing.B) {
	const n, done = 100_000, 2_000
	seeds := make([]int, n)
	for i := range seeds {
		seeds[i] = i + 1
	}
	c := load(b, nil, phaseSpec{name: "a", seeds: seeds, lr: "1"})
	st := applied(b, c, state.Completed)
	for i := range n {
		job := st.Jobs[c.Phases[0].Address(i)]
		if i%(n/done) != 0 {
			delete(st.Jobs, job.Address)
			continue
		}
		job.Attempts[0].Usage = &state.Usage{Elapsed: 60 + float64(i)/1000}
	}
	makeN(b, input(c, st), n)
}

// BenchmarkInFlight is a phase of which half the jobs have completed and half run.
func BenchmarkInFlight(b *testing.B) {
	const n = 20_000
	seeds := make([]int, n)
	for i := range seeds {
		seeds[i] = i
	}
	c := load(b, nil, phaseSpec{name: "a", seeds: seeds, lr: "1"})
	st := applied(b, c, state.Completed)
	for i := n / 2; i < n; i++ {
		st.Jobs[c.Phases[0].Address(i)].Status = state.Running
	}
	in := input(c, st)
	b.ReportAllocs()
	for b.Loop() {
		if p, _ := Make(in); p.Counts.Continue+p.Counts.Unchanged != n {
			b.Fatalf("%+v", p.Counts)
		}
	}
}
