package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Failure is an end as the breaker counts it.
type Failure struct {
	End
	failure.Verdict
	Again     bool // the job is started again as it was
	Elsewhere bool // it is started again as another Slurm job
}

// count is Count of this start.
func (s *start) count(e End, v failure.Verdict, again bool) (why string) {
	return s.spool.Count(s.job, Failure{e, v, again, s.elsewhere})
}

// Count is the breaker with muster off, by the same rule as the engine's:
// nothing more of a phase starts when so many of its jobs have failed for good
// with the same error, with none that did well between them; when two crash for
// want of the program itself and none has done well; or when a share of those
// that finished has failed for one cause. A failure after which the job starts
// again as it was counts for that job alone, which may do better next time;
// when all it does is fail alike, the phase stops, too. What runs at the same
// time counts in the order of its end. It returns why the phase stops, "" if it
// does not.
func (s Spool) Count(j *providers.Job, f Failure) (why string) {
	policy, t, e, v := j.Breaker, s.tally(j.Phase), f.End, f.Verdict
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
		why = "everything crashes alike: " + said(v)
	}
	return s.stop(j, cmp.Or(why, t.share(v.Class, policy)))
}

// stop keeps more of a job's phase from starting, if there is a reason.
func (s Spool) stop(j *providers.Job, why string) string {
	if why != "" {
		writeWhole(s.path("stop."+j.Phase), []byte(why+"\n"))
	}
	return why
}

// inRow says that an error has come up so many times in a row that it is
// enough, "" if it is not; 0 as the most is off.
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

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
