package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// count is the breaker with muster off, by the same rule as the engine's and
// the host queue's: when so many jobs of a phase have failed for good with the
// same error, with none that did well between them, nothing more of the phase
// starts. A failure after which the job starts again as it was counts for that
// job alone, which may do better next time; when all it does is fail alike,
// the phase stops, too. What runs at the same time counts in the order of its
// end.
func (s *start) count(e End, v failure.Verdict, again bool) (stopped bool) {
	limit := s.job.Breaker.SameError
	dir := s.spool.path("errors", s.job.Phase)
	switch {
	case limit <= 0 || s.job.Smoke:
		return false
	case e.Completed():
		os.RemoveAll(dir)
		return false
	case v.Class == "" || v.Class == failure.Preempted || v.Signature == "" || e.Seen.Status == offer.Cancelled:
		return false
	case s.elsewhere, again && (e.Growth != nil || !failure.Repeats(v.Class)):
		return false // the next start is not the same again
	}
	rows := filepath.Join(dir, "ended")
	if again {
		rows = filepath.Join(dir, "again", digest(cmp.Or(s.job.Address, s.job.Token)))
	}
	n := inRow(rows, digest(v.Signature), RecordName(e.Token, e.Begin.Restart))
	if n < limit {
		return false
	}
	writeWhole(s.spool.path("stop."+s.job.Phase), fmt.Appendf(nil, "the same error %d times in a row: %s\n", n, cmp.Or(v.Line, v.Signature)))
	return true
}

// inRow enters a record under an error, and is how many there are with no
// other error after them; 0 where the spool cannot be written.
func inRow(dir, same, record string) int {
	if old, err := os.ReadDir(dir); err == nil {
		for _, other := range old {
			if other.Name() != same {
				os.RemoveAll(filepath.Join(dir, other.Name()))
			}
		}
	}
	dir = filepath.Join(dir, same)
	if os.MkdirAll(dir, 0o700) != nil {
		return 0
	}
	os.WriteFile(filepath.Join(dir, record), nil, 0o600)
	seen, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	return len(seen)
}

// digest names a text in a path.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
