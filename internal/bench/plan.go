package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// repeats is how often each plan is timed; the least counts, for noise only
// ever adds.
const repeats = 3

// plans times `muster plan` of growing campaigns.
func (b bench) plans() error {
	fmt.Println("plan, from the files to the screen (least of 3; target: 10,000 < 0.3 s, 100,000 < 1 s, 1,000,000 < 6 s and 1 GiB)")
	sizes := []int{10_000, 100_000, 1_000_000}
	if b.short {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		dir := filepath.Join(b.dir, fmt.Sprintf("plan-%d", n))
		if err := campaign(dir, gridCampaign(n)); err != nil {
			return err
		}
		least, err := b.least(dir, "plan", "-refresh=false")
		if err != nil {
			return err
		}
		fmt.Printf("  %9d jobs  %6.2f s  %5d MiB  %6.2f µs/job\n", n, least.wall.Seconds(), least.rss>>20, least.wall.Seconds()*1e6/float64(n))
	}
	return nil
}

// gridCampaign has n jobs over three axes, with a computed float among them,
// a budget, a smoke and resources that depend on an axis.
func gridCampaign(n int) string {
	return fmt.Sprintf(`campaign "bench" {}
backend "local" "local" {}
budget "all" { limits = { cpu_hours = 100000000 } }
grid "g" {
  axes = {
    lr   = linspace(0.001, 0.01, 10)
    n    = range(100)
    seed = range(%d)
  }
}
phase "train" {
  grid   = grid.g
  params = { steps = 1000 }
  job {
    name    = "lr${cell.lr}-n${cell.n}-s${cell.seed}"
    command = "train --lr ${cell.lr} --n ${cell.n} --seed ${cell.seed} --steps ${param.steps} --out ${output.model}"
    resources {
      cpus     = cell.n < 50 ? 1 : 2
      walltime = "10m"
    }
    output "model" { path = "out/${cell.lr}/${cell.n}/${cell.seed}.bin" }
  }
  smoke {
    params   = { steps = 1 }
    walltime = "1m"
    cells    = "ends"
  }
}
`, n/1000)
}

// join times two phases of 2,000 jobs joined cell by cell.
func (b bench) join() error {
	dir := filepath.Join(b.dir, "join")
	err := campaign(dir, `campaign "join" {}
grid "g" { axes = { i = range(2000) } }
phase "a" {
  grid = grid.g
  job {
    command = "a ${cell.i} > ${output.x}"
    resources { walltime = "1m" }
    output "x" { path = "a/${cell.i}" }
  }
}
phase "b" {
  grid = grid.g
  job {
    command = "b ${input.x} > ${output.y}"
    input "x" { from = phase.a.output.x }
    resources { walltime = "1m" }
    output "y" { path = "b/${cell.i}" }
  }
}
`)
	if err != nil {
		return err
	}
	least, err := b.least(dir, "plan", "-refresh=false")
	if err != nil {
		return err
	}
	fmt.Printf("two phases of 2,000 jobs joined cell by cell (target < 0.3 s)\n  %6.2f s  %d MiB\n", least.wall.Seconds(), least.rss>>20)
	return nil
}

func campaign(dir, src string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "campaign.muster.hcl"), []byte(src), 0o644)
}

func (b bench) least(dir string, args ...string) (run, error) {
	var least run
	for i := range repeats {
		r, err := b.run(dir, args...)
		if err != nil {
			return r, err
		}
		if i == 0 || r.wall < least.wall {
			least = r
		}
	}
	return least, nil
}
