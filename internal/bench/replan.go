package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// rounds is how often two plans are timed in turn; the median of each counts,
// for what disturbs one disturbs the other.
const rounds = 11

// replans times the first plan of a campaign and, in turn with it, the plan
// after its apply, in which nothing changed: that one sees to it that the state
// is whole and each file as recorded.
func (b bench) replans() error {
	fmt.Printf("plan of a campaign that was applied and did not change, beside its first plan (medians of %d in turn; target: × 1.0 at most)\n", rounds)
	sizes := []int{1000, 10_000, 50_000, 100_000}
	if b.short {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		if err := b.replan(n); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) replan(n int) error {
	fresh, done := filepath.Join(b.dir, fmt.Sprintf("first-%d", n)), filepath.Join(b.dir, fmt.Sprintf("replan-%d", n))
	for _, dir := range []string{fresh, done} {
		if err := campaign(dir, noopCampaign(n)); err != nil {
			return err
		}
	}
	if _, err := b.run(done, "apply", "-auto-approve"); err != nil {
		return err
	}
	var first run
	for _, form := range [][]string{{"-markdown"}, {"-json"}, {"-out", filepath.Join(b.dir, "saved.mplan")}, nil} {
		var again run
		var err error
		if first, again, err = b.inTurn(fresh, done, form...); err != nil {
			return err
		}
		fmt.Printf("  %9d jobs %-10s first %5.2f s (CPU %5.3f)  unchanged %5.2f s (CPU %5.3f)  × %.2f (CPU × %.2f)\n", n, slices.Concat(form, []string{""})[0],
			first.wall.Seconds(), first.cpu.Seconds(), again.wall.Seconds(), again.cpu.Seconds(),
			again.wall.Seconds()/first.wall.Seconds(), again.cpu.Seconds()/first.cpu.Seconds())
	}
	return b.unforeseen(done, first)
}

// unforeseen times the plan of the same campaign without what was kept of it:
// made from a glance at the state, and then from all of the state.
func (b bench) unforeseen(dir string, first run) error {
	for _, without := range []struct{ file, text string }{
		{".muster/cache/unchanged.json", "worked out from a glance at the state"},
		{"muster.state.glance", "worked out from the whole state"},
	} {
		var took []run
		for range repeats {
			if err := os.Remove(filepath.Join(dir, without.file)); err != nil && !os.IsNotExist(err) {
				return err
			}
			r, err := b.run(dir, "plan")
			if err != nil {
				return err
			}
			took = append(took, r)
		}
		r := median(took)
		fmt.Printf("                  %-38s %5.2f s (CPU %5.3f)  × %.2f (CPU × %.2f)\n", without.text, r.wall.Seconds(), r.cpu.Seconds(),
			r.wall.Seconds()/first.wall.Seconds(), r.cpu.Seconds()/first.cpu.Seconds())
	}
	return nil
}

// inTurn times a plan in one form in two directories, one after the other, rounds times.
func (b bench) inTurn(one, other string, form ...string) (run, run, error) {
	var took [2][]run
	for range rounds {
		for i, dir := range []string{one, other} {
			r, err := b.run(dir, append([]string{"plan"}, form...)...)
			if err != nil {
				return run{}, run{}, err
			}
			took[i] = append(took[i], r)
		}
	}
	return median(took[0]), median(took[1]), nil
}

// median is the middle of each measure by itself.
func median(runs []run) run {
	middle := func(of func(run) time.Duration) time.Duration {
		var all []time.Duration
		for _, r := range runs {
			all = append(all, of(r))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	return run{wall: middle(func(r run) time.Duration { return r.wall }), cpu: middle(func(r run) time.Duration { return r.cpu })}
}
