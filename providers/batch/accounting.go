package batch

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// A watch that has asked accounting accountFree times leaves it alone for
// accountRest: a query costs its database more than a listing costs the scheduler,
// and a minute's delay loses nothing.
const (
	accountRest = time.Minute
	accountFree = 10
)

// accounting limits how often the scheduler's accounting is queried.
type accounting struct {
	reader  scheduler.Reader
	watched bool          // somebody watches, and asks again
	rest    time.Duration // between two questions of a watch
	n       int           // questions
	at      time.Time     // the last one
}

// mayAsk reports whether accounting may be queried now, and counts the query.
func (a *accounting) mayAsk() bool {
	if a.watched && a.n >= accountFree && time.Since(a.at) < a.rest {
		return false
	}
	a.n, a.at = a.n+1, time.Now()
	return true
}

// histories are the launches of some ids in accounting, by job.
func (a *accounting) histories(ctx context.Context, ids []string) (map[scheduler.ElementID]scheduler.History, error) {
	launches, err := a.reader.Account(ctx, ids)
	if err != nil {
		return nil, err
	}
	return scheduler.Histories(launches), nil
}
