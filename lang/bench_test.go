package lang

import (
	"runtime"
	"testing"
	"time"
)

// million is a campaign of a million jobs, each with an output of its own and
// a name, half of the axes read by everything.
const million = `
grid "g" {
  axes = {
    seed = range(1000)
    N    = [for i in range(100): i * 4]
    lr   = linspace(0.001, 0.01, 10)
  }
}
phase "train" {
  grid   = grid.g
  params = { steps = 30000 }
  job {
    name    = "t-${cell.N}-${cell.lr}-${cell.seed}"
    command = "python train.py --n ${cell.N} --lr ${cell.lr} --seed ${cell.seed} --steps ${param.steps} --out ${output.result}"
    env     = { OMP_NUM_THREADS = "8" }
    resources {
      memory   = cell.N > 200 ? "32GiB" : "16GiB"
      walltime = "4h"
    }
    output "result" {
      path   = "out/N${cell.N}/lr${cell.lr}/s${cell.seed}.json"
      verify = "json"
    }
  }
}
`

func BenchmarkLoadMillion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c, ds := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(million)}, LoadOptions{Dir: "/tmp", Schemas: schemas})
		if ds.HasErrors() || c.Phases[0].Len() != 1_000_000 {
			b.Fatal(ds)
		}
	}
}

func BenchmarkAppendResult(b *testing.B) {
	c, _ := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(million)}, LoadOptions{Dir: "/tmp", Schemas: schemas})
	p := c.Phases[0]
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		buf = p.AppendResult(buf[:0], i%1_000_000, Run)
		i += 7919
	}
}

func TestLoadMillionMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a million cells")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	c := mustLoad(t, million)
	runtime.ReadMemStats(&after)
	t.Logf("loaded %d cells in %v, %d MiB allocated", c.Phases[0].Len(), time.Since(start), (after.TotalAlloc-before.TotalAlloc)>>20)
	const most = 300 << 20 // bytes allocated in all, garbage included
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d MiB were allocated to load a million cells", n>>20)
	}
}

func TestAppendResultAllocatesNothing(t *testing.T) {
	c := mustLoad(t, million)
	p := c.Phases[0]
	buf := make([]byte, 0, 4096)
	i := 0
	if n := testing.AllocsPerRun(1000, func() { i += 7919; buf = p.AppendResult(buf[:0], i%p.Len(), Run) }); n != 0 {
		t.Errorf("%v allocations for a cell", n)
	}
}

func BenchmarkJoinTwoThousand(b *testing.B) {
	src := `
grid "g" { axes = { i = range(1000), k = [1, 2] } }
phase "a" {
  grid = grid.g
  job {
    command = "echo ${cell.i} ${cell.k} > ${output.o}"
    output "o" { path = "a/${cell.i}-${cell.k}" }
  }
}
phase "b" {
  grid = grid.g
  job {
    command = "cat ${input.a} > ${output.o}"
    input "a" { from = phase.a.output.o }
    output "o" { path = "b/${cell.i}-${cell.k}" }
  }
}
`
	for b.Loop() {
		if _, ds := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(src)}, LoadOptions{Dir: "/tmp", Schemas: schemas}); len(ds) > 0 {
			b.Fatal(ds)
		}
	}
}
