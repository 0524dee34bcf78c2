package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Failure is an end as the breaker counts it.
type Failure struct {
	End
	failure.Verdict
	Again     bool // the job is started again as it was
	Elsewhere bool // it is started again as another job of the scheduler
}

// Count applies the breaker while muster is off, by the engine's rule. A phase stops when as
// many of its jobs as its policy says fail for good with the same error and none completes
// between them; when two crash because the program itself is missing or broken and none has
// completed; or when a share of the finished jobs failed for one cause. A failure after which
// the job starts again unchanged counts for that job alone; the phase also stops when the job
// keeps failing alike. Jobs that run at the same time count in the order of their ends. Count
// returns why the phase stops, "" if it does not.
func (s Spool) Count(j *providers.Job, f Failure) (why string) {
	policy, t, e, v := j.Breaker, s.tally(j.StoppedAs()), f.End, f.Verdict
	switch {
	case policy.SameError <= 0 && policy.Share <= 0 || j.Smoke:
		return ""
	case e.Completed():
		t.well(e)
		return s.stop(j, t.atTheLast(policy))
	case v.Class == "" || !failure.Counts(v.Class) || v.Signature == "" || e.Seen.Status == offer.Cancelled:
		return ""
	case f.Elsewhere, f.Again && (e.Growth != nil || !failure.Repeats(v.Class)):
		return "" // the next start is not the same again
	case f.Again:
		return s.stop(j, inRow(t.again(j, e, v), policy.SameError, v))
	}
	t.failed(e, v)
	if !failure.Repeats(v.Class) {
		return s.stop(j, t.share(v.Class, policy))
	}
	n := t.row(e, v)
	why = inRow(n, policy.SameError, v)
	if why == "" && policy.SameError > 0 && n >= failure.CrashAlike && failure.Deterministic(v.Class, e.Seen.Exit) && !t.anyWell() {
		why = "all jobs crash with the same error: " + said(v)
	}
	return s.stop(j, cmp.Or(why, t.share(v.Class, policy)))
}

// stop keeps the other jobs of a breaker from starting, if there is a reason.
func (s Spool) stop(j *providers.Job, why string) string {
	if why != "" {
		atomicfile.Write(s.path(StopFile(j.StoppedAs())), []byte(why+"\n"), 0o600)
	}
	return why
}

// inRow says that an error has come up often enough in a row, "" if it has not; 0 as the most
// turns the rule off.
func inRow(n, most int, v failure.Verdict) string {
	if most <= 0 || n < most {
		return ""
	}
	return fmt.Sprintf("the same error %d times in a row: %s", n, said(v))
}

// said is the error that a verdict is about: a job may say nothing.
func said(v failure.Verdict) string { return cmp.Or(v.Line, v.Signature) }

// digest names a text in a path.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
