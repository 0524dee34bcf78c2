package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// The scheduler does not cancel the dependents of a job that may return under a new id (sbatch
// --kill-on-invalid-dep=no). When such a job has failed for good, its start cancels them: with
// muster off, they would wait in the queue for ever.

// returns reports whether a job may come back under a new id. The scripts of its dependents
// say so, too.
func returns(j *providers.Job) bool { return j.Retry.Launches() > 1 && len(j.Retry.Scale) > 0 }

// endFollowers cancels the jobs that wait for this one, and those that wait for
// them, if it failed for good. It is an economy: their starts would refuse to run.
func (s *start) endFollowers(e End) error {
	if !e.Final || e.Completed() || !returns(s.job) {
		return nil // the scheduler cancels jobs that cannot come back
	}
	ctx, stop := context.WithTimeout(context.Background(), changeTimeout)
	defer stop()
	by, err := s.spool.followers(s.begin.Token)
	if err != nil {
		return fmt.Errorf("find the jobs that depend on this one: %w", err)
	}
	for _, k := range slices.Sorted(maps.Keys(by)) {
		if err := k.cancelWaiting(ctx, s.allocation.scheduler, by[k]); err != nil {
			return fmt.Errorf("cancel the jobs that depend on this one: %w", err)
		}
	}
	return nil
}

// followers are the elements of batches that depend on a token, directly or not.
func (s Spool) followers(token string) (map[Batch][]int, error) {
	dirs, err := filepath.Glob(s.path("batches", "*", "index"))
	if err != nil {
		return nil, err
	}
	out := map[Batch][]int{}
	after := s.replaced(token)
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

// replaced are a token and the tokens that it replaces.
func (s Spool) replaced(token string) []string {
	list := []string{token}
	old, _ := os.ReadDir(s.path("heirs"))
	for _, f := range old {
		if s.Heir(f.Name()) == token && f.Name() != token {
			list = append(list, f.Name())
		}
	}
	return list
}

// naming are the elements of a batch that name one of some tokens. It searches the text first:
// a campaign has many long batches, and few name the tokens.
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

// cancelWaiting cancels the waiting elements of a batch that the scheduler has.
func (b Batch) cancelWaiting(ctx context.Context, from scheduler.Node, elements []int) error {
	jobs := scheduler.Jobs{ID: b.Noted("id")}
	var head struct{ Array, Packed bool }
	if text, err := os.ReadFile(filepath.Join(string(b), "batch.json")); jobs.ID == "" || err != nil || json.Unmarshal(text, &head) != nil || head.Packed {
		return nil // of a pack, others may have to run
	}
	if head.Array {
		jobs.Indexes = slices.Sorted(slices.Values(elements))
	}
	return from.CancelWaiting(ctx, filepath.Base(string(b)), []scheduler.Jobs{jobs})
}
