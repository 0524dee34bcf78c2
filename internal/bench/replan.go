package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rounds is how often two plans are timed in turn; the median of each counts,
// for a disturbance hits both.
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
		if err := b.replanFailed(n); err != nil {
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
		printReplan(n, slices.Concat(form, []string{""})[0], first, again)
	}
	return b.unforeseen(done, first)
}

// replanFailed times the plan after an apply in which 4 of the jobs failed, far
// from one another.
func (b bench) replanFailed(n int) error {
	at := n / 8
	failing := strings.Replace(noopCampaign(n), `"echo`, fmt.Sprintf(`"case ${cell.i} in %d|%d|%d|%d) exit 1;; esac; echo`, at, 3*at, 5*at, 7*at), 1)
	fresh, ended := filepath.Join(b.dir, fmt.Sprintf("first-failing-%d", n)), filepath.Join(b.dir, fmt.Sprintf("replan-failed-%d", n))
	for _, dir := range []string{fresh, ended} {
		if err := campaign(dir, failing); err != nil {
			return err
		}
	}
	_, err := b.run(ended, "apply", "-auto-approve")
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err // jobs that fail make it an error, too
	}
	first, again, err := b.inTurn(fresh, ended)
	if err != nil {
		return err
	}
	printReplan(n, "4 failed", first, again)
	return b.unforeseen(ended, first)
}

func printReplan(n int, what string, first, again run) {
	fmt.Printf("  %9d jobs %-10s first %5.2f s (CPU %5.3f)  unchanged %5.2f s (CPU %5.3f)  × %.2f (CPU × %.2f)\n", n, what,
		first.wall.Seconds(), first.cpu.Seconds(), again.wall.Seconds(), again.cpu.Seconds(),
		again.wall.Seconds()/first.wall.Seconds(), again.cpu.Seconds()/first.cpu.Seconds())
}

// unforeseen times the plan of the same campaign without its caches: made from a glance at the
// state, and then from all of the state.
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
