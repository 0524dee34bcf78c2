package queue

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
)

// clean forgets what has ended and been acknowledged, as all of the place's
// own counts, and says what is removed. With nothing left that somebody has yet to hear, the queue ends
// when nobody is connected any more, and its spool goes with it. While a job
// of whatever campaign runs or waits here, nothing is touched.
func (q *queue) clean(ctx context.Context, p machine.Place) ([]string, error) {
	type answer struct {
		removed []string
		err     error
	}
	a, err := ask(ctx, q, func() (a answer) {
		if busy := q.unfinished(); len(busy) > 0 {
			a.err = &providers.Error{Class: providers.Conflict, Summary: fmt.Sprintf("Jobs of yours run or wait on %s", q.host),
				Detail: strings.Join(busy, "; "), Hint: "let them end, or cancel them; nothing was removed"}
			return a
		}
		if p.Lineage != "" {
			q.bury(q.at(p), q.seq)
		}
		if len(q.graves) > 0 {
			clear(q.graves)
			a.removed = append(a.removed, q.spool+"/log: records of ended jobs")
		}
		q.folded = 0
		if q.leaves = len(q.jobs) == 0; q.leaves {
			a.removed = []string{q.spool}
		}
		return a
	})
	if err = cmp.Or(a.err, err); err != nil {
		return nil, err
	}
	os.Truncate(q.spool+"/queue.err", 0)
	signs := filepath.Join(p.Workdir, providers.CampaignsDir)
	if sign := filepath.Join(signs, p.Lineage+".json"); p.Lineage != "" && os.Remove(sign) == nil {
		a.removed = append(a.removed, sign)
		_ = os.Remove(signs) // both, unless something else is in them
		_ = os.Remove(filepath.Dir(signs))
	}
	return a.removed, nil
}

// unfinished says for each campaign how many of its jobs have not ended.
func (q *queue) unfinished() (out []string) {
	n := map[string]int{}
	for _, j := range q.jobs {
		if !j.over() || q.live[j] {
			n[cmp.Or(j.place.Campaign, j.place.Lineage)]++
		}
	}
	for campaign, jobs := range n {
		out = append(out, fmt.Sprintf("campaign %q: %d", campaign, jobs))
	}
	slices.Sort(out)
	return out
}
