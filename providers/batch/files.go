package batch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// followPause is the time between two looks at a log that is followed.
const followPause = 200 * time.Millisecond

// Logs writes the log of an attempt, by default the last one, and on request
// follows it until the attempt ends.
func (s *Provider) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	number, running, err := s.logOf(ctx, b, r)
	if err != nil {
		return err
	}
	path := attempt.LogPath(b.Workdir, r.Token, number, r.Stderr)
	return attempt.WriteLog(ctx, path, r, w, s.maskOf(b, r.Token), followPause, running, func() (bool, error) {
		_, running, err := s.logOf(ctx, b, r)
		return running, err
	})
}

// maskOf hides the secrets of a job, while they are kept.
func (s *Provider) maskOf(b *backend, token string) wrapper.Mask {
	c := b.campaign
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.jobs.byToken[token]; j != nil && j.batch != nil {
		return j.batch.dir.Mask(token)
	}
	return wrapper.Mask{}
}

// logOf is the number of the requested attempt, and whether it runs.
func (s *Provider) logOf(ctx context.Context, b *backend, r providers.LogRequest) (number int, running bool, err error) {
	if len(r.Token) < 2 {
		return 0, false, providers.Errorf(providers.Invalid, "A log is found by its job's token")
	}
	c := b.campaign
	c.mu.Lock()
	defer c.mu.Unlock()
	// A log can be read while the scheduler does not answer.
	asked, stop := context.WithTimeout(ctx, hangs)
	_ = c.locate(asked)
	stop()
	if err := c.load(); err != nil {
		return 0, false, err
	}
	j := c.jobs.byToken[r.Token]
	if j == nil {
		elsewhere, err := c.spools.elsewhere()
		if at, ok := elsewhere[r.Token]; ok || err != nil {
			return 0, false, cmp.Or(err, error(providers.Errorf(providers.NotFound, "There is no log of %s here: %s", r.Token, c.spools.another(at))))
		}
		return 0, false, providers.Errorf(providers.NotFound, "There is no log of %s", r.Token)
	}
	if !j.ended {
		if err := c.launches.scan(); err != nil {
			return 0, false, err
		}
	}
	if r.Attempt == 0 || r.Attempt == j.last.Attempt {
		return j.last.Attempt, !j.ended, nil
	}
	return r.Attempt, false, nil
}

// Remove moves files aside or deletes them, under a fence.
func (s *Provider) Remove(ctx context.Context, r providers.RemoveRequest) error {
	b, unlock, err := s.ruled(ctx, r.Backend, r.Fence, r.Holder)
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

// Clean removes muster's files of a campaign from the cluster, once none of its
// jobs is left there.
func (s *Provider) Clean(ctx context.Context, name string) (removed []string, err error) {
	b, unlock, err := s.opened(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	c := b.campaign
	for _, k := range c.jobs.batches {
		if !k.over() {
			return nil, providers.Errorf(providers.Conflict, "jobs of this campaign are still with %s: %s", c.queue.Words().Name, k.Name)
		}
	}
	elsewhere, err := c.spools.elsewhere()
	if err != nil {
		return nil, err
	}
	for token, at := range elsewhere {
		if e, ended := at.LastEnd(token); !ended || !e.Final {
			return nil, providers.Errorf(providers.Conflict, "jobs of this campaign are still with the cluster %s", clusterOf(string(at)))
		}
	}
	text, err := c.leftovers.tidy(ctx, true)
	if err != nil {
		return nil, err // afterwards nobody would know its names
	}
	if text != "" {
		removed = append(removed, "from the queue: "+text)
	}
	signs := filepath.Join(b.Workdir, providers.CampaignsDir)
	for _, dir := range []string{c.spools.dir, filepath.Join(b.Workdir, ".muster", "logs"), filepath.Join(signs, b.Lineage+".json"), b.site.Settings().Keep} {
		if dir == "" || !exists(dir) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return removed, fmt.Errorf("clean: %w", err)
		}
		removed = append(removed, dir)
	}
	_ = os.Remove(signs) // unless another campaign writes there
	c.reports.log.Close()
	b.campaign = newCampaign(c.name, c.spools.first, c.scheduler)
	more, err := programs.Remove(b.Workdir, s.options.Type.Name())
	return append(removed, more...), err
}
