package login

import (
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/node"
)

// scan reads what jobs wrote down of themselves since the last time. It costs
// Slurm nothing: two directories, listed only when they have changed.
func (c *campaign) scan() error {
	spool := node.Spool(c.spool)
	var list []offer.Observation
	err := c.each("ends", func(j *job, restart int) error {
		e, err := spool.ReadEnd(j.token, restart)
		if j.owes(restart) {
			return nil // settle tells it
		}
		if err != nil {
			j.asked = time.Now().Add(-recordLag) // it is damaged: Slurm has to say
			return nil
		}
		if e.Outside && restart+j.base >= j.last.Attempt {
			j.asked = time.Now().Add(-lostAfter) // only Slurm knows why
			return nil
		}
		// What has completed is done, whatever number muster counts: a later start
		// is refused by its claim, and a controller that came back with an older
		// state shows as put back what goes on running.
		if (restart+j.base >= j.last.Attempt || e.Completed()) && (over(e.Seen.Status) || e.Seen.Status == offer.Waiting) {
			c.owe(j, e.Seen.Attempt-j.base, e.Seen.Started)
			list = append(list, endOf(e))
		}
		return nil
	})
	if err = errors.Join(err, c.tell(list...)); err != nil {
		return err
	}
	list = nil
	err = c.each("starts", func(j *job, restart int) error {
		if b, err := spool.ReadBegin(j.token, restart); err == nil && (j.last.Attempt < j.base+restart || j.last.Status == offer.Queued) {
			list = append(list, c.began(j, b)...)
		}
		return nil
	})
	return errors.Join(err, c.tell(list...), c.stalls(), c.stops())
}

// stalls tells of commands that have stalled, and of those that go on.
func (c *campaign) stalls() error {
	spool := node.Spool(c.spool)
	names, err := c.records.Fresh(spool, "stalls")
	if err != nil {
		return err
	}
	var list []offer.Observation
	slices.Sort(names)
	for _, name := range names {
		token, restart, why, ok := spool.ReadStall(name)
		if j := c.jobs[token]; ok && j != nil && !j.ended && j.last.Status == offer.Running && j.last.Attempt == j.base+restart {
			o := j.last
			o.Reason = why
			list = append(list, o)
		}
	}
	return c.tell(list...)
}

// each hands on the records of a folder that are new, of jobs that have
// not ended.
func (c *campaign) each(folder string, take func(j *job, restart int) error) error {
	names, err := c.records.Fresh(node.Spool(c.spool), folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		token, restart, ok := node.ParseRecordName(name)
		j := c.jobs[token]
		if !ok || j == nil || j.ended {
			continue
		}
		if err := take(j, restart); err != nil {
			return err
		}
	}
	return nil
}

// endOf is an end as it is told: what its command came after failing, or its
// phase being stopped, is nobody's cancelling.
func endOf(e node.End) offer.Observation {
	o := e.Seen
	if e.Refused != "" && e.Refused != "cancelled" {
		o.Reason = offer.Blocked
	}
	return o
}

// began is what a start tells: that it runs, and that those before it are over.
func (c *campaign) began(j *job, b node.Begin) (list []offer.Observation) {
	attempt := j.base + b.Restart
	if attempt < j.last.Attempt {
		return nil
	}
	c.owe(j, b.Restart, b.At)
	return append(list, offer.Observation{Token: j.token, Handle: b.ID, Status: offer.Running, Attempt: attempt, Started: b.At, Node: b.Node, GPUs: b.GPUs, Pool: b.Pool})
}

// stops tells of phases that their wrappers have stopped.
func (c *campaign) stops() error {
	looked := map[string]bool{}
	for _, b := range c.batches {
		if c.stopped[b.Phase] || looked[b.Phase] {
			continue
		}
		looked[b.Phase] = true
		why := ""
		if text, err := os.ReadFile(c.path("stop." + b.Phase)); err == nil {
			why = strings.TrimSpace(string(text))
		}
		if why == "" {
			continue
		}
		c.stopped[b.Phase] = true
		if err := c.note(providers.Note{Kind: "breaker", Phase: b.Phase, Text: "stopped: " + why}); err != nil {
			return err
		}
	}
	return nil
}

// duplicate is another Slurm id that came to a job's token too late, "" if none did.
func (c *campaign) duplicate(j *job) string {
	for _, id := range node.Spool(c.spool).Duplicates(j.token) {
		if id != j.last.Handle {
			return id
		}
	}
	return ""
}
