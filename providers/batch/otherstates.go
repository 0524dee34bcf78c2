package batch

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// otherStates warns of jobs in the user's queue with this campaign's name that
// this state does not know, as those of another clone: both would write the same
// files. It reads the last listing of the queue; only a state that has submitted
// nothing asks for one.
func (b *backend) otherStates(ctx context.Context) []providers.Finding {
	c := b.campaign
	if !c.mu.TryLock() {
		return nil // a watch of its own is on
	}
	defer c.mu.Unlock()
	if c.locate(ctx) != nil || c.load() != nil || len(c.jobs.batches) > 0 && c.queue.rowsAt.IsZero() {
		return nil
	}
	rows, err := c.queue.rows, error(nil)
	if c.queue.rowsAt.IsZero() {
		if rows, err = c.queue.recent(ctx); err != nil {
			return nil // other code reports whoever cannot be asked
		}
	}
	ours := map[string]bool{}
	for _, k := range c.jobs.batches {
		ours[k.Name] = true
	}
	n := 0
	for _, r := range rows {
		if !ours[r.Name] && r.State != scheduler.Ended && strings.HasPrefix(string(r.Label), string(scheduler.LabelOf(b.Campaign, ""))) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []providers.Finding{{Check: -1, Warning: true, Summary: "Another state runs this campaign",
		Detail: fmt.Sprintf("%s of a campaign %q that this state does not know are in the queue: jobs started here may write the same files a second time. Name one state in both clones (the state block), wait until they are over, or give one of them another name or workdir", units.Count(n, "job"), b.Campaign)}}
}
