package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/offsite"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// How copies of checkpoints are made where the job's checkpoint block has copy_to.
const (
	offsiteEvery = time.Minute     // between two copies, where the job states no interval
	offsiteLook  = 2 * time.Second // between two looks at the checkpoint
	offsiteLast  = 5 * time.Minute // for a copy after the job has ended
	offsiteRetry = 10 * time.Minute
	// After so many intervals in which every copy found that the checkpoint had changed, the job says so.
	offsiteMissed = 3
)

// A copier copies the checkpoints of one launch away from this machine.
type copier struct {
	spec    *providers.Job
	lineage string
	vars    map[string]string // of the job, its secrets among them, which are gone when it has ended
}

func newCopier(spec *providers.Job, lineage, secrets string) (copier, error) {
	vars, err := wrapper.ReadExports(secrets)
	c := copier{spec, lineage, map[string]string{}}
	for _, v := range append(append([]providers.EnvVar(nil), spec.Env...), vars...) {
		c.vars[v.Name] = v.Value
	}
	return c, err
}

// open opens the place of a job's copies.
func (c copier) open(ctx context.Context) (offsite.Folder, error) {
	t, err := offer.ParseCopyTo(c.spec.Checkpoint.CopyTo)
	if err != nil {
		return nil, err
	}
	return offsite.Open(ctx, t, attempt.OffsiteFolder(c.lineage, c.spec), func(name string) string { return c.vars[name] })
}

// out makes one copy.
func (c copier) out(ctx context.Context) error {
	p, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	return attempt.CopyOut(ctx, p, c.spec)
}

// in brings the newest copy back, or has no launch resume from any.
func (c copier) in(s *start) error {
	p, err := c.open(s.ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if s.ground.Fresh() {
		return attempt.Outdate(s.ctx, p)
	}
	return attempt.CopyIn(s.ctx, p, s.spec, s.shape, s.attempt)
}

// copyIn brings the newest copy of a job's checkpoint here before a launch. Where the copies
// cannot be read the launch fails: it would begin from the start, and could save nothing.
func (st *starts) copyIn(s *start) error {
	if s.spec.Checkpoint.CopyTo == "" {
		return nil
	}
	c, err := newCopier(s.spec, s.job.place.Lineage, s.secrets)
	if err == nil {
		err = c.in(s)
	}
	if err != nil {
		return fmt.Errorf("the copies of its checkpoint at %s cannot be read: %w", s.spec.Checkpoint.CopyTo, err)
	}
	return nil
}

// copyOut copies the checkpoints of a running job to where its copy_to says, until the job has
// ended, and once more then. A copy that fails is tried again, and the job's reason says so.
func (as *attempts) copyOut(j *job) {
	if j.spec.Checkpoint.CopyTo == "" {
		return
	}
	if j.uncopy != nil {
		j.uncopy()
	}
	ctx, stop := context.WithCancel(context.Background())
	j.uncopy = stop
	spec, restart := j.spec, j.Restart
	lineage, secrets := j.place.Lineage, as.starts.secretsOf(j)
	tell := func(why string) {
		as.post(ctx, func() {
			if j.Restart == restart && as.live[j] && j.uncopied != why {
				j.uncopied = why
				obs := as.observe(j)
				j.Obs = &obs
				as.step(j, true)
			}
		})
	}
	go func() {
		c, err := newCopier(&spec, lineage, secrets)
		if err != nil {
			tell(fmt.Sprintf("its checkpoints are not copied to %s: %v", spec.Checkpoint.CopyTo, err))
			return
		}
		c.follow(ctx, tell)
	}()
}

// follow copies until the context ends.
func (c copier) follow(ctx context.Context, tell func(why string)) {
	every := c.spec.Checkpoint.Interval
	if every <= 0 {
		every = offsiteEvery
	}
	tick := time.NewTicker(offsiteLook)
	defer tick.Stop()
	var copied, seen int64
	last, next := time.Now(), time.Time{}
	failed := 0
	for {
		select {
		case <-ctx.Done():
			if attempt.CheckpointMark(c.spec) != copied {
				final, stop := context.WithTimeout(context.WithoutCancel(ctx), offsiteLast)
				_ = c.out(final) // nobody waits for it
				stop()
			}
			return
		case now := <-tick.C:
			mark := attempt.CheckpointMark(c.spec)
			written := mark == seen || now.Sub(last) >= every // one that changes all the time is copied, too
			if seen = mark; mark <= 1 || mark == copied || !written || now.Before(next) {
				continue
			}
			err := c.out(ctx)
			switch {
			case ctx.Err() != nil:
				continue
			case errors.Is(err, attempt.ErrChanged) && now.Sub(last) < offsiteMissed*every: // the next look tries again
				continue
			case err != nil:
				failed++
				next = now.Add(min(offsiteEvery<<min(failed-1, 6), offsiteRetry))
				tell(fmt.Sprintf("its checkpoint is not copied to %s yet: %v", c.spec.Checkpoint.CopyTo, err))
				continue
			}
			copied, failed, last, next = mark, 0, now, now.Add(every/2)
			tell("")
		}
	}
}
