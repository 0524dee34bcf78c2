package fleet

import (
	"time"

	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Cancel has every flight ended that has an end, once.
func (fl *Fleet) Cancel() {
	by := map[*Backend][]*Flight{}
	for _, f := range fl.flights {
		if f.End != Stays && !f.told {
			f.told = true
			by[f.B] = append(by[f.B], f)
		}
	}
	for b, fs := range by {
		fl.cancel(b, fs)
	}
}

// Ending counts flights that are being cancelled.
func (fl *Fleet) Ending() (n int) {
	for _, f := range fl.flights {
		if f.End != Stays {
			n++
		}
	}
	return n
}

// cancel ends flights: their backend fetches the log's tail, then asks
// politely, then ends them. What became of each is looked up afterwards.
func (fl *Fleet) cancel(b *Backend, fs []*Flight) {
	for _, f := range fs {
		fl.Hear(Cancelling{f})
	}
	asked := tokens(fs)
	var err error
	b.Call(func() {
		if b.Provider == nil {
			err = providers.Errorf(providers.Unreachable, "backend.%s is not configured", b.Name)
			return
		}
		_, err = b.Provider.Cancel(fl.Ctx, providers.CancelRequest{Backend: b.Name, Fence: fl.Fence, Holder: fl.Holder, Tokens: asked})
	}, func() { fl.cancelAnswered(b, fs, err) })
}

func (fl *Fleet) cancelAnswered(b *Backend, fs []*Flight, err error) {
	if err != nil {
		switch line.ClassOf(err) {
		case "":
			return
		case providers.StaleFence:
			fl.Hear(Overtaken{b, err})
			return
		}
		fl.Unreachable(b, err)
		b.tries++
		fl.Later(line.Backoff(b.tries), func() { fl.cancel(b, fs) })
		return
	}
	b.tries = 0
	for _, f := range fs {
		fl.awaitEnd(f, 0)
	}
}

// awaitEnd looks for the end of a cancelled job until it is told; a watch is
// usually faster.
func (fl *Fleet) awaitEnd(f *Flight, tries int) {
	if !fl.flying(f) {
		return
	}
	var obs []offer.Observation
	var err error
	f.B.Call(func() { obs, err = f.B.Find(fl.Ctx, []string{f.Token}) }, func() {
		if err == nil && len(obs) > 0 {
			switch obs[0].Presence {
			case offer.Absent:
				if fl.flying(f) {
					fl.Hear(Gone{Flight: f})
				}
			case offer.Found:
				fl.observe(f.B.Contact, &obs[0])
			}
		}
		if fl.flying(f) {
			fl.Later(min(line.Backoff(tries+1), 2*time.Second), func() { fl.awaitEnd(f, tries+1) })
		}
	})
}
