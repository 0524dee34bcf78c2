package queue

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/queue/sweep"
	"github.com/muster-run/muster/providers/wrapper"
)

// How lingering processes of a job whose main process has ended are treated.
const (
	settleWait  = 200 * time.Millisecond // they may be about to end by themselves
	lingerGrace = sweep.Grace            // then between TERM and KILL
)

// settleGroup waits until nothing of a job's session is left, helping along.
func (q *queue) settleGroup(ctx context.Context, c *check) {
	rec, err := wrapper.ReadRecord(c.Folder.Record())
	hard := err == nil && rec.Exit == nil // its wrapper was killed: nobody records the rest
	grace := lingerGrace
	if c.Expired || c.Cancelled { // they have been told, and may be saving their work
		if grace = c.Spec.Grace; grace <= 0 {
			grace = defaultGrace
		}
	} else if !hard && !c.Group().Gone(ctx, settleWait) {
		c.Group().Signal(unix.SIGTERM)
	}
	if hard || !c.Group().Gone(ctx, grace) {
		for !c.Group().Gone(ctx, settleWait) && ctx.Err() == nil {
			c.Group().Signal(unix.SIGKILL)
		}
	}
}

// hasEnded reports whether a start is one of ours and over.
func (q *queue) hasEnded(token, attempt string) bool {
	if j := q.jobs[token]; j != nil {
		n, err := strconv.Atoi(attempt)
		return err == nil && (n < j.attempt() || j.over())
	}
	_, buried := q.graves[token]
	return buried
}

// A killCount is the machine's count of processes killed for memory, read
// once a second at most.
type killCount struct {
	n     int64
	at    time.Duration // uptime
	known bool
}

// oomKills is the machine's count of processes killed for memory, at most a
// second old; -1 = unknown.
func (q *queue) oomKills() int64 {
	k := &q.kills
	if now := boot.Uptime(); !k.known || now-k.at > time.Second {
		*k = killCount{q.killed(), now, true}
	}
	return k.n
}
