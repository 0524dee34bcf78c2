package queue

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/wrapper"
)

// How lingering processes of a job whose main process has ended are treated.
const (
	settleWait  = 200 * time.Millisecond // they may be about to end by themselves
	lingerGrace = 5 * time.Second        // then between TERM and KILL
)

// settleGroup waits until nothing of a job's session is left, helping along.
func (as *attempts) settleGroup(ctx context.Context, c *check) {
	rec, err := wrapper.ReadRecord(c.folder.Record())
	hard := err == nil && rec.Exit == nil // its wrapper was killed: no record of the rest will come
	grace := lingerGrace
	if c.expired || c.cancelled { // they have been asked to end, and may be saving their work
		if grace = c.spec.Grace; grace <= 0 {
			grace = defaultGrace
		}
	} else if !hard && !c.group().Gone(ctx, settleWait) {
		c.group().Signal(unix.SIGTERM)
	}
	if hard || !c.group().Gone(ctx, grace) {
		for !c.group().Gone(ctx, settleWait) && ctx.Err() == nil {
			c.group().Signal(unix.SIGKILL)
		}
	}
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
func (as *attempts) oomKills() int64 {
	k := &as.kills
	if now := monotonic.Uptime(); !k.known || now-k.at > time.Second {
		*k = killCount{as.starts.killed(), now, true}
	}
	return k.n
}
