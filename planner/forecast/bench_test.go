package forecast

import (
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// Both quantiles and the costs of a million jobs.

func BenchmarkOnePhase1M(b *testing.B) {
	bench(b, Input{Phases: []Phase{phase("a", 1_000_000, 10)}, Pools: []offer.Pool{machine(16)}})
}

func BenchmarkOnePhaseUnlimited1M(b *testing.B) {
	bench(b, Input{Phases: []Phase{phase("a", 1_000_000, 10)}})
}

func BenchmarkCellByCell1M(b *testing.B) {
	bench(b, Input{Phases: []Phase{phase("a", 500_000, 10), phase("b", 500_000, 10, from("a", newOneToOne(500_000)))}, Pools: []offer.Pool{machine(16)}})
}

func BenchmarkGates1M(b *testing.B) {
	bench(b, Input{Phases: []Phase{phase("a", 1_000_000, 10, smoke(5, 0, 999_999), pilot(0))}, Pools: []offer.Pool{machine(16)}})
}

// BenchmarkManyGroups1M: every job takes one of 10,000 durations, so that no
// two end together.
func BenchmarkManyGroups1M(b *testing.B) {
	p := phase("a", 1_000_000, 10)
	for i := range 10_000 {
		p.Groups = append(p.Groups, onMachine(minutes(10)+minutes(float64(i)/100)))
	}
	for i := range p.Of {
		p.Of[i] = uint16(1 + i%10_000)
	}
	bench(b, Input{Phases: []Phase{p}, Pools: []offer.Pool{machine(16)}})
}

// BenchmarkSeen1M: runtimes with a spread, and retries: cells are divided into
// classes.
func BenchmarkSeen1M(b *testing.B) {
	p := phase("a", 1_000_000, 60)
	p.Groups[1].Runtime, p.Groups[1].Failing, p.Groups[1].Launches = seenOf(99, 2), 0.05, 3
	bench(b, Input{Phases: []Phase{p}, Pools: []offer.Pool{machine(16)}})
}

func bench(b *testing.B, in Input) {
	b.ReportAllocs()
	for b.Loop() {
		if f := Make(in); f.Walltime.P50 == 0 {
			b.Fatal("nothing ran")
		}
	}
}

// BenchmarkTransfers1M: each of half a million outputs is moved to where it is read.
func BenchmarkTransfers1M(b *testing.B) {
	const n = 500_000
	q := phase("b", n, 10, from("a", newOneToOne(n)), leg(0, 0))
	q.Groups[1] = elsewhere(10)
	bench(b, Input{Phases: []Phase{phase("a", n, 10), q}, Pools: []offer.Pool{machine(16), {Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 16, Idle: 16, Total: 16}},
		Transfers: []Transfer{{Name: "w", Phase: "a", Cells: toInt32(newOneToOne(n).cells), Link: "ssh.lab", Each: minutes(0.1), Late: minutes(0.2)}}})
}
