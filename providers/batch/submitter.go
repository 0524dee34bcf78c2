package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A submitter submits the scripts of batches, each once, at the rate that its
// backend allows, and finds out whether a submission without an answer succeeded.
type submitter struct {
	jobs  *jobs
	queue *queue
	pace  pace
}

// edges are the dependencies of a batch.
func (s *submitter) edges(k *batch, list []*providers.Job) arrays.Edges {
	e := arrays.Depend(list, k.Indexes, k.elements(s.queue), s.jobs.ahead)
	if p := s.jobs.before(k); p != nil {
		e.Also(scheduler.Dependency{Kind: scheduler.AfterAny, ID: p.id})
	}
	return e
}

// submit submits a batch's script. Where the scheduler refuses it for a limit on
// submitted jobs, most is how many of its jobs it would take.
func (s *submitter) submit(ctx context.Context, k *batch, text string, held bool, rate int) (most int, err error) {
	script := filepath.Join(string(k.dir), "script.sh")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return 0, fmt.Errorf("write script: %w", err)
	}
	if k.wide {
		if err := k.dir.Note("wide", "each waits for all, until it is told its own"); err != nil {
			return 0, err
		}
	}
	if held {
		if err := k.hold(untilAllIsIn); err != nil {
			return 0, err
		}
	}
	if err := s.pace.wait(ctx, rate); err != nil {
		return 0, err
	}
	k.tried = time.Now()
	if err := errors.Join(k.dir.Note("failed", ""), k.dir.Note("tried", k.tried.Format(time.RFC3339Nano))); err != nil {
		return 0, fmt.Errorf("note the submission: %w", err)
	}
	id, unclear, err := s.queue.Submit(ctx, script, held)
	s.queue.changed()
	switch {
	case err == nil:
		return 0, s.identify(k, id)
	case unclear:
		return 0, errors.Join(err, k.dir.Note("failed", time.Now().Format(time.RFC3339Nano)))
	}
	k.tried = time.Time{}
	if noteErr := k.dir.Note("tried", ""); noteErr != nil {
		return 0, errors.Join(err, noteErr)
	}
	return s.lessThan(ctx, k, script, err), err
}

// identify records the id that the scheduler gave a batch.
func (s *submitter) identify(k *batch, id string) error {
	k.id = id
	if err := k.dir.Note("id", id); err != nil {
		return fmt.Errorf("note the id of %s: %w", k.Name, err)
	}
	return nil
}

// resolve finds out whether a submission without an answer succeeded. A batch that
// the scheduler does not have waits on the spool again, and the next pass submits
// it. It is not reported as absent: the engine would submit its jobs again, under
// other tokens.
func (s *submitter) resolve(ctx context.Context, k *batch) (offer.Presence, error) {
	failed, _ := time.Parse(time.RFC3339Nano, k.dir.Noted("failed"))
	id, where, err := s.queue.Search(ctx, scheduler.Submission{Name: k.Name, Script: string(k.dir) + "/script.sh", Tried: k.tried, Failed: failed})
	switch {
	case err != nil:
		return offer.Unknown, err
	case where == offer.Found:
		return where, s.identify(k, id)
	case where == offer.Absent:
		k.tried = time.Time{}
		if err := errors.Join(k.dir.Note("tried", ""), k.dir.Note("failed", "")); err != nil {
			return where, fmt.Errorf("note that %s was not submitted: %w", k.Name, err)
		}
	}
	return where, nil
}

// lessThan is how many jobs of a refused batch the scheduler would take, 0 = none,
// or it refused for another reason than a limit.
func (s *submitter) lessThan(ctx context.Context, k *batch, script string, refusal error) int {
	var pe *providers.Error
	if !errors.As(refusal, &pe) || pe.Class != providers.Quota {
		return 0
	}
	return s.fitting(ctx, k, script)
}

// fitting asks the scheduler how many jobs of a batch it would take: its limit may
// be unknown, or shared with other users.
func (s *submitter) fitting(ctx context.Context, k *batch, script string) int {
	takes := func(n int) bool {
		return s.queue.Takes(ctx, script, k.Indexes[:n])
	}
	if !k.Array || len(k.Indexes) < 2 || !takes(1) {
		return 0
	}
	low, high := 1, len(k.Indexes) // low is taken, high is not
	for high-low > 1 {
		if mid := (low + high) / 2; takes(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
