package rental

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// leastInterval is how often checkpoints are copied at most, and at least where a job
// states no interval: what is lost with a machine is younger.
const leastInterval = time.Minute

// A saved checkpoint is the one of a job that is here.
type saved struct {
	mark string // of the file that was copied
	at   time.Time
}

// save copies the checkpoints of running jobs that are due. One that changes while it
// is copied is left for the next time: the copy here is always a whole one.
func (x *box) save(ctx context.Context) {
	x.mu.Lock()
	var due []*job
	for _, j := range x.jobs.on(x.token) {
		every := max(j.Spec.Checkpoint.Interval, x.listening())
		if j.Spec.Checkpoint.Interval == 0 {
			every = leastInterval
		}
		if j.Handed && j.Spec.Checkpoint.Path != "" && j.Seen.Status == offer.Running && x.now().Sub(x.saved[j.Spec.Token].at) >= every {
			due = append(due, j)
		}
	}
	x.mu.Unlock()
	for _, j := range due {
		if mark, err := x.saveOne(ctx, j, x.saved[j.Spec.Token].mark); err == nil {
			x.mu.Lock()
			x.saved[j.Spec.Token] = saved{mark: mark, at: x.now()}
			x.mu.Unlock()
		}
	}
}

func (x *box) saveOne(ctx context.Context, j *job, old string) (string, error) {
	path := x.depot.there(j.Spec.Checkpoint.Path)
	before, err := x.host.List(ctx, x.Name, []string{path})
	if err != nil {
		return "", err
	}
	mark := fmt.Sprint(before)
	if mark == old || len(before) == 0 {
		return old, nil
	}
	for _, f := range before {
		if err := x.fetchPart(ctx, f); err != nil {
			return "", err
		}
	}
	after, err := x.host.List(ctx, x.Name, []string{path})
	if err != nil {
		return "", err
	}
	if fmt.Sprint(after) != mark {
		return "", fmt.Errorf("checkpoint %s changed while it was copied", path)
	}
	for _, f := range before {
		if err := x.place(f); err != nil {
			return "", err
		}
	}
	return mark, nil
}

// lostWork says what is lost with the machine of a job.
func (b *backend) lostWork(j *job) string {
	if j.Spec.Checkpoint.Path == "" {
		return "it has no checkpoint, and begins again"
	}
	found, err := b.depot.list([]string{j.Spec.Checkpoint.Path})
	if err != nil || len(found) == 0 {
		return "no checkpoint of it was copied here, and it begins again"
	}
	last := time.Unix(0, found[len(found)-1].MTime)
	text := "it goes on from its checkpoint of " + units.FormatTime(last.UTC())
	if r := b.rental(j.Box); r != nil && r.Lost.After(last) {
		text += ", and up to " + units.FormatDuration(r.Lost.Sub(last)) + " of work are lost"
	}
	return text
}
