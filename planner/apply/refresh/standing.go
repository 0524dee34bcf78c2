package refresh

import (
	"context"
	"sync"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/questions"
	"github.com/muster-run/muster/providers/offer"
)

// Standing is Observe for a campaign whose jobs are all done, on this machine,
// and whose files are as recorded: then no backend has to be asked, nor
// started. It says false where that does not hold, or cannot be told without
// asking.
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
	asks := o.asks()
	for _, a := range asks {
		if a.conf.Type != "local" || len(a.tokens)+len(a.imports) > 0 {
			return Result{}, false
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { o.sources(ctx) })
	wg.Go(o.secrets)
	stands := true
	for _, a := range asks {
		far, differ := a.nearby(false)
		stands = stands && len(far)+len(differ) == 0
	}
	wg.Wait()
	o.sort()
	return o.out, stands && ctx.Err() == nil
}
