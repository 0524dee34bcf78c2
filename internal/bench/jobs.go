package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// jobs runs the same no-op jobs (make one small file each) through muster and
// its neighbours, two at a time.
func (b bench) jobs() error {
	n := 10_000
	if b.short {
		n = 2000
	}
	fmt.Printf("%d no-op jobs, one small output each, two at a time (target: 800/s, 2.5 × GNU parallel --joblog, ahead of task-spooler; 300 MiB)\n", n)
	rate, err := b.noops(n)
	if err != nil {
		return err
	}
	if !b.short {
		fmt.Printf("%d no-op jobs (target: the rate of %d; 400 MiB)\n", 10*n, n)
		if _, err := b.noops(10 * n); err != nil {
			return err
		}
	}
	for _, other := range neighbours(n) {
		if _, err := exec.LookPath(other.tool); err != nil {
			fmt.Printf("  %-34s not installed\n", other.name)
			continue
		}
		took, err := other.run(filepath.Join(b.dir, other.tool), n)
		if err != nil {
			return err
		}
		r := float64(other.jobs) / took.Seconds()
		fmt.Printf("  %-34s %7.0f/s  muster is %.1f × as fast\n", other.name, r, rate/r)
	}
	return nil
}

// noops applies n no-op jobs and returns how many end in a second.
func (b bench) noops(n int) (rate float64, err error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("jobs-%d", n))
	if err := campaign(dir, noopCampaign(n)); err != nil {
		return 0, err
	}
	ours, err := b.run(dir, "apply", "-auto-approve")
	if err != nil {
		return 0, err
	}
	rate = float64(n) / ours.wall.Seconds()
	fmt.Printf("  %-34s %7.0f/s  %5d MiB in the engine\n", "muster apply (journalled, verified)", rate, ours.rss>>20)
	return rate, nil
}

func noopCampaign(n int) string {
	return fmt.Sprintf(`campaign "noop" {}
backend "local" "local" {}
grid "g" { axes = { i = range(%d) } }
phase "noop" {
  grid = grid.g
  job {
    command = "echo ${cell.i} > ${output.x}"
    resources { cpus = 1 }
    output "x" {
      path   = "out/${cell.i}"
      verify = "nonempty"
    }
  }
}
`, n)
}

// A neighbour is another way to run the same jobs.
type neighbour struct {
	name, tool string
	jobs       int
	run        func(dir string, n int) (time.Duration, error)
}

func neighbours(n int) []neighbour {
	few := min(n, 2000) // they are linear: fewer jobs tell as much
	return []neighbour{
		{"task-spooler", "tsp", few, func(dir string, _ int) (time.Duration, error) {
			return shell(dir, fmt.Sprintf("export TS_SOCKET=$PWD/sock; tsp -S 2; for i in $(seq %d); do tsp -n sh -c \"echo $i > out/$i\" >/dev/null; done; for t in $(seq 6000); do [ $(ls out | wc -l) -lt %d ] || break; sleep 0.01; done; tsp -K", few, few))
		}},
		{"make -j2", "make", few, func(dir string, _ int) (time.Duration, error) {
			targets := make([]string, few)
			for i := range targets {
				targets[i] = fmt.Sprintf("out/%d", i)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return 0, err
			}
			text := "all: " + strings.Join(targets, " ") + "\nout/%:\n\t@echo $* > $@\n"
			if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644); err != nil {
				return 0, err
			}
			return shell(dir, "make -s -j2 all")
		}},
		{"xargs -P2", "xargs", few, func(dir string, _ int) (time.Duration, error) {
			return shell(dir, fmt.Sprintf("seq %d | xargs -P2 -I{} sh -c 'echo {} > out/{}'", few))
		}},
		// Last: it removes many temporary files, which slows whatever makes
		// files right after it on some file systems.
		{"GNU parallel --joblog", "parallel", few, func(dir string, _ int) (time.Duration, error) {
			return shell(dir, fmt.Sprintf("seq %d | parallel --will-cite -j2 --joblog log 'echo {} > out/{}'", few))
		}},
	}
}

func shell(dir, script string) (time.Duration, error) {
	if err := os.MkdirAll(filepath.Join(dir, "out"), 0o755); err != nil {
		return 0, err
	}
	r, err := measure(dir, "/bin/sh", "-c", script)
	return r.wall, err
}
