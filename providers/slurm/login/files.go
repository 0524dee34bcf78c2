package login

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/slurm/programs"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// followPause is how often a log that is followed is looked at.
const followPause = 200 * time.Millisecond

// Logs writes the log of an attempt, by default the last one, and follows it
// until the attempt has ended if asked.
func (s *Slurm) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	number, running, err := s.logOf(b, r)
	if err != nil {
		return err
	}
	path := attempt.LogPath(b.Workdir, r.Token, number, r.Stderr)
	return attempt.WriteLog(ctx, path, r, w, s.maskOf(b, r.Token), followPause, running, func() (bool, error) {
		_, running, err := s.logOf(b, r)
		return running, err
	})
}

// maskOf hides the secrets of a job, for as long as they are kept.
func (s *Slurm) maskOf(b *backend, token string) wrapper.Mask {
	c := b.campaign
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs[token]; j != nil && j.batch != nil {
		return j.batch.dir.Mask(token)
	}
	return wrapper.Mask{}
}

// logOf finds which attempt is meant and whether it still runs.
func (s *Slurm) logOf(b *backend, r providers.LogRequest) (number int, running bool, err error) {
	if len(r.Token) < 2 {
		return 0, false, providers.Errorf(providers.Invalid, "A log is found by its job's token")
	}
	c := b.campaign
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		return 0, false, err
	}
	j := c.jobs[r.Token]
	if j == nil {
		return 0, false, providers.Errorf(providers.NotFound, "There is no log of %s", r.Token)
	}
	if !j.ended {
		if err := c.scan(); err != nil {
			return 0, false, err
		}
	}
	if r.Attempt == 0 || r.Attempt == j.last.Attempt {
		return j.last.Attempt, !j.ended, nil
	}
	return r.Attempt, false, nil
}

// Remove moves files aside or deletes them, under a fence.
func (s *Slurm) Remove(_ context.Context, r providers.RemoveRequest) error {
	b, unlock, err := s.ruled(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return err
	}
	defer unlock()
	for _, p := range r.Paths {
		path, err := s.Path(r.Backend, p)
		if err != nil {
			return err
		}
		if r.To == "" {
			err = os.RemoveAll(path)
		} else {
			err = guard.Move(b.Workdir, attempt.InWorkdir(b.Workdir, r.To), path)
		}
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	for _, n := range r.Renames {
		from, err := s.Path(r.Backend, n.From)
		if err != nil {
			return err
		}
		to, err := s.Path(r.Backend, n.To)
		if err != nil {
			return err
		}
		if err := guard.Rename(from, to); err != nil {
			return fmt.Errorf("rename: %w", err)
		}
	}
	return nil
}

// Clean removes what muster keeps on the cluster of a campaign none of whose
// jobs is left there.
func (s *Slurm) Clean(ctx context.Context, name string) (removed []string, err error) {
	b, unlock, err := s.opened(name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	for _, k := range c.batches {
		if !k.over() {
			return nil, providers.Errorf(providers.Conflict, "jobs of this campaign are still with Slurm: %s", k.Name)
		}
	}
	text, err := c.tidy(ctx, true)
	if err != nil {
		return nil, err // afterwards nobody would know its names
	}
	if text != "" {
		removed = append(removed, "from the queue: "+text)
	}
	signs := filepath.Join(b.Workdir, providers.CampaignsDir)
	for _, dir := range []string{c.spool, filepath.Join(b.Workdir, ".muster", "logs"), filepath.Join(signs, b.Lineage+".json"), s.options.Keep} {
		if dir == "" || !exists(dir) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return removed, fmt.Errorf("clean: %w", err)
		}
		removed = append(removed, dir)
	}
	_ = os.Remove(signs) // unless another campaign writes there
	c.log.Close()
	b.campaign = newCampaign(c.spool, c.cluster)
	more, err := programs.Remove(b.Workdir)
	return append(removed, more...), err
}
