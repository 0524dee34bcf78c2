package queue

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// When the log is written anew: it has grown by this much, and to more than
// twice what was left the last time.
const compactFrom = 8 << 20

// How long the token of an ended and acknowledged job is remembered, and of
// how many: of so few at any age, since a clock may be set on by years, and of
// so many at most.
const (
	graveAge = 30 * 24 * time.Hour
	minDead  = 20_000
	maxDead  = 200_000
)

// compact writes the log anew when most of it is of the past.
func (q *queue) compact() {
	if size := q.journal.Size(); size < compactFrom || size < 2*q.folded {
		return
	}
	q.forget()
	if err := q.journal.Rewrite(q.snapshot); err != nil {
		q.folded = q.journal.Size() // not again at once
		return
	}
	q.folded = q.journal.Size()
	q.durable = q.seq
	q.tell.ring()
}

// awaitedFor is how long, in seconds, a job may still be submitted that comes
// after one that has ended and was acknowledged.
const awaitedFor = 3600

// forget drops tokens of long ago, the oldest first, and outputs that no job
// waits for any more.
func (q *queue) forget() {
	awaited := map[string]bool{}
	for _, j := range q.jobs {
		if !j.over() {
			for _, t := range j.spec.After {
				awaited[t] = true
			}
		}
	}
	for t, g := range q.graves {
		if g.Outputs != nil && !awaited[t] && g.Ended < time.Now().Unix()-awaitedFor {
			g.Outputs = nil
			q.graves[t] = g
		}
	}
	if len(q.graves) <= minDead {
		return
	}
	limit := time.Now().Add(-graveAge).Unix()
	oldest := slices.SortedFunc(maps.Values(q.graves), func(a, b graveEntry) int { return cmp.Compare(a.Ended, b.Ended) })
	for _, g := range oldest[:len(oldest)-minDead] {
		if g.Ended >= limit && len(q.graves) <= maxDead {
			return
		}
		delete(q.graves, g.Token)
	}
}

// snapshot writes the state as the fewest entries that fold to it.
func (q *queue) snapshot(put func(*entry)) {
	put(&entry{Meta: &metaEntry{Version: logVersion, Spool: q.id, Boot: boot.ID(), Seq: q.seq}})
	for _, p := range q.byN {
		put(&entry{Place: &placeEntry{N: p.n, Place: p.Place}})
		put(&entry{Rule: &ruleEntry{Place: p.n, Rules: p.rules}})
		put(&entry{Ack: &ackEntry{Place: p.n, Seq: p.acked}})
		for phase, b := range p.breakers {
			put(&entry{Breaker: &breakerEntry{Place: p.n, Phase: phase, Breaker: *b}})
		}
	}
	for l, f := range q.fences {
		put(&entry{Fence: &fenceEntry{Lineage: l, Fence: f.N, Holder: f.Holder}})
	}
	q.bases.each(func(key string, marks verify.Baseline) {
		put(&entry{Base: &baseEntry{Key: key, Marks: marks}})
	})
	for _, g := range q.graves {
		put(&entry{Grave: &g})
	}
	q.snapshotJobs(put)
	for _, p := range q.byN {
		for _, e := range p.events {
			ev := &eventEntry{Place: p.n, Note: e.note}
			if e.note == nil {
				ev.Obs = &e.obs
			}
			put(&entry{Seq: e.seq, Event: ev})
		}
	}
}

func (q *queue) snapshotJobs(put func(*entry)) {
	jobs := make([]*job, 0, len(q.jobs))
	used := map[string]bool{}
	for _, j := range q.jobs {
		jobs = append(jobs, j)
		used[j.environ] = true
	}
	slices.SortFunc(jobs, func(a, b *job) int { return int(a.order - b.order) })
	for name, vars := range q.environs {
		if used[name] {
			put(&entry{Environ: &environEntry{Name: name, Vars: vars}})
		} else {
			delete(q.environs, name)
		}
	}
	for _, j := range jobs {
		spec, err := json.Marshal(j.spec)
		if err != nil {
			panic("muster: bug: job specification: " + err.Error())
		}
		put(&entry{Job: &jobEntry{Place: j.place.n, Order: j.order, Hash: j.hash, Environ: j.environ, Secret: j.secret, Spec: spec}})
		if j.Status != offer.Queued || j.Restart > 0 || j.Held || j.Launch != nil {
			m := j.memory
			if m.Status == offer.Verifying {
				m.Status = offer.Running
			}
			put(&entry{Step: &stepEntry{Token: j.spec.Token, Now: m}})
		}
	}
}
