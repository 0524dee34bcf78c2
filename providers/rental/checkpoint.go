package rental

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// leastInterval is how often checkpoints are copied at most, and at least where a job states
// no interval: the work lost with a machine is younger.
const leastInterval = time.Minute

// A saved checkpoint is the one of a job that is here.
type saved struct {
	mark string // of the file that was copied
	at   time.Time
}

// save copies the checkpoints of running jobs that are due, except those that the machine copies
// elsewhere. One that changes while it
// is copied is left for the next time: the copy here is always a whole one.
func (x *box) save(ctx context.Context) {
	x.mu.Lock()
	var due []*job
	for _, j := range x.jobs.on(x.token) {
		every := max(j.Spec.Checkpoint.Interval, x.listening())
		if j.Spec.Checkpoint.Interval == 0 {
			every = leastInterval
		}
		if j.Handed && j.Spec.Checkpoint.Path != "" && j.Spec.Checkpoint.CopyTo == "" && j.Seen.Status == offer.Running && x.now().Sub(x.saved[j.Spec.Token].at) >= every {
			due = append(due, j)
		}
	}
	x.mu.Unlock()
	for _, j := range due {
		x.saveNow(ctx, j)
	}
}

// saveNow copies the checkpoint of a job, if it changed. One that is not there yet, or
// cannot be copied, is tried again.
func (x *box) saveNow(ctx context.Context, j *job) {
	x.saving.Lock()
	defer x.saving.Unlock()
	x.mu.Lock()
	old := x.saved[j.Spec.Token].mark
	x.mu.Unlock()
	mark, err := x.saveOne(ctx, j, old)
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.saved[j.Spec.Token] = saved{mark: mark, at: x.now()}
}

func (x *box) saveOne(ctx context.Context, j *job, old string) (string, error) {
	path := x.depot.there(j.Spec.Checkpoint.Path)
	before, err := x.host.List(ctx, x.Name, []string{path})
	if err != nil {
		return "", err
	}
	mark := fmt.Sprint(before)
	switch {
	case len(before) == 0:
		return "", fmt.Errorf("checkpoint %s is not there", path)
	case mark == old:
		return old, nil
	}
	fresh := slices.DeleteFunc(slices.Clone(before), x.depot.keeps)
	for _, f := range fresh {
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
	for _, f := range fresh {
		if err := x.place(f); err != nil {
			return "", err
		}
	}
	for _, f := range before {
		if err := x.owns(f); err != nil {
			return "", err
		}
	}
	return mark, nil
}

// owns records that the machine has this file already, so that muster does not push an older
// copy over the machine's newer checkpoint.
func (x *box) owns(f providers.FileInfo) error {
	fi, err := os.Stat(x.depot.here(f.Path))
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	mark := hasMark(f.Path, fi, "")
	if x.has[mark] {
		return nil
	}
	x.has[mark] = true
	return writeJSON(x.hasFile(), x.has)
}

// keeps reports whether a file of a machine is here as it is there.
func (d depot) keeps(f providers.FileInfo) bool {
	fi, err := os.Stat(d.here(f.Path))
	return err == nil && fi.Size() == f.Size && fi.ModTime().UnixNano() == f.MTime
}

// lostWork describes the work lost with the machine of a job; nil is an unknown machine.
func (d depot) lostWork(j *job, r *Rental) string {
	if j.Spec.Checkpoint.Path == "" {
		return "it has no checkpoint, and begins again"
	}
	if to := j.Spec.Checkpoint.CopyTo; to != "" {
		return "it goes on from the last whole checkpoint that its machine copied to " + to
	}
	found, err := d.list([]string{j.Spec.Checkpoint.Path})
	if err != nil || len(found) == 0 {
		return "no checkpoint of it was copied here, and it begins again"
	}
	newest := slices.MaxFunc(found, func(a, b providers.FileInfo) int { return cmp.Compare(a.MTime, b.MTime) })
	last := time.Unix(0, newest.MTime)
	text := "it goes on from its checkpoint of " + units.FormatTime(last.UTC())
	if r == nil {
		return text
	}
	end := r.Lost
	if end.IsZero() { // nothing took it away: it was seen gone
		end = r.Ended
	}
	if end.After(last) {
		text += ", and up to " + units.FormatDuration(end.Sub(last)) + " of work are lost"
	}
	return text
}
