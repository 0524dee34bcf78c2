package queue

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// events go to watchers when they are durable, and are forgotten once acknowledged.
type events struct {
	*core
	durable uint64 // events up to here are durable
}

// batchEvents bounds the events of one answer; with their tails they stay
// well below 1 MiB.
const batchEvents = 500

// cursor names a point in the events of one log.
func (es *events) cursor(seq uint64) string { return es.id + "." + strconv.FormatUint(seq, 10) }

// parse reads a cursor; one of another log counts as the beginning.
func (es *events) parse(cursor string) uint64 {
	id, n, ok := strings.Cut(cursor, ".")
	seq, err := strconv.ParseUint(n, 10, 64)
	if !ok || err != nil || id != es.id || seq > es.seq {
		return 0
	}
	return seq
}

// watch answers with the events after a cursor, and waits for the next if there are none. It
// forgets the events before the request's Ack.
func (es *events) watch(ctx context.Context, r wire.Watch) (providers.Batch, error) {
	deadline := time.NewTimer(min(r.Wait, wire.PollWait))
	defer deadline.Stop()
	for {
		changed := es.watchers.next()
		b, err := ask(ctx, es.core, func() providers.Batch { return es.after(r) })
		if err != nil {
			return b, err
		}
		if len(b.Events) > 0 || len(b.Notes) > 0 {
			return b, nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			return b, nil
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
}

// after collects events after a cursor.
func (es *events) after(r wire.Watch) providers.Batch {
	handles := r.Handles
	pl := es.places[key(r.Place)]
	if pl == nil {
		return providers.Batch{Cursor: r.Cursor}
	}
	from := es.parse(r.Cursor)
	safe := from
	if r.Ack != nil {
		safe = es.parse(*r.Ack)
	}
	if len(handles) == 0 && safe > pl.acked {
		es.acknowledge(pl, safe)
		es.put(entry{Ack: &ackEntry{Place: pl.n, Seq: safe}})
	}
	b := providers.Batch{Cursor: es.cursor(from)}
	running := map[string]int{} // token → index of an event that says it runs
	for i := range pl.events {
		e := &pl.events[i]
		if e.seq <= from {
			continue
		}
		if e.seq > es.durable || len(b.Events) >= batchEvents {
			break
		}
		b.Cursor = es.cursor(e.seq)
		if e.note != nil {
			if !pl.outdated(e.note) {
				b.Notes = append(b.Notes, *e.note)
			}
			continue
		}
		if len(handles) > 0 && !slices.Contains(handles, e.obs.Handle) {
			continue
		}
		// The event of an end reports the start, too.
		if i, ok := running[e.obs.Token]; ok && b.Events[i].Attempt == e.obs.Attempt {
			b.Events[i] = e.obs
			delete(running, e.obs.Token)
			continue
		}
		if e.obs.Status == offer.Running {
			running[e.obs.Token] = len(b.Events)
		}
		b.Events = append(b.Events, e.obs)
	}
	b.Events = append(b.Events, es.waitForRoom(pl, handles)...)
	return b
}

// outdated reports whether a note says that a breaker opened which has been closed since: a watcher that
// reads it late would open the breaker again.
func (p *place) outdated(n *providers.Note) bool {
	if n.Kind != "breaker" {
		return false
	}
	b := p.breakers[n.Phase]
	return b == nil || !b.Open
}

// waitForRoom reports for a job in each ready queue that it waits for room in the spool. This
// event cannot be written, so it is in no log: the queue repeats it to watchers now and then.
func (es *events) waitForRoom(p *place, handles []string) (list []offer.Observation) {
	why, now := es.stalled(), monotonic.Uptime()
	if why == "" || p.stalled != 0 && now-p.stalled < retell {
		return nil
	}
	for _, l := range p.queues {
		j := l.first()
		if j == nil || len(handles) > 0 && !slices.Contains(handles, j.spec.Token) {
			continue
		}
		p.stalled = now
		o := es.observe(j)
		o.Reason, o.Cause = why, offer.NoSpool
		list = append(list, o)
	}
	return list
}

// acknowledge drops acknowledged events; of ended jobs the token stays.
func (es *events) acknowledge(p *place, seq uint64) {
	n := 0
	for ; n < len(p.events) && p.events[n].seq <= seq; n++ {
		e := &p.events[n]
		if e.note != nil {
			continue
		}
		if j := es.jobs[e.obs.Token]; j != nil && j.over() && j.Obs != nil && j.Obs.Status == e.obs.Status {
			es.tombstones[e.obs.Token] = tombstoneEntry{Token: e.obs.Token, Place: p.n, tombstone: tombstone{Hash: j.hash, Status: j.Status,
				Attempt: j.Obs.Attempt, Exit: j.Obs.Exit, Class: j.Obs.Class, Ended: j.Obs.Ended.Unix(), Outputs: j.Obs.Outputs}}
			delete(es.jobs, e.obs.Token)
		}
	}
	clear(p.events[:n])
	p.events = p.events[n:]
	p.acked = max(p.acked, seq)
}
