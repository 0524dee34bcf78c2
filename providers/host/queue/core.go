package queue

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers/host/journal"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

// core is the state that all parts share: the jobs and their places, the log, and the way into
// the queue's goroutine.
type core struct {
	spool    string
	id       string // random name of the log's history
	host     string
	script   string // the installed wrapper
	journal  *journal.Log[entry]
	ops      chan func()
	watchers *notifier // notified when durable events are there

	places     map[string]*place
	byN        []*place
	jobs       map[string]*job
	tombstones map[string]tombstoneEntry
	bases      baselines

	seq     uint64
	live    map[*job]bool // being started, running children and adopted
	stuck   error         // why the log cannot be written, nil if it can
	full    error         // why the spool has no room for a job's folder; forgotten at the next tick
	yielded bool          // a newer queue takes over: nothing starts
	leaves  bool          // its spool is to go with it
	touched time.Duration // uptime when something last happened
	due     []*start      // to be carried out at the end of the turn
}

// hasEnded reports whether an attempt of ours is over.
func (c *core) hasEnded(token, attempt string) bool {
	if j := c.jobs[token]; j != nil {
		n, err := strconv.Atoi(attempt)
		return err == nil && (n < j.attempt() || j.over())
	}
	_, over := c.tombstones[token]
	return over
}

func (c *core) placeN(n int) (*place, error) {
	if n < 0 || n >= len(c.byN) {
		return nil, fmt.Errorf("place %d is not known", n)
	}
	return c.byN[n], nil
}

// observe is a job as it is now.
func (c *core) observe(j *job) offer.Observation {
	o := offer.Observation{Token: j.spec.Token, Presence: offer.Found, Handle: j.spec.Token, Status: j.Status, Attempt: j.attempt(), Node: c.host}
	if l := j.Launch; l != nil {
		o.Started, o.GPUs, o.Inputs = l.Began(monotonic.Now()), l.GPUs, l.Digests
	}
	if j.Status == offer.Running {
		o.Reason = cmp.Or(j.silent, j.uncopied)
	}
	if j.Shape != nil { // else as requested
		got := *j.Shape
		o.Got = &got
	}
	return o
}

// outputsOf are the outputs of the job of a token that ended well.
func (c *core) outputsOf(token string) []offer.Output {
	if j := c.jobs[token]; j != nil && j.Status == offer.Completed && j.Obs != nil {
		return j.Obs.Outputs
	}
	return c.tombstones[token].Outputs
}

// secretsPath is where a job's secrets are kept until it has ended for good.
func (c *core) secretsPath(token string) string { return filepath.Join(c.spool, "secrets", token) }

// secretsOf is the file of a job's secrets, "" where it has none.
func (c *core) secretsOf(j *job) string {
	if !j.secret {
		return ""
	}
	return c.secretsPath(j.spec.Token)
}

// stalled says why nothing starts although jobs are ready, "" if there is no such reason: the
// spool takes no more.
func (c *core) stalled() string {
	if why := cmp.Or(c.stuck, c.full); why != nil {
		return "the queue's spool cannot be written, so nothing starts: " + why.Error()
	}
	return ""
}
