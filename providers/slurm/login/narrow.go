package login

import (
	"context"
	"errors"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// narrow gives each element its own dependency, where an array's cannot say
// it; until then all wait for all. It may be done again: who was to do it may
// have been killed, or not have been heard.
func (c *campaign) narrow(ctx context.Context, k *batch) error {
	if !k.wide || k.id == "" {
		return nil
	}
	by := map[string][]*job{}
	var order []string
	for _, i := range k.Indexes {
		j := k.jobs[i]
		if j == nil || j.ended || j.last.Status == offer.Running {
			continue
		}
		terms, ready := c.dependency(j)
		if !ready {
			return nil // another that it comes after has no id yet
		}
		if len(by[terms]) == 0 {
			order = append(order, terms)
		}
		by[terms] = append(by[terms], j)
	}
	for _, terms := range order {
		for _, id := range cancelIDs(by[terms]) {
			err := c.cluster.Scontrol(ctx, "update", "JobId="+id, "Dependency="+terms)
			if err != nil && !cluster.Gone(err) && !cluster.Unchangeable(err) {
				return err // it was not heard
			}
		}
	}
	k.wide = false
	return errors.Join(k.dir.Note("narrowed", "each was told its own"), k.dir.Note("wide", ""))
}
