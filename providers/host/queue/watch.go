package queue

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/wire"
	"github.com/muster-run/muster/providers/offer"
)

// batchEvents bounds the events of one answer; with their tails they stay
// well below 1 MiB.
const batchEvents = 500

// cursor names a point in the events of one log.
func (q *queue) cursor(seq uint64) string { return q.id + "." + strconv.FormatUint(seq, 10) }

// parse reads a cursor; one of another log counts as the beginning.
func (q *queue) parse(cursor string) uint64 {
	id, n, ok := strings.Cut(cursor, ".")
	seq, err := strconv.ParseUint(n, 10, 64)
	if !ok || err != nil || id != q.id || seq > q.seq {
		return 0
	}
	return seq
}

// watch answers with the events after a cursor, and waits for the next if
// there are none. What lies before its Ack is forgotten.
func (q *queue) watch(ctx context.Context, r wire.Watch) (providers.Batch, error) {
	deadline := time.NewTimer(min(r.Wait, wire.PollWait))
	defer deadline.Stop()
	for {
		bell := q.tell.heard()
		b, err := ask(ctx, q, func() providers.Batch { return q.after(r) })
		if err != nil {
			return b, err
		}
		if len(b.Events) > 0 || len(b.Notes) > 0 {
			return b, nil
		}
		select {
		case <-bell:
		case <-deadline.C:
			return b, nil
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
}

// after collects events after a cursor.
func (q *queue) after(r wire.Watch) providers.Batch {
	handles := r.Handles
	pl := q.places[key(r.Place)]
	if pl == nil {
		return providers.Batch{Cursor: r.Cursor}
	}
	from := q.parse(r.Cursor)
	safe := from
	if r.Ack != nil {
		safe = q.parse(*r.Ack)
	}
	if len(handles) == 0 && safe > pl.acked {
		q.bury(pl, safe)
		q.put(entry{Ack: &ackEntry{Place: pl.n, Seq: safe}})
	}
	b := providers.Batch{Cursor: q.cursor(from)}
	running := map[string]int{} // token → index of an event that says it runs
	for i := range pl.events {
		e := &pl.events[i]
		if e.seq <= from {
			continue
		}
		if e.seq > q.durable || len(b.Events) >= batchEvents {
			break
		}
		b.Cursor = q.cursor(e.seq)
		if e.note != nil {
			b.Notes = append(b.Notes, *e.note)
			continue
		}
		if len(handles) > 0 && !slices.Contains(handles, e.obs.Handle) {
			continue
		}
		// An end tells of its start, too.
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
	b.Events = append(b.Events, q.waitForRoom(pl, handles)...)
	return b
}

// waitForRoom says of a job in each lane that it waits for room in the spool.
// No event can be written down then, so this one is in no log: it is told to
// whoever asks, once in a while.
func (q *queue) waitForRoom(p *place, handles []string) (list []offer.Observation) {
	why, now := q.stalled(), boot.Uptime()
	if why == "" || p.stalled != 0 && now-p.stalled < retell {
		return nil
	}
	for _, l := range p.lanes {
		j := l.first()
		if j == nil || len(handles) > 0 && !slices.Contains(handles, j.spec.Token) {
			continue
		}
		p.stalled = now
		o := q.observe(j)
		o.Reason = why
		list = append(list, o)
	}
	return list
}

// bury drops what a watcher has acknowledged; of ended jobs the token stays.
func (q *queue) bury(p *place, seq uint64) {
	n := 0
	for ; n < len(p.events) && p.events[n].seq <= seq; n++ {
		e := &p.events[n]
		if e.note != nil {
			continue
		}
		if j := q.jobs[e.obs.Token]; j != nil && j.over() && j.Obs != nil && j.Obs.Status == e.obs.Status {
			q.graves[e.obs.Token] = graveEntry{Token: e.obs.Token, Place: p.n, grave: grave{Hash: j.hash, Status: j.Status,
				Attempt: j.Obs.Attempt, Exit: j.Obs.Exit, Class: j.Obs.Class, Ended: j.Obs.Ended.Unix(), Outputs: j.Obs.Outputs}}
			delete(q.jobs, e.obs.Token)
		}
	}
	clear(p.events[:n])
	p.events = p.events[n:]
	p.acked = max(p.acked, seq)
}

func (q *queue) status() wire.Status {
	s := wire.Status{Running: len(q.live), CPUs: q.used.cpus, GPUs: q.gpus.Held(), Jobs: len(q.jobs)}
	for _, j := range q.jobs {
		if j.Status == offer.Queued || j.Status == offer.Waiting {
			s.Queued++
		}
	}
	if why := cmp.Or(q.stuck, q.full); why != nil {
		s.Stuck = why.Error()
	}
	return s
}

// stalled says why nothing is started although something could be, "" if that
// is not so: the spool takes no more.
func (q *queue) stalled() string {
	if why := cmp.Or(q.stuck, q.full); why != nil {
		return "the queue's spool cannot be written, so nothing starts: " + why.Error()
	}
	return ""
}
