package batch

import (
	"context"
	"slices"
	"time"
)

// submissionsPerMinute is how many scripts a campaign may submit in a minute by
// default. It stops a program that submits again and again by mistake.
const submissionsPerMinute = 120

// A pace limits submissions per minute.
type pace struct{ sent []time.Time } // in the last minute

// wait waits until another submission is allowed, and counts it. limit <= 0 is the
// default.
func (p *pace) wait(ctx context.Context, limit int) error {
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
