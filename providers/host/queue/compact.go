package queue

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// compaction rewrites the log when most of it is outdated.
type compaction struct {
	*core
	events      *events
	submissions *submissions
	starts      *starts
	folded      int64 // size of the log after the last compaction
}

// The log is rewritten when it has grown by this much, and to more than twice its size after
// the last compaction.
const compactFrom = 8 << 20

// How long the queue remembers the token of an ended and acknowledged job, and how many of
// them: so few at any age, since a clock may be set on by years, and so many at most.
const (
	tombstoneAge = 30 * 24 * time.Hour
	minDead      = 20_000
	maxDead      = 200_000
)

// compact rewrites the log when most of it is outdated.
func (cn *compaction) compact() {
	if size := cn.journal.Size(); size < compactFrom || size < 2*cn.folded {
		return
	}
	cn.forget()
	if err := cn.journal.Rewrite(cn.snapshot); err != nil {
		cn.folded = cn.journal.Size() // not again at once
		return
	}
	cn.folded = cn.journal.Size()
	cn.events.durable = cn.seq
	cn.watchers.notify()
}

// awaitedFor is how long, in seconds, a dependent of an ended and acknowledged job may still
// be submitted.
const awaitedFor = 3600

// forget drops tokens of long ago, the oldest first, and outputs that no job
// waits for any more.
func (cn *compaction) forget() {
	awaited := map[string]bool{}
	for _, j := range cn.jobs {
		if !j.over() {
			for _, t := range j.spec.After {
				awaited[t] = true
			}
		}
	}
	for t, g := range cn.tombstones {
		if g.Outputs != nil && !awaited[t] && g.Ended < time.Now().Unix()-awaitedFor {
			g.Outputs = nil
			cn.tombstones[t] = g
		}
	}
	if len(cn.tombstones) <= minDead {
		return
	}
	limit := time.Now().Add(-tombstoneAge).Unix()
	oldest := slices.SortedFunc(maps.Values(cn.tombstones), func(a, b tombstoneEntry) int { return cmp.Compare(a.Ended, b.Ended) })
	for _, g := range oldest[:len(oldest)-minDead] {
		if g.Ended >= limit && len(cn.tombstones) <= maxDead {
			return
		}
		delete(cn.tombstones, g.Token)
	}
}

// snapshot writes the state as the fewest entries that fold to it.
func (cn *compaction) snapshot(put func(*entry)) {
	put(&entry{Meta: &metaEntry{Version: logVersion, Spool: cn.id, Boot: monotonic.ID(), Seq: cn.seq}})
	for _, p := range cn.byN {
		put(&entry{Place: &placeEntry{N: p.n, Place: p.Tenant}})
		put(&entry{Rule: &ruleEntry{Place: p.n, Rules: p.rules}})
		put(&entry{Ack: &ackEntry{Place: p.n, Seq: p.acked}})
		for of, b := range p.breakers {
			put(&entry{Breaker: &breakerEntry{Place: p.n, Phase: of, Breaker: *b}})
		}
	}
	for l, f := range cn.submissions.fences {
		put(&entry{Fence: &fenceEntry{Lineage: l, Fence: f.N, Holder: f.Holder}})
	}
	cn.bases.each(func(key string, marks verify.Baseline) {
		put(&entry{Base: &baseEntry{Key: key, Marks: marks}})
	})
	for _, g := range cn.tombstones {
		put(&entry{Tombstone: &g})
	}
	cn.snapshotJobs(put)
	for _, p := range cn.byN {
		for _, e := range p.events {
			ev := &eventEntry{Place: p.n, Note: e.note}
			if e.note == nil {
				ev.Obs = &e.obs
			}
			put(&entry{Seq: e.seq, Event: ev})
		}
	}
}

func (cn *compaction) snapshotJobs(put func(*entry)) {
	jobs := make([]*job, 0, len(cn.jobs))
	used := map[string]bool{}
	for _, j := range cn.jobs {
		jobs = append(jobs, j)
		used[j.environ] = true
	}
	slices.SortFunc(jobs, func(a, b *job) int { return int(a.order - b.order) })
	for name, vars := range cn.starts.environs {
		if used[name] {
			put(&entry{Environ: &environEntry{Name: name, Vars: vars}})
		} else {
			delete(cn.starts.environs, name)
		}
	}
	for _, j := range jobs {
		spec, err := json.Marshal(j.spec)
		if err != nil {
			panic("muster: bug: job specification: " + err.Error())
		}
		put(&entry{Job: &jobEntry{Place: j.place.n, Order: j.order, Hash: j.hash, Environ: j.environ, Secret: j.secret, Spec: spec}})
		if j.Status != offer.Queued || j.Restart > 0 || j.Held || j.Launch != nil {
			m := j.jobState
			if m.Status == offer.Verifying {
				m.Status = offer.Running
			}
			put(&entry{Step: &stepEntry{Token: j.spec.Token, Now: m}})
		}
	}
}
