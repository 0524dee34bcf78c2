package agent

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol"
)

// A host's clock may be days off, and may be set while an agent is open, but its times are
// read beside this machine's. So the agent's first line has the time on its clock, and all
// later times are those of a clock that runs on from there; the client subtracts how far that
// clock is ahead of its own.

// nearlyRight is by how much a clock may seem off and still be taken for
// right: the line may have been that long on the way.
const nearlyRight = 2 * time.Second

// A Client speaks to an agent, in times of this machine's clock.
type Client struct {
	*protocol.StreamClient
	// Ahead is how far the host's clock is ahead of this machine's, negative
	// if it is behind; 0 for one that is right within seconds.
	Ahead time.Duration
	// Account names an account on a machine, in this boot.
	Account string
}

// aheadOf is how far a clock that showed `there` just now is ahead.
func aheadOf(there, now time.Time) time.Duration {
	d := there.Round(0).Sub(now.Round(0))
	if d.Abs() < nearlyRight {
		return 0
	}
	return d
}

// firstLine is an agent's, with the time of its clock in ns since 1970, and its place.
func firstLine(now time.Time, place string) string {
	return Magic + " " + strconv.FormatInt(now.UnixNano(), 10) + " " + place
}

// readFirstLine reads it.
func readFirstLine(text string) (clock time.Time, place string, ok bool) {
	rest, found := strings.CutPrefix(text, Magic+" ")
	ns, place, two := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(ns, 10, 64)
	return time.Unix(0, n), place, found && two && err == nil
}

// Watch is the agent's, in times of this machine's clock.
func (c *Client) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return c.StreamClient.Watch(ctx, r, func(b providers.Batch) error {
		turn(b.Events, -c.Ahead)
		return fn(b)
	})
}

// Find is the agent's, in times of this machine's clock.
func (c *Client) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	out, err := c.StreamClient.Find(ctx, name, tokens)
	turn(out, -c.Ahead)
	return out, err
}

// List is the agent's, with times of files by this machine's clock. Times of verified outputs
// identify a file, and are not changed.
func (c *Client) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	out, err := c.StreamClient.List(ctx, name, patterns)
	for i := range out {
		out[i].MTime -= int64(c.Ahead)
	}
	return out, err
}

// turn moves the times of observations.
func turn(obs []offer.Observation, by time.Duration) {
	if by == 0 {
		return
	}
	for i := range obs {
		for _, t := range []*time.Time{&obs[i].Started, &obs[i].Ended, &obs[i].Expected} {
			if !t.IsZero() {
				*t = t.Add(by)
			}
		}
		turn(obs[i].Earlier, by)
	}
}

// A steadyClock gives a host's times as a clock that runs on from the agent's first line, whatever
// the host's clock was set to since.
type steadyClock struct {
	providers.Provider
	at time.Time     // the wall clock's
	up time.Duration // time since boot
}

func newSteadyClock(p providers.Provider) *steadyClock {
	return &steadyClock{Provider: p, at: time.Now().Round(0), up: monotonic.Uptime()}
}

// set is by how much the clock was set on since.
func (s *steadyClock) set(now time.Time, up time.Duration) time.Duration {
	return aheadOf(now, s.at.Add(up-s.up))
}

func (s *steadyClock) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return s.Provider.Watch(ctx, r, func(b providers.Batch) error {
		turn(b.Events, -s.set(time.Now(), monotonic.Uptime()))
		return fn(b)
	})
}

func (s *steadyClock) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	out, err := s.Provider.Find(ctx, name, tokens)
	turn(out, -s.set(time.Now(), monotonic.Uptime()))
	return out, err
}

func (s *steadyClock) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	out, err := s.Provider.List(ctx, name, patterns)
	by := s.set(time.Now(), monotonic.Uptime())
	for i := range out {
		out[i].MTime -= int64(by)
	}
	return out, err
}

// Clean is the provider's, where it has one.
func (s *steadyClock) Clean(ctx context.Context, name string) ([]string, error) {
	if c, ok := s.Provider.(providers.Cleaner); ok {
		return c.Clean(ctx, name)
	}
	return nil, nil
}
