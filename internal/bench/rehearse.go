package main

import (
	"fmt"
	"path/filepath"
)

// rehearsals times one rehearsal of a month: the plan, and the engine driving
// every job of it in virtual time.
func (b bench) rehearsals() error {
	n := 100_000
	if b.short {
		n = 10_000
	}
	fmt.Println("rehearse once, a month of compute with retries and a queue (least of 3; target: 100,000 < 60 s and 600 MiB)")
	dir := filepath.Join(b.dir, "rehearse")
	if err := campaign(dir, monthCampaign(n)); err != nil {
		return err
	}
	least, err := b.least(dir, "rehearse", "-runs=1", "-fail=preempted=0.05")
	if err != nil {
		return err
	}
	fmt.Printf("  %9d jobs  %6.2f s  %5d MiB  %6.2f µs/job\n", n, least.wall.Seconds(), least.rss>>20, least.wall.Seconds()*1e6/float64(n))
	return nil
}

// monthCampaign has n jobs in two phases, joined cell by cell, which take about
// 30 days on its GPUs.
func monthCampaign(n int) string {
	return fmt.Sprintf(`campaign "month" {}
backend "sim" "alpine" {
  pool "aa100" {
    nodes            = %d
    gpus             = 4
    gpu              = "A100"
    wait             = "20m"
    usd_per_gpu_hour = 0.35
  }
}
budget "all" { limits = { usd = 100000000 } }
phase "train" {
  grid { axes = { seed = range(%d) } }
  place { candidates = [backend.sim.alpine] }
  retry {
    max_attempts = 5
    on           = ["preempted"]
  }
  job {
    command = "train --seed ${cell.seed} --out ${output.w}"
    resources {
      gpus     = 1
      walltime = "4h"
    }
    output "w" { path = "w/${cell.seed}.pt" }
  }
}
phase "score" {
  grid { axes = { seed = range(%d) } }
  place { candidates = [backend.sim.alpine] }
  retry {
    max_attempts = 5
    on           = ["preempted"]
  }
  job {
    command = "score ${input.w} > ${output.s}"
    resources {
      gpus     = 1
      walltime = "1h"
    }
    input "w" { from = phase.train.output.w }
    output "s" { path = "s/${cell.seed}.json" }
  }
}
`, max(n/2300, 1), n/2, n/2)
}
