package queue

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/journal"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
)

// A loader folds the log into a queue.
type loader struct {
	*core
	events       *events
	submissions  *submissions
	dependencies *dependencies
	starts       *starts
}

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
	q := newQueue()
	q.spool, q.script, q.host = dir, script, host
	q.allocator.devices.Reader, q.allocator.devices.Rest = reader, gpu.Rest
	q.starts.folders.Dir = filepath.Join(dir, "jobs")
	last := metaEntry{}
	q.journal, err = journal.Open(filepath.Join(dir, "log"), func(e entry) error {
		if e.Meta != nil {
			last = *e.Meta
		}
		return q.loader.fold(e)
	})
	if err != nil {
		return nil, err
	}
	if q.id == "" {
		q.id = newID()
	}
	q.loader.wire()
	q.put(entry{Meta: &metaEntry{Version: logVersion, Spool: q.id, Boot: monotonic.ID(), Seq: q.seq}})
	if err := q.journal.Sync(); err != nil {
		return nil, err
	}
	q.events.durable = q.seq
	q.compaction.folded = q.journal.Size()
	q.adoption.adopt(last.Boot)
	return q, nil
}

// fold applies one entry of the log.
func (ld *loader) fold(e entry) error {
	ld.seq = max(ld.seq, e.Seq)
	switch {
	case e.Meta != nil:
		if e.Meta.Version > logVersion {
			return fmt.Errorf("written by a newer muster (format %d, this one knows %d)", e.Meta.Version, logVersion)
		}
		ld.id, ld.seq = e.Meta.Spool, max(ld.seq, e.Meta.Seq)
	case e.Place != nil:
		return ld.foldPlace(*e.Place)
	case e.Environ != nil:
		ld.starts.environs[e.Environ.Name] = e.Environ.Vars
	case e.Fence != nil:
		ld.submissions.fences[e.Fence.Lineage] = providers.Fence{N: e.Fence.Fence, Holder: e.Fence.Holder}
	case e.Tombstone != nil:
		ld.tombstones[e.Tombstone.Token] = *e.Tombstone
	case e.Base != nil:
		ld.bases.set(e.Base.Key, e.Base.Marks)
	case e.Job != nil:
		return ld.foldJob(*e.Job)
	case e.Step != nil:
		return ld.foldStep(e)
	default:
		return ld.foldOfPlace(e)
	}
	return nil
}

func (ld *loader) foldPlace(e placeEntry) error {
	if e.N < len(ld.byN) {
		ld.byN[e.N].Tenant, ld.byN[e.N].digest = e.Place, digest(e.Place)
		return nil
	}
	if e.N != len(ld.byN) {
		return fmt.Errorf("place %d after %d", e.N, len(ld.byN))
	}
	pl := &place{Tenant: e.Place, digest: digest(e.Place), n: e.N, checks: make(chan struct{}, maxChecks), phases: map[string]int{}, breakers: map[string]*breaker.Count{}}
	ld.byN = append(ld.byN, pl)
	ld.places[key(e.Place)] = pl
	return nil
}

func (ld *loader) foldJob(e jobEntry) error {
	pl, err := ld.placeN(e.Place)
	if err != nil {
		return err
	}
	j := &job{place: pl, order: e.Order, hash: e.Hash, environ: e.Environ, secret: e.Secret, taken: true, ended: make(chan struct{}), jobState: jobState{Status: offer.Queued}}
	if err := json.Unmarshal(e.Spec, &j.spec); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	ld.jobs[j.spec.Token] = j
	ld.submissions.order = max(ld.submissions.order, e.Order)
	return nil
}

func (ld *loader) foldStep(e entry) error {
	j := ld.jobs[e.Step.Token]
	if j == nil {
		return fmt.Errorf("a step of an unknown job, %s", e.Step.Token)
	}
	j.jobState = e.Step.Now
	if j.Status == offer.Completed {
		ld.bases.set(baseKey(j), nil)
	}
	if e.Seq > j.place.acked && j.Obs != nil {
		j.place.events = append(j.place.events, event{seq: e.Seq, obs: *j.Obs})
	}
	return nil
}

// foldOfPlace applies the entries of a place.
func (ld *loader) foldOfPlace(e entry) error {
	switch {
	case e.Event != nil:
		pl, err := ld.placeN(e.Event.Place)
		if err != nil {
			return err
		}
		ev := event{seq: e.Seq, note: e.Event.Note}
		if e.Event.Obs != nil {
			ev.obs = *e.Event.Obs
		}
		pl.events = append(pl.events, ev)
	case e.Rule != nil:
		pl, err := ld.placeN(e.Rule.Place)
		if err != nil {
			return err
		}
		pl.rules = e.Rule.Rules
	case e.Breaker != nil:
		pl, err := ld.placeN(e.Breaker.Place)
		if err != nil {
			return err
		}
		b := e.Breaker.Breaker
		pl.breakers[e.Breaker.Phase] = &b
	case e.Ack != nil:
		pl, err := ld.placeN(e.Ack.Place)
		if err != nil {
			return err
		}
		ld.events.acknowledge(pl, e.Ack.Seq)
	}
	return nil // this version ignores entries of an unknown kind
}

// wire works out from the entries which job waits for which, and which are ready.
func (ld *loader) wire() {
	for _, j := range ld.jobs {
		if j.over() {
			close(j.ended)
			continue
		}
		ld.dependencies.link(j)
	}
	for _, j := range ld.jobs {
		ld.dependencies.release(j)
	}
}
