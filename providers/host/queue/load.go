package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/journal"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// logVersion is the version of the log's format; a queue refuses a newer one.
const logVersion = 1

// load makes a queue of a spool. The caller holds the spool's lock.
func load(dir string, reader gpu.Reader) (*queue, error) {
	script, err := wrapper.Install(dir)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"jobs", "secrets"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
	}
	host, _ := os.Hostname()
	q := &queue{spool: dir, script: script, host: host, ops: make(chan func(), 256), tell: newBell(),
		trash:  make(chan []trash, 16),
		places: map[string]*place{}, jobs: map[string]*job{}, graves: map[string]graveEntry{}, fences: map[string]providers.Fence{},
		environs: map[string][]providers.EnvVar{}, live: map[*job]bool{},
		touched: boot.Uptime(), starved: starvation, killed: machine.OOMKills}
	q.gpus.Reader, q.gpus.Rest = reader, gpu.Rest
	q.shelf.Dir = filepath.Join(dir, "jobs")
	last := metaEntry{}
	q.journal, err = journal.Open(filepath.Join(dir, "log"), func(e entry) error {
		if e.Meta != nil {
			last = *e.Meta
		}
		return q.fold(e)
	})
	if err != nil {
		return nil, err
	}
	if q.id == "" {
		q.id = newID()
	}
	q.wire()
	q.put(entry{Meta: &metaEntry{Version: logVersion, Spool: q.id, Boot: boot.ID(), Seq: q.seq}})
	if err := q.journal.Sync(); err != nil {
		return nil, err
	}
	q.durable = q.seq
	q.folded = q.journal.Size()
	q.adopt(last.Boot)
	return q, nil
}

// fold applies one entry of the log.
func (q *queue) fold(e entry) error {
	q.seq = max(q.seq, e.Seq)
	switch {
	case e.Meta != nil:
		if e.Meta.Version > logVersion {
			return fmt.Errorf("written by a newer muster (format %d, this one knows %d)", e.Meta.Version, logVersion)
		}
		q.id, q.seq = e.Meta.Spool, max(q.seq, e.Meta.Seq)
	case e.Place != nil:
		return q.foldPlace(*e.Place)
	case e.Environ != nil:
		q.environs[e.Environ.Name] = e.Environ.Vars
	case e.Fence != nil:
		q.fences[e.Fence.Lineage] = providers.Fence{N: e.Fence.Fence, Holder: e.Fence.Holder}
	case e.Grave != nil:
		q.graves[e.Grave.Token] = *e.Grave
	case e.Base != nil:
		q.bases.set(e.Base.Key, e.Base.Marks)
	case e.Job != nil:
		return q.foldJob(*e.Job)
	case e.Step != nil:
		return q.foldStep(e)
	default:
		return q.foldOfPlace(e)
	}
	return nil
}

func (q *queue) foldPlace(e placeEntry) error {
	if e.N < len(q.byN) {
		q.byN[e.N].Place, q.byN[e.N].digest = e.Place, digest(e.Place)
		return nil
	}
	if e.N != len(q.byN) {
		return fmt.Errorf("place %d after %d", e.N, len(q.byN))
	}
	pl := &place{Place: e.Place, digest: digest(e.Place), n: e.N, checks: make(chan struct{}, maxChecks), phases: map[string]int{}, breakers: map[string]*breaker.Count{}}
	q.byN = append(q.byN, pl)
	q.places[key(e.Place)] = pl
	return nil
}

func (q *queue) foldJob(e jobEntry) error {
	pl, err := q.placeN(e.Place)
	if err != nil {
		return err
	}
	j := &job{place: pl, order: e.Order, hash: e.Hash, environ: e.Environ, secret: e.Secret, taken: true, ended: make(chan struct{}), memory: memory{Status: offer.Queued}}
	if err := json.Unmarshal(e.Spec, &j.spec); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	q.jobs[j.spec.Token] = j
	q.order = max(q.order, e.Order)
	return nil
}

func (q *queue) foldStep(e entry) error {
	j := q.jobs[e.Step.Token]
	if j == nil {
		return fmt.Errorf("a step of %s, which is not known", e.Step.Token)
	}
	j.memory = e.Step.Now
	if j.Status == offer.Completed {
		q.bases.set(baseKey(j), nil)
	}
	if e.Seq > j.place.acked && j.Obs != nil {
		j.place.events = append(j.place.events, event{seq: e.Seq, obs: *j.Obs})
	}
	return nil
}

// foldOfPlace applies what belongs to a place.
func (q *queue) foldOfPlace(e entry) error {
	switch {
	case e.Event != nil:
		pl, err := q.placeN(e.Event.Place)
		if err != nil {
			return err
		}
		ev := event{seq: e.Seq, note: e.Event.Note}
		if e.Event.Obs != nil {
			ev.obs = *e.Event.Obs
		}
		pl.events = append(pl.events, ev)
	case e.Rule != nil:
		pl, err := q.placeN(e.Rule.Place)
		if err != nil {
			return err
		}
		pl.rules = e.Rule.Rules
	case e.Breaker != nil:
		pl, err := q.placeN(e.Breaker.Place)
		if err != nil {
			return err
		}
		b := e.Breaker.Breaker
		pl.breakers[e.Breaker.Phase] = &b
	case e.Ack != nil:
		pl, err := q.placeN(e.Ack.Place)
		if err != nil {
			return err
		}
		q.bury(pl, e.Ack.Seq)
	}
	return nil // an entry of a kind that is not known is of no matter to this version
}

func (q *queue) placeN(n int) (*place, error) {
	if n < 0 || n >= len(q.byN) {
		return nil, fmt.Errorf("place %d is not known", n)
	}
	return q.byN[n], nil
}

// wire rebuilds what follows from the entries: who waits for whom, and who
// is ready.
func (q *queue) wire() {
	for _, j := range q.jobs {
		if j.over() {
			close(j.ended)
			continue
		}
		q.link(j)
	}
	for _, j := range q.jobs {
		q.ready(j)
	}
}

// link makes a job wait for those it comes after.
func (q *queue) link(j *job) {
	j.needs = 0
	for _, t := range j.spec.After {
		if up := q.jobs[t]; up != nil && up.Status != offer.Completed {
			up.feeds = append(up.feeds, j)
			j.needs++
		} else if up == nil && q.graves[t].Status != offer.Completed {
			j.needs++ // ended otherwise: it never comes
		}
	}
}

// ready lines a job up if nothing is in its way but a slot.
func (q *queue) ready(j *job) {
	if j.Status == offer.Waiting && !q.delayed(j) {
		j.Status = offer.Queued
	}
	if j.Status == offer.Queued && j.Launch == nil && j.needs == 0 && j.taken && !j.Held && j.lane == nil {
		j.place.line(j)
	}
}

// delayed reports whether a job must still wait for its next attempt, and
// sees to it that it is looked at again then.
func (q *queue) delayed(j *job) bool {
	left := j.Left(j.spec.Retry.Delay, boot.Now())
	if left == 0 {
		return false
	}
	j.timers = append(j.timers, time.AfterFunc(left, func() {
		q.ops <- func() {
			j.Due = boot.Due{}
			q.ready(j)
		}
	}))
	return true
}
