package verify

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers"
)

// A Bound is the time and bytes for the verification of one output.
type Bound struct {
	Time  time.Duration // from the first look to the verdict
	Bytes int64         // read and unpacked, each check counted
}

// Where an output names no bound, it follows from the walltime of its job.
const (
	leastTime   = 10 * time.Minute
	defaultTime = time.Hour // of a job without a walltime
	// fastest is a rate that no sha256 on one core reaches: a file with more bytes than that
	// rate gives in its time cannot be verified.
	fastest = 2 << 30 // bytes a second
)

// boundOf is the bound of an output: as declared, else by the walltime of its
// job, 0 if it has none.
func boundOf(o providers.Output, walltime time.Duration) Bound {
	b := Bound{Time: o.VerifyTimeout, Bytes: o.VerifyMaxSize}
	if b.Time <= 0 {
		if b.Time = defaultTime; walltime > 0 {
			b.Time = max(walltime, leastTime)
		}
	}
	if b.Bytes <= 0 {
		b.Bytes = int64(max(b.Time, time.Second)/time.Second) * fastest
	}
	return b
}

// unfinished is the error of a verification that was ended at its bound.
type unfinished struct{ why string }

func (u unfinished) Error() string { return u.why }

func (b Bound) tooLarge(what string, size int64) error {
	return unfinished{fmt.Sprintf("%s is %s, and at most %s are verified (verify_max_size)", what, sizeText(size), sizeText(b.Bytes))}
}

func (b Bound) tooMuch() error {
	return unfinished{fmt.Sprintf("more than %s would have to be read and unpacked (verify_max_size)", sizeText(b.Bytes))}
}

// tooLong is also the verdict of a caller that had to end the verifying process.
func (b Bound) tooLong() error {
	return unfinished{fmt.Sprintf("it was not verified within %s (verify_timeout)", b.Time)}
}

// sizeText is a size as it would be written, rounded down to a whole unit.
func sizeText(n int64) string {
	unit := 0
	for units := len(sizeUnits); n >= 10<<10 && unit+1 < units || n >= 1<<10 && n%(1<<10) == 0 && unit+1 < units; unit++ {
		n >>= 10
	}
	return strconv.FormatInt(n, 10) + sizeUnits[unit]
}

var sizeUnits = []string{"B", "KiB", "MiB", "GiB", "TiB"}

// A meter counts the bytes that one verification has read and unpacked.
type meter struct {
	bound Bound
	used  int64
}

type meterKey struct{}

// within bounds a verification: its time by ctx's deadline, its bytes by the count of its
// readers.
func within(ctx context.Context, b Bound) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithTimeoutCause(ctx, b.Time, b.tooLong())
	return context.WithValue(ctx, meterKey{}, &meter{bound: b}), stop
}

func boundIn(ctx context.Context) (Bound, bool) {
	m, ok := ctx.Value(meterKey{}).(*meter)
	if !ok {
		return Bound{}, false
	}
	return m.bound, true
}

// fits fails for a file that is too large to begin with.
func fits(ctx context.Context, what string, size int64) error {
	if b, ok := boundIn(ctx); ok && size > b.Bytes {
		return b.tooLarge(what, size)
	}
	return nil
}

// count counts n bytes. It fails when a bound is passed.
func count(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m, ok := ctx.Value(meterKey{}).(*meter)
	if !ok {
		return nil
	}
	if m.used += int64(n); m.used > m.bound.Bytes {
		return m.bound.tooMuch()
	}
	return nil
}

// isUnfinished reports whether err means an unfinished verification.
func isUnfinished(err error) bool {
	var u unfinished
	return errors.As(err, &u) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
