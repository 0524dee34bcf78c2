package queue

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
)

// capLogs keeps the logs of running jobs under their cap until the context ends.
func (as *attempts) capLogs(ctx context.Context) {
	type launch struct {
		spec providers.Job
		n    int
	}
	tick := time.NewTicker(attempt.CapEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		running := make(chan []launch, 1)
		as.post(ctx, func() {
			var list []launch
			for j := range as.live {
				list = append(list, launch{j.spec, j.attempt()})
			}
			running <- list
		})
		select {
		case <-ctx.Done():
			return
		case list := <-running:
			for i := range list {
				attempt.CapLogs(&list[i].spec, list[i].n)
			}
		}
	}
}
