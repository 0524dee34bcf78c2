package host

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// followPause is the pause between two looks at a followed log.
const followPause = 100 * time.Millisecond

// Logs writes the log of an attempt, by default the last one, and follows it
// until the attempt has ended if asked. A job that said nothing has no log.
func (c *Client) Logs(ctx context.Context, p Tenant, r providers.LogRequest, w io.Writer) error {
	number, running, err := c.attempt(ctx, p, r)
	if err != nil {
		return err
	}
	path := attempt.LogPath(p.Workdir, r.Token, number, r.Stderr)
	return attempt.WriteLog(ctx, path, r, w, c.mask(r.Token), followPause, running, func() (bool, error) {
		_, running, err := c.attempt(ctx, p, providers.LogRequest{Token: r.Token, Attempt: number})
		return running, err
	})
}

// mask hides the secrets of a job, for as long as the queue keeps them.
func (c *Client) mask(token string) wrapper.Mask {
	dir, err := c.dir()
	if err != nil {
		return wrapper.Mask{}
	}
	return wrapper.ReadMask(filepath.Join(dir, "secrets", filepath.Base(token)))
}

// attempt finds which attempt is meant and whether it still runs.
func (c *Client) attempt(ctx context.Context, p Tenant, r providers.LogRequest) (int, bool, error) {
	if len(r.Token) < 2 {
		return 0, false, providers.Errorf(providers.Invalid, "A log is found by its job's token")
	}
	found, err := c.Find(ctx, p, []string{r.Token})
	if err != nil {
		return 0, false, err
	}
	o := found[0]
	if o.Presence != offer.Found {
		// The queue has forgotten the job, but its log may be there.
		for n := max(r.Attempt, 1); ; n++ {
			if _, err := os.Stat(attempt.LogPath(p.Workdir, r.Token, n, r.Stderr)); err != nil {
				if r.Attempt == 0 && n > 1 {
					return n - 1, false, nil
				}
				return 0, false, providers.Errorf(providers.NotFound, "There is no log of %s", r.Token)
			}
			if r.Attempt > 0 {
				return n, false, nil
			}
		}
	}
	ended := o.Status == offer.Completed || o.Status == offer.Failed || o.Status == offer.Cancelled
	if r.Attempt == 0 || r.Attempt == o.Attempt {
		return o.Attempt, !ended, nil
	}
	return r.Attempt, false, nil
}
