package rehearse

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// PlayAll rehearses the plan n times, as many at once as there are processors,
// and counts in done those that have ended. Each is the same whatever is played
// beside it. The first error ends them all.
func (s *Stage) PlayAll(ctx context.Context, n int, done *atomic.Int64) ([]Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	runs := make([]Result, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || ctx.Err() != nil {
					return
				}
				run, err := s.Play(ctx, i)
				if err != nil {
					cancel(err)
					return
				}
				runs[i] = run
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return runs, nil
}
