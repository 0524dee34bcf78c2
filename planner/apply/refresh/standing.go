package refresh

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// localType is the type of backends on this machine, whose files need no
// provider to be looked at.
const localType = "local"

// Untouched reports whether every output that a state records is a file of
// this machine, and as recorded. It looks at them on all cores.
func Untouched(ctx context.Context, st *state.State) bool {
	outputs := make([]*state.Output, 0, 1024)
	for _, j := range st.All() {
		for i := range j.Outputs {
			o := &j.Outputs[i]
			if len(outputs) == 0 || o.Backend != outputs[len(outputs)-1].Backend {
				if st.Backends[o.Backend].Type != localType {
					return false
				}
			}
			outputs = append(outputs, o)
		}
	}
	var touched atomic.Bool
	var wg sync.WaitGroup
	for part := range slices.Chunk(outputs, len(outputs)/runtime.GOMAXPROCS(0)+1) {
		wg.Go(func() {
			var l looker
			defer l.close()
			for _, o := range part {
				if touched.Load() || ctx.Err() != nil {
					return
				}
				if !l.unchanged(o.Workdir, o) {
					touched.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return !touched.Load() && ctx.Err() == nil
}

// Standing is Observe for a campaign whose jobs are all done, on this machine,
// and whose files were looked at: then no backend has to be asked, nor
// started. It says false where others might have to be.
func Standing(ctx context.Context, in Input) (Result, bool) {
	o := &observer{Input: in, idle: map[string]bool{}, groups: questions.Groups(in.Campaign)}
	o.out = Result{Can: map[string]offer.Capabilities{}, Versions: map[string]string{}, Observed: planner.Observed{
		Refreshed: in.Refresh, Sources: map[string]planner.SourceDigest{}, Secrets: map[string]string{},
	}}
	if o.Secrets == nil {
		o.Secrets = site.Secret
	}
	for _, p := range in.Campaign.Phases {
		o.idle[p.Name] = true // or its jobs are not done, and what is said here is not used
	}
	o.Refresh = false // of jobs in flight there are none, and files were looked at
	for _, a := range o.asks() {
		if a.conf.Type != localType {
			return Result{}, false
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { o.sources(ctx) })
	wg.Go(o.secrets)
	wg.Wait()
	o.sort()
	return o.out, ctx.Err() == nil
}
