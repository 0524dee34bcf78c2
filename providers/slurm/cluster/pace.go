package cluster

import (
	"context"
	"slices"
	"time"
)

// submissionsPerMinute is how many sbatch a campaign may run in a minute
// where the backend block does not say: what starts something else by
// mistake, over and over, is stopped by it.
const submissionsPerMinute = 120

// A Pace keeps submissions to so many a minute.
type Pace struct{ sent []time.Time } // in the last minute

// Wait waits until another submission is allowed, and counts it. A limit that is
// not given is the usual one.
func (p *Pace) Wait(ctx context.Context, limit int) error {
	if limit <= 0 {
		limit = submissionsPerMinute
	}
	for {
		now := time.Now()
		p.sent = slices.DeleteFunc(p.sent, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
		if len(p.sent) < limit {
			p.sent = append(p.sent, now)
			return nil
		}
		select {
		case <-time.After(time.Until(p.sent[0].Add(time.Minute))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
