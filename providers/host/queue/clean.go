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

// clean forgets ended and acknowledged jobs, counting all of the place's own as acknowledged,
// and returns the removed paths. With no event left for anybody, the queue ends when the last
// client disconnects, and its spool goes with it. While a job of any campaign runs or waits
// here, clean touches nothing.
func (an *requests) clean(ctx context.Context, p machine.Tenant) ([]string, error) {
	type answer struct {
		removed []string
		err     error
	}
	a, err := ask(ctx, an.core, func() (a answer) {
		if busy := an.unfinished(); len(busy) > 0 {
			a.err = &providers.Error{Class: providers.Conflict, Summary: fmt.Sprintf("Jobs of yours run or wait on %s", an.host),
				Detail: strings.Join(busy, "; "), Hint: "let them end, or cancel them; nothing was removed"}
			return a
		}
		if p.Lineage != "" {
			an.events.acknowledge(an.at(p), an.seq)
		}
		if len(an.tombstones) > 0 {
			clear(an.tombstones)
			a.removed = append(a.removed, an.spool+"/log: records of ended jobs")
		}
		an.compaction.folded = 0
		if an.leaves = len(an.jobs) == 0; an.leaves {
			a.removed = []string{an.spool}
		}
		return a
	})
	if err = cmp.Or(a.err, err); err != nil {
		return nil, err
	}
	os.Truncate(an.spool+"/queue.err", 0)
	signs := filepath.Join(p.Workdir, providers.CampaignsDir)
	if sign := filepath.Join(signs, p.Lineage+".json"); p.Lineage != "" && os.Remove(sign) == nil {
		a.removed = append(a.removed, sign)
		_ = os.Remove(signs) // unless something else is in it
		providers.RemoveEmpty(filepath.Dir(signs))
	}
	return a.removed, nil
}

// unfinished says for each campaign how many of its jobs have not ended.
func (an *requests) unfinished() (out []string) {
	n := map[string]int{}
	for _, j := range an.jobs {
		if !j.over() || an.live[j] {
			n[cmp.Or(j.place.Campaign, j.place.Lineage)]++
		}
	}
	for campaign, jobs := range n {
		out = append(out, fmt.Sprintf("campaign %q: %d", campaign, jobs))
	}
	slices.Sort(out)
	return out
}
