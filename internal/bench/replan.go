package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// replans times the first plan of a campaign and the plan after its apply, in
// which nothing changed: that one reads a record of each job and looks at each
// of its files.
func (b bench) replans() error {
	fmt.Println("plan of a campaign that was applied and did not change, beside its first plan (least of 3)")
	sizes := []int{10_000, 100_000}
	if b.short {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		if err := b.replan(n); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) replan(n int) error {
	dir := filepath.Join(b.dir, fmt.Sprintf("replan-%d", n))
	if err := campaign(dir, noopCampaign(n)); err != nil {
		return err
	}
	first, err := b.least(dir, "plan")
	if err != nil {
		return err
	}
	if _, err := b.run(dir, "apply", "-auto-approve"); err != nil {
		return err
	}
	again, err := b.least(dir, "plan")
	if err != nil {
		return err
	}
	blind, err := b.least(dir, "plan", "-refresh=false")
	if err != nil {
		return err
	}
	bytes := int64(0)
	if info, err := os.Stat(filepath.Join(dir, "muster.state.json")); err == nil {
		bytes = info.Size()
	}
	fmt.Printf("  %9d jobs  first %5.2f s (CPU %5.2f)  unchanged %5.2f s (CPU %5.2f)  × %.1f (CPU × %.1f)\n", n,
		first.wall.Seconds(), first.cpu.Seconds(), again.wall.Seconds(), again.cpu.Seconds(),
		again.wall.Seconds()/first.wall.Seconds(), again.cpu.Seconds()/first.cpu.Seconds())
	fmt.Printf("                  of it: reading and checking a state of %d MiB, and planning: CPU %.2f; looking at %d files: CPU %.2f\n",
		bytes>>20, blind.cpu.Seconds(), n, (again.cpu - blind.cpu).Seconds())
	return nil
}
