package login

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// A job that needs another partition, or more of something than Slurm can
// change on a job that waits, comes back under a new token and a new id. What
// came after it waits for an id that will never succeed. It is pointed at the
// new one before that is released, so that it keeps its place in the queue.

// succeed notes, before it is submitted, that a new job stands for those of
// the same address that ended without success and that others come after.
func (c *campaign) succeed(fresh []*providers.Job) error {
	waited := c.waitedFor()
	if len(waited) == 0 {
		return nil
	}
	by := map[string][]string{} // address: tokens that are waited for
	for t := range waited {
		if p := c.jobs[t]; p != nil && p.ended && p.last.Status != offer.Completed {
			if now := c.jobs[c.heir(t)]; now == nil || now.ended && now.last.Status != offer.Completed {
				by[p.address] = append(by[p.address], t)
			}
		}
	}
	for _, j := range fresh {
		for _, t := range by[j.Address] {
			old := c.heir(t)
			if err := os.WriteFile(c.path("heirs", old), []byte(j.Token+"\n"), 0o600); err != nil {
				return fmt.Errorf("note what stands for %s: %w", j.Address, err)
			}
			c.heirs[old], c.unpointed[t] = j.Token, true
		}
	}
	return nil
}

// waitedFor are the tokens that jobs with Slurm, or on the way there, come after.
func (c *campaign) waitedFor() map[string]bool {
	out := map[string]bool{}
	for _, j := range c.jobs {
		if j.ended {
			continue
		}
		for _, t := range j.after {
			out[t] = true
		}
	}
	return out
}

// loadHeirs reads which tokens stand for which. All are pointed at again by a
// new muster: it costs nothing where it was done.
func (c *campaign) loadHeirs() {
	files, _ := filepath.Glob(c.path("heirs", "*"))
	for _, f := range files {
		token := filepath.Base(f)
		if heir := node.Spool(c.spool).Heir(token); heir != token {
			c.heirs[token], c.unpointed[token] = heir, true
		}
	}
}

// heir is the token that stands for another by now; most stand for themselves.
func (c *campaign) heir(token string) string {
	for range len(c.heirs) {
		next := c.heirs[token]
		if next == "" {
			break
		}
		token = next
	}
	return token
}

// heirsIn reports whether a job of a batch stands for one that jobs with Slurm
// still wait for: they are pointed at it before it starts.
func (c *campaign) heirsIn(k *batch) bool {
	for t := range c.unpointed {
		if j := c.jobs[c.heir(t)]; j != nil && j.batch == k {
			return true
		}
	}
	return false
}

// repoint tells Slurm of the ids that its jobs come after now. A job that
// cannot be changed ends as blocked, and is submitted anew when its time has
// come; its start looks again at what it comes after, in any case.
func (c *campaign) repoint(ctx context.Context) error {
	due := map[string]bool{}
	for t := range c.unpointed {
		if j := c.jobs[c.heir(t)]; j == nil || j.ended || j.batch.id != "" {
			due[t] = true
		}
	}
	if len(due) == 0 {
		return nil
	}
	by := map[*batch]map[string][]*job{}
	for _, d := range c.unfinished() {
		if d.last.Status != offer.Queued || !slices.ContainsFunc(d.after, func(t string) bool { return due[t] }) {
			continue
		}
		terms, ready := c.dependency(d)
		if !ready {
			continue // another that it comes after has no id yet
		}
		if by[d.batch] == nil {
			by[d.batch] = map[string][]*job{}
		}
		by[d.batch][terms] = append(by[d.batch][terms], d)
	}
	for _, k := range c.batches {
		for terms, jobs := range by[k] {
			if err := c.point(ctx, k, terms, jobs); err != nil {
				return err
			}
		}
	}
	for t := range due {
		delete(c.unpointed, t)
	}
	return nil
}

func (c *campaign) point(ctx context.Context, k *batch, terms string, jobs []*job) error {
	slices.SortFunc(jobs, func(a, b *job) int { return cmp.Compare(a.index, b.index) })
	var blocked []offer.Observation
	for _, id := range cancelIDs(jobs) {
		err := c.cluster.Scontrol(ctx, "update", "JobId="+id, "Dependency="+terms)
		switch {
		case err == nil, cluster.Gone(err):
			continue
		case !cluster.Unchangeable(err):
			return err // it was not heard
		}
		if err := c.cluster.Cancel(ctx, []string{id}); err != nil && !cluster.Gone(err) {
			return err
		}
		for _, j := range jobs {
			blocked = append(blocked, j.cancelled(offer.Blocked))
		}
	}
	return c.tell(blocked...)
}

// dependency is what one job comes after by now, in Slurm's terms: those that
// have completed are not named, as Slurm may have forgotten them. It is not
// ready while one of them is not with Slurm. It comes after its lane, too.
func (c *campaign) dependency(j *job) (terms string, ready bool) {
	all := map[*batch][]int{}
	for _, t := range j.after {
		if p := c.open(t); p != nil {
			if p.batch.id == "" {
				return "", false
			}
			if !slices.Contains(all[p.batch], p.index) {
				all[p.batch] = append(all[p.batch], p.index)
			}
		}
	}
	var out []string
	for _, k := range c.batches {
		if list := all[k]; len(list) > 0 {
			slices.Sort(list)
			out = append(out, arrays.Afterok(k.ahead(), list))
		}
	}
	if p := c.before(j.batch); p != nil && p.id != "" {
		out = append(out, "afterany:"+p.id)
	}
	return strings.Join(out, ","), true
}
