package login

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
)

// strangers warns of jobs in the user's queue that are of a campaign of this name
// and that this state does not know, as those of another clone of it: both would
// write the same files. It goes by the queue as it was seen; only a state that has
// handed over nothing yet asks for it, once.
func (b *backend) strangers(ctx context.Context) []providers.Finding {
	c := b.campaign
	if !c.mu.TryLock() {
		return nil // a watch of its own is on
	}
	defer c.mu.Unlock()
	if c.load() != nil || len(c.batches) > 0 && c.rowsAt.IsZero() {
		return nil
	}
	rows, err := c.rows, error(nil)
	if c.rowsAt.IsZero() {
		if rows, err = c.queued(ctx); err != nil {
			return nil // who cannot be asked is told of by others
		}
	}
	ours := map[string]bool{}
	for _, k := range c.batches {
		ours[k.Name] = true
	}
	n := 0
	for _, r := range rows {
		if !ours[r.Name] && !cluster.Ended(r.State) && strings.HasPrefix(r.Comment, script.Comment(b.Campaign, "")) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []providers.Finding{{Check: -1, Warning: true, Summary: "Another state runs this campaign",
		Detail: fmt.Sprintf("%s of a campaign %q that this state does not know are in the queue: what would start here may write the same files a second time. Name one state in both clones (the state block), wait until they are over, or give one of them another name or workdir", units.Count(n, "job"), b.Campaign)}}
}
