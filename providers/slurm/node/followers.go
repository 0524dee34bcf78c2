package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
)

// What comes after a job that may return under a new id is not cancelled with
// it by Slurm (--kill-on-invalid-dep=no). When the job has failed for good, its
// wrapper does that: with muster off nobody else would, and they would wait in
// the queue for ever.

// returns reports whether a job may come back under a new id. sbatch was told
// so of what comes after it.
func returns(j *providers.Job) bool { return j.Retry.Launches() > 1 && len(j.Retry.Scale) > 0 }

// endFollowers cancels what waits for this job, which has failed for good, and
// what waits for that. It is an economy: their starts would refuse to run.
func (s *start) endFollowers(ctx context.Context) error {
	if !returns(s.job) {
		return nil // Slurm does it
	}
	by, err := s.spool.followers(s.begin.Token)
	if err != nil {
		return fmt.Errorf("find what comes after the job: %w", err)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		if err := s.cancelWaiting(ctx, k, by[k]); err != nil {
			return fmt.Errorf("cancel what comes after the job: %w", err)
		}
	}
	return nil
}

// followers are the elements of batches that come after a token, directly or
// not.
func (s Spool) followers(token string) (map[Batch][]int, error) {
	dirs, err := filepath.Glob(s.path("batches", "*", "index"))
	if err != nil {
		return nil, err
	}
	out := map[Batch][]int{}
	after := s.forerunners(token)
	for seen := map[string]bool{}; len(after) > 0; {
		var next []string
		for _, index := range dirs {
			k := Batch(filepath.Dir(index))
			elements, err := k.naming(after)
			if err != nil {
				return nil, err
			}
			for _, e := range elements {
				if !slices.ContainsFunc(e.Job.After, func(t string) bool { return slices.Contains(after, t) }) {
					continue
				}
				if !slices.Contains(out[k], e.Index) {
					out[k] = append(out[k], e.Index)
				}
				if !seen[e.Job.Token] {
					seen[e.Job.Token] = true
					next = append(next, e.Job.Token)
				}
			}
		}
		after = next
	}
	return out, nil
}

// forerunners are a token and those that it stands for.
func (s Spool) forerunners(token string) []string {
	list := []string{token}
	old, _ := os.ReadDir(s.path("heirs"))
	for _, f := range old {
		if s.Heir(f.Name()) == token && f.Name() != token {
			list = append(list, f.Name())
		}
	}
	return list
}

// naming are the elements of a batch in which one of some tokens is named; the
// batches of a campaign are many and long, and few name it.
func (b Batch) naming(tokens []string) ([]Element, error) {
	text, err := os.ReadFile(filepath.Join(string(b), "jobs"))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(tokens, func(t string) bool { return bytes.Contains(text, []byte(t)) }) {
		return nil, nil
	}
	return b.Read()
}

// cancelWaiting ends elements of a batch that wait, if Slurm has it; else they are
// not sent. Ids are given out again: the name says whose they are. Of an array
// squeue says it: a scancel that chooses by name or state ends the whole of one
// whose elements still stand in one record.
func (s *start) cancelWaiting(ctx context.Context, b Batch, elements []int) error {
	id, name := b.Noted("id"), filepath.Base(string(b))
	var head struct{ Array bool }
	if text, err := os.ReadFile(filepath.Join(string(b), "batch.json")); id == "" || err != nil || json.Unmarshal(text, &head) != nil {
		return nil
	}
	if !head.Array {
		return scancel(ctx, "--state=PENDING", "--name="+name, "--", id)
	}
	rows, err := s.ask(ctx, "squeue", "-h", "-r", "-t", "PENDING", "-n", name, "-o", "%F_%K")
	if err != nil {
		return err
	}
	waiting := strings.Fields(rows)
	var list []string
	for _, n := range slices.Sorted(slices.Values(elements)) {
		if i := strconv.Itoa(n); slices.Contains(waiting, id+"_"+i) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return scancel(ctx, "--", id+"_["+strings.Join(list, ",")+"]")
}

func scancel(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "scancel", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return nil
}
