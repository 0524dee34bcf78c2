package refresh

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
)

// localType is the type of backends on this machine, whose files need no
// provider to be looked at.
const localType = "local"

// Untouched reports whether every output that a glance shows is a file of this
// machine, and as recorded. It looks at them on all cores.
func Untouched(ctx context.Context, g *glance.Glance) bool {
	var next atomic.Int64
	var touched atomic.Bool
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), g.Parts()) {
		wg.Go(func() {
			l := localLooker{backends: g.State.Backends}
			defer l.close()
			for ctx.Err() == nil && !touched.Load() {
				part := int(next.Add(1)) - 1
				if part >= g.Parts() {
					return
				}
				all := true
				err := g.Outputs(part, func(o *state.Output) bool {
					all = l.asRecorded(o)
					return all
				})
				if err != nil || !all {
					touched.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return !touched.Load() && ctx.Err() == nil
}

// A localLooker looks at files of backends on this machine.
type localLooker struct {
	looker
	backends map[string]state.Backend
	backend  string // of the output before, which was local
}

// asRecorded reports whether an output is a file here, and as recorded.
func (l *localLooker) asRecorded(o *state.Output) bool {
	if o.Backend != l.backend {
		if l.backends[o.Backend].Type != localType {
			return false
		}
		l.backend = o.Backend
	}
	return l.unchanged(o.Workdir, o)
}

// ObserveLocal is Observe for a campaign whose jobs are all done on this machine, or
// stopped, and whose files were looked at: then no backend has to be asked, nor
// started. It says false where others might have to be.
func ObserveLocal(ctx context.Context, in Input) (Result, bool) {
	f := &facts{Input: in, idle: map[string]bool{}, groups: jobGroups(in.Campaign)}
	as := &answers{Result: Result{Can: map[string]offer.Capabilities{}, Versions: map[string]string{}, Observed: planner.Observed{
		Refreshed: in.Refresh, Sources: map[string]planner.SourceDigest{}, Secrets: map[string]string{}, Versions: map[string]map[string]string{},
	}}}
	for _, p := range in.Campaign.Phases {
		if _, has := p.Images(lang.Run); has || len(p.Raw) > 0 {
			return Result{}, false // its backend has the image; a glance lacks the records of files
		}
		f.idle[p.Name] = true // or a job of it starts, and this finding is not used
	}
	f.Refresh = false // of jobs in flight there are none, and files were looked at
	for _, a := range f.asks() {
		if a.conf.Type != localType {
			return Result{}, false
		}
	}
	newSources(f, as).read(ctx)
	as.sort()
	return as.Result, ctx.Err() == nil
}
