// Command accuracy compares the forecasts of plans with the facts: ten
// campaigns, each run in part for a history, planned for the rest, and applied.
//
//	go run ./internal/accuracy -muster bin/muster
//	go run ./internal/accuracy -muster bin/muster -on slurm
//
// It prints predicted and actual walltime and cost, the error of each, the
// median of the errors, and how often the actual figure stayed below p90. Docs:
// docs/accuracy.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	muster := flag.String("muster", "bin/muster", "the `PROGRAM` to try")
	on := flag.String("on", "local", "`SITE` to run on: local, or slurm, the cluster that Slurm's commands reach")
	seed := flag.Uint64("seed", 1, "of the campaigns' runtimes")
	set := flag.String("set", "first", "the ten campaigns to try, by `NAME`: first, others, shapes")
	only := flag.String("only", "", "one campaign, by `NAME`")
	keep := flag.Bool("keep", false, "keep the working directory, and say where it is")
	flag.Parse()
	if err := run(*muster, *on, *only, *set, *seed, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

func run(muster, on, only, set string, seed uint64, keep bool) error {
	at, ok := sites[on]
	if !ok {
		return fmt.Errorf("-on %s: no such site; write local or slurm", on)
	}
	campaigns := at.set(set)
	if campaigns == nil {
		return fmt.Errorf("-set %s: %s has none of that name; write first, others or shapes", set, on)
	}
	program, err := filepath.Abs(muster)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "muster-accuracy")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println(dir)
	} else {
		defer os.RemoveAll(dir)
	}
	fmt.Printf("%-12s %5s %5s  %8s %8s %8s %6s %4s  %8s %8s %8s %6s %4s\n", "campaign", "past", "jobs", "expected", "p90", "actual", "error", "held", "expected", "p90", "actual", "error", "held")
	fmt.Printf("%-12s %5s %5s  %-37s  %s\n", "", "", "", "walltime, seconds", "cost, "+at.unit)
	var times, cost score
	for i, c := range campaigns() {
		if only != "" && c.name != only {
			continue
		}
		r, err := c.try(at, program, filepath.Join(dir, c.name), seed+uint64(i))
		if err != nil {
			return fmt.Errorf("campaign %s: %w", c.name, err)
		}
		fmt.Printf("%-12s %5d %5d  %s  %s\n", c.name, r.past, r.jobs, times.add(r.walltime), cost.add(r.cost))
	}
	fmt.Printf("\nwalltime: median error %.1f %%, p90 held in %d of %d\ncost:     median error %.1f %%, p90 held in %d of %d\n",
		100*times.median(), times.held, len(times.errors), 100*cost.median(), cost.held, len(cost.errors))
	return nil
}

// A figure is a forecast and what happened.
type figure struct{ expected, p90, actual float64 }

// A score is how well figures were forecast.
type score struct {
	errors []float64
	held   int
}

func (s *score) add(f figure) string {
	off := 0.0
	if f.actual > 0 {
		off = f.expected/f.actual - 1
	}
	held := "no"
	if f.actual <= f.p90 {
		held = "yes"
		s.held++
	}
	s.errors = append(s.errors, max(off, -off))
	return fmt.Sprintf("%8.2f %8.2f %8.2f %+5.0f%% %4s", f.expected, f.p90, f.actual, 100*off, held)
}

func (s *score) median() float64 {
	v := slices.Sorted(slices.Values(s.errors))
	if len(v) == 0 {
		return 0
	}
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
