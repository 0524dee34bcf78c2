package login

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// What Slurm puts back by itself (preempted, its node gone, requeued by
// somebody) leaves no final word of its own: why it ended, and after how long,
// only accounting knows, a little later. What is seen of the job from then on is
// told after that end, so that each launch is told once, as what it was.

// settleMost is how long accounting may take to have the end of a launch that
// was put back; after it, what is not known is told as unknown.
const settleMost = time.Minute

// settleRest is the time between two questions of one watch.
const settleRest = 5 * time.Second

// A debt is the end of a launch that is yet to be told.
type debt struct {
	restart int
	since   time.Time // the launch was over by then
	asked   bool      // accounting answered, or could not, since then
}

// owe notes the ends of all launches before a restart of which nothing was told.
func (c *campaign) owe(j *job, restart int, since time.Time) {
	first := j.last.Attempt - j.base
	if j.last.Status == offer.Waiting {
		first++
	}
	for n := max(first, 0); n < restart; n++ {
		if j.owes(n) || c.records.Read("ends", node.RecordName(j.token, n)) && c.hasOwnWord(j, n) {
			continue // what it wrote itself is told as it is read
		}
		j.owed = append(j.owed, debt{restart: n, since: since})
		c.owing[j.token] = j
	}
}

// owes reports whether the end of a launch is yet to be told.
func (j *job) owes(restart int) bool {
	return slices.ContainsFunc(j.owed, func(d debt) bool { return d.restart == restart })
}

// hasOwnWord reports whether a launch's wrapper wrote down why it ended.
func (c *campaign) hasOwnWord(j *job, restart int) bool {
	e, err := node.Spool(c.spool).ReadEnd(j.token, restart)
	return err == nil && !e.Outside
}

// settle tells the ends that are owed, as far as they are known by now, and what
// was held back behind them.
func (c *campaign) settle(ctx context.Context) error {
	if len(c.owing) == 0 || c.watched && time.Since(c.settled) < settleRest {
		return nil
	}
	c.settled = time.Now()
	var ids []string
	for _, j := range c.owing {
		if id := j.place().Array; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var acct map[cluster.Place]*cluster.History
	asked := c.mayAccount()
	if asked {
		if rows, err := c.cluster.Account(ctx, ids); err == nil {
			acct = cluster.Histories(rows)
		} // else it is unknown, after a while
	}
	for token, j := range c.owing {
		var list []offer.Observation
		for len(j.owed) > 0 {
			d := &j.owed[0]
			d.asked = d.asked || asked
			o, sure := c.putBack(j, d.restart, acct[j.place()])
			if !sure && (!d.asked || time.Since(d.since) < settleMost) {
				break
			}
			list = append(list, o)
			j.owed = j.owed[1:]
		}
		if len(j.owed) == 0 {
			delete(c.owing, token)
			list, j.later = append(list, j.later...), nil
		}
		if err := c.tellNow(list...); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps an observation back until the ends before it are told.
func (j *job) hold(o offer.Observation) {
	if n := len(j.later); n > 0 && j.later[n-1].Attempt == o.Attempt && j.later[n-1].Status == o.Status {
		j.later[n-1] = o
		return
	}
	j.later = append(j.later, o)
}

// putBack is the end of a launch that another one follows, and whether all of it
// is known that ever will be.
func (c *campaign) putBack(j *job, restart int, h *cluster.History) (o offer.Observation, sure bool) {
	spool := node.Spool(c.spool)
	b, notBegun := spool.ReadBegin(j.token, restart)
	e, noEnd := spool.ReadEnd(j.token, restart)
	if noEnd == nil && !e.Outside {
		return endOf(e), true // in its own words
	}
	o = offer.Observation{Token: j.token, Handle: j.elementID(), Status: offer.Waiting, Attempt: j.base + restart, Pool: j.last.Pool,
		Class: failure.Preempted, Reason: "Slurm requeued it"}
	if notBegun == nil {
		o.Started, o.Node, o.GPUs, o.Pool, o.Handle = b.At, b.Node, b.GPUs, cmp.Or(b.Pool, o.Pool), b.ID
	}
	r := h.Launch(j.batch.Name, j.batch.tried, restart, b.At)
	if r != nil {
		o.Usage, o.Ended, o.Node = h.Usage(r), r.End, cmp.Or(o.Node, r.Nodes)
		if o.Started.IsZero() {
			o.Started = r.Start
		}
		o.Class, o.Reason = cluster.WhyPutBack(r.State, notBegun == nil)
	}
	if noEnd == nil { // the wrapper lived to measure it
		o.Ended, o.Exit, o.Signal, o.Usage, o.Tail = e.Seen.Ended, e.Seen.Exit, e.Seen.Signal, e.Seen.Usage, e.Seen.Tail
	} else if spec, err := j.batch.dir.Job(j.index); err == nil && notBegun == nil {
		_, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
	}
	return o, r != nil
}
