package cluster

import (
	"context"
	"regexp"
	"time"
)

// WouldTake reports whether sbatch, asked with --test-only, would take a
// submission with these arguments: it holds arrays against the same limits.
func (c *Commands) WouldTake(ctx context.Context, args ...string) bool {
	_, err := c.told(ctx, askTimeout, append([]string{"sbatch", "--test-only"}, args...)...)
	return err == nil
}

// startsAt is what sbatch --test-only says, on stderr. It obeys
// SLURM_TIME_FORMAT; what follows differs: 25.11 has "a using 1 processors".
var startsAt = regexp.MustCompile(`to start at (\S+)`)

// WouldStart is when a job with these arguments of sbatch would start that were
// submitted now, as the scheduler has it; the zero time if it does not say. The
// error is of class invalid, for arguments that sbatch itself cannot read:
// whatever else it refuses may be taken when the cluster is less busy.
func (c *Commands) WouldStart(ctx context.Context, args ...string) (time.Time, error) {
	r, err := c.ask(ctx, askTimeout, append([]string{"sbatch", "--test-only"}, args...)...)
	switch {
	case err == nil && r.Code == misread && len(r.Err) > 0:
		return time.Time{}, refusal("sbatch", r)
	case err != nil || r.Code != 0:
		return time.Time{}, nil
	}
	return startTime(r.Err), nil
}

func startTime(said []byte) time.Time {
	m := startsAt.FindSubmatch(said)
	if m == nil {
		return time.Time{}
	}
	return epoch(string(m[1]))
}
