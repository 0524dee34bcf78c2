package login

import (
	"slices"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// A controller that is killed forgets what it took in since it last saved its
// state, and what accounting has of that may be nothing. A job that was lost so
// before it claimed its token has run nothing: it waits on the spool again, and
// the next hand-over submits it, under its token. Should the controller come to
// know of it again, one of the two gets the claim.

// mayReturnToSpool reports whether a job that is lost was never begun, and has
// not been lost too often: it counts each time.
func (c *campaign) mayReturnToSpool(j *job) bool {
	return !c.claimed(j) && !exists(c.path("cancels", j.token)) && c.mayRelaunch(j)
}

// lostBefore reports whether something that a job comes after is submitted again,
// or among those that will be: nobody has dropped it for a failure.
func (c *campaign) lostBefore(j *job, lost []*job) bool {
	return slices.ContainsFunc(j.after, func(t string) bool {
		p := c.jobs[c.heir(t)]
		return p != nil && !p.ended && (p.batch.id == "" || slices.Contains(lost, p))
	})
}

// returnToSpool takes jobs back from the batches that Slurm has lost. What comes
// after them is pointed at their new ids where it is still there.
func (c *campaign) returnToSpool(lost []*job) (list []offer.Observation, err error) {
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range lost {
		if by[j.batch] == nil {
			order = append(order, j.batch)
		}
		by[j.batch] = append(by[j.batch], j.index)
	}
	for _, k := range order {
		slices.Sort(by[k])
		part, err := c.split(k, by[k])
		if err != nil {
			return list, err
		}
		for _, i := range part.Indexes {
			j := part.jobs[i]
			c.back(j)
			c.unpointed[j.token] = true
			o := j.last
			o.Status, o.Handle, o.Expected = offer.Queued, "", time.Time{}
			o.Reason = "Slurm has lost it before it began; it is submitted again"
			list = append(list, o)
		}
	}
	return list, nil
}

// forgotten reports whether a row is of a second launch of what had begun, under
// the same id and number: a controller that was killed had forgotten the first.
// The second was refused its claim; what the first came to it writes down itself.
func (c *campaign) forgotten(j *job, r *cluster.AccountRow) bool {
	if r.Exit != node.ExitRefused || cluster.StateWord(r.State) != "FAILED" {
		return false
	}
	b := c.lastBegin(j)
	if b.ID != j.elementID() {
		return false
	}
	_, err := node.Spool(c.spool).ReadEnd(j.token, b.Restart)
	return err != nil
}

// mayGoOn reports whether the start that holds the claim may have time left, of
// what it was given.
func (c *campaign) mayGoOn(j *job) bool {
	b := c.lastBegin(j)
	spec, err := j.batch.dir.Job(j.index)
	if err != nil {
		return true
	}
	w := node.Spool(c.spool).Shape(spec, b.Restart).Walltime
	return w <= 0 || time.Since(b.At) < w+lostAfter
}

// lastBegin is what the latest start of a job wrote down of itself.
func (c *campaign) lastBegin(j *job) node.Begin {
	for n := j.last.Attempt - j.base; n >= 0; n-- {
		if b, err := node.Spool(c.spool).ReadBegin(j.token, n); err == nil {
			return b
		}
	}
	return node.Begin{}
}
