package backends

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// endings cancel attempts.
type endings struct {
	*core
	lookups *lookups
}

// Cancel has every attempt ended that has an end, once.
func (es *endings) Cancel() {
	by := map[*Backend][]*Attempt{}
	for _, f := range es.attempts {
		if f.End != Stays && !f.told && !f.Stranded {
			f.told = true
			by[f.B] = append(by[f.B], f)
		}
	}
	for b, fs := range by {
		es.cancel(b, fs)
	}
}

// Ending counts attempts that are being cancelled: those whose backend can be
// asked about them.
func (es *endings) Ending() (n int) {
	for _, f := range es.attempts {
		if f.End != Stays && !f.Stranded {
			n++
		}
	}
	return n
}

// EndingThere counts those of Ending whose backends are not away.
func (es *endings) EndingThere() (n int) {
	for _, f := range es.attempts {
		if f.End != Stays && !f.Stranded && !f.B.Away() {
			n++
		}
	}
	return n
}

// cancel ends attempts: their backend fetches the log's tail, then asks
// politely, then ends them. muster looks up the result of each afterwards. An
// attempt that ended while an earlier try was repeated is left out.
func (es *endings) cancel(b *Backend, fs []*Attempt) {
	if fs = slices.DeleteFunc(fs, func(f *Attempt) bool { return !es.inFlight(f) }); len(fs) == 0 {
		return
	}
	for _, f := range fs {
		es.Hear(Cancelling{f})
	}
	asked := tokens(fs)
	away := b.whyAway()
	var err error
	b.Call(func() {
		if b.Provider == nil {
			err = away
			return
		}
		_, err = b.Provider.Cancel(es.Ctx, providers.CancelRequest{Backend: b.Name, Fence: es.Fence, Holder: es.Holder, Tokens: asked})
	}, func() { es.cancelAnswered(b, fs, err) })
}

func (es *endings) cancelAnswered(b *Backend, fs []*Attempt, err error) {
	if err != nil {
		switch connection.ClassOf(err) {
		case "":
			return
		case providers.StaleFence:
			es.Hear(Overtaken{b, err})
			return
		}
		es.lookups.outbox.failed(b, err)
		es.setUnknown(b, fs)
		es.Later(connection.Backoff(b.tries), func() { es.cancel(b, fs) })
		return
	}
	b.tries = 0
	for _, f := range fs {
		es.awaitEnd(f, 0, 0)
	}
}

// setUnknown has jobs of a backend that is away be unknown.
func (es *endings) setUnknown(b *Backend, fs []*Attempt) {
	for _, f := range fs {
		if b.Away() && es.inFlight(f) && f.Status != cells.Unknown {
			es.move(f, cells.Unknown)
		}
	}
}

// awaitEnd polls for the end of a cancelled job; a watch is usually faster. failed counts the
// look-ups since the last answer.
func (es *endings) awaitEnd(f *Attempt, tries, failed int) {
	if !es.inFlight(f) {
		return
	}
	var obs []offer.Observation
	var err error
	f.B.Call(func() { obs, err = f.B.Find(es.Ctx, []string{f.Token}) }, func() {
		if err == nil && len(obs) > 0 && obs[0].Presence == offer.Unknown {
			err = providers.Errorf(providers.Unreachable, "%s", cmp.Or(obs[0].Reason, f.B.Title()+" does not tell the status of "+f.Addr))
		}
		switch {
		case err != nil && connection.ClassOf(err) != "":
			if failed++; failed > f.B.tries { // of all jobs that are awaited there, one counts
				es.lookups.outbox.failed(f.B, err)
			}
			es.setUnknown(f.B, []*Attempt{f})
		case err == nil && len(obs) > 0:
			f.B.tries, failed = 0, 0
			switch obs[0].Presence {
			case offer.Absent:
				if !es.inFlight(f) {
					return
				}
				if why := es.lookups.elsewhere(f, &obs[0]); why != "" {
					es.lookups.strand(f, why)
					return
				}
				es.Hear(Gone{Attempt: f})
			case offer.Found:
				es.lookups.observe(f.B.Contact, &obs[0])
			}
		}
		if es.inFlight(f) {
			es.Later(max(connection.Backoff(failed), min(connection.Backoff(tries+1), 2*time.Second)), func() { es.awaitEnd(f, tries+1, failed) })
		}
	})
}
