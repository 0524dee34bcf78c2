package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
)

// Takes reports whether sbatch, asked with --test-only, would take these
// elements of a script's array: it holds arrays against the same limits.
func (c *Commands) Takes(ctx context.Context, script string, indexes []int) bool {
	_, err := c.told(ctx, askTimeout, "sbatch", "--test-only", "--array="+FormatIndexes(indexes), script)
	return err == nil
}

// startsAt matches the output of sbatch --test-only, on stderr. It obeys
// SLURM_TIME_FORMAT; the rest of the line differs: 25.11 has "a using 1
// processors".
var startsAt = lazyregexp.New(`to start at (\S+)`)

// WouldStart is when a job with these arguments of sbatch would start if submitted now; zero =
// the scheduler does not say. The error has class invalid if sbatch cannot read the arguments
// or Slurm would always refuse them. Slurm may take back other refusals when the cluster is
// less busy.
func (c *Commands) WouldStart(ctx context.Context, args ...string) (time.Time, error) {
	r, err := c.ask(ctx, askTimeout, append([]string{"sbatch", "--test-only"}, args...)...)
	switch {
	case err != nil:
		return time.Time{}, nil
	case r.Code == 0:
		return startTime(r.Err), nil
	}
	e := refusal("sbatch", r)
	switch {
	case r.Code == misread && len(r.Err) > 0:
		return time.Time{}, unread{e}
	case e.Class == providers.Invalid && lasting(r):
		return time.Time{}, e
	}
	return time.Time{}, nil
}

// An unread error means that sbatch cannot read its arguments.
type unread struct{ error }

func (u unread) Unwrap() error { return u.error }

// Unread reports whether sbatch refused arguments that it cannot read: then no
// partition takes them.
func Unread(err error) bool { return errors.As(err, new(unread)) }

// passing are refusals of --test-only that sbatch itself need not make: nodes
// and partitions that are closed now, reserved or held by others.
var passing = []string{"requested node configuration", "requested partition configuration", "temporar", "in use", "invalid time", "not usable"}

// lasting reports whether sbatch would refuse a job, too, that --test-only
// refused.
func lasting(r command.Result) bool {
	text := strings.ToLower(string(r.Err) + string(r.Out))
	if slices.ContainsFunc(passing, func(s string) bool { return strings.Contains(text, s) }) {
		return false
	}
	return denied(string(r.Err)) != "" || slices.ContainsFunc(messages, func(m said) bool { return strings.Contains(text, m.text) })
}

func startTime(said []byte) time.Time {
	m := startsAt.FindSubmatch(said)
	if m == nil {
		return time.Time{}
	}
	return epoch(string(m[1]))
}
