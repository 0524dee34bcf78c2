package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// count is the breaker with muster off: when the same error has ended so many
// starts of a phase, with none that did well between them, nothing more of the
// phase starts. What runs at the same time counts in the order of its end.
func (s *start) count(e End, v failure.Verdict) (stopped bool) {
	limit := s.job.Breaker.SameError
	dir := s.spool.path("errors", s.job.Phase)
	switch {
	case limit <= 0 || s.job.Smoke:
		return false
	case e.Completed():
		os.RemoveAll(dir)
		return false
	case e.Seen.Status != offer.Failed || v.Signature == "":
		return false
	}
	sum := sha256.Sum256([]byte(v.Signature))
	same := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	if old, err := os.ReadDir(dir); err == nil {
		for _, other := range old {
			if p := filepath.Join(dir, other.Name()); p != same {
				os.RemoveAll(p)
			}
		}
	}
	if os.MkdirAll(same, 0o700) != nil {
		return false
	}
	os.WriteFile(filepath.Join(same, RecordName(e.Token, e.Begin.Restart)), nil, 0o600)
	seen, err := os.ReadDir(same)
	if err != nil || len(seen) < limit {
		return false
	}
	line := v.Line
	if line == "" {
		line = v.Signature
	}
	writeWhole(s.spool.path("stop."+s.job.Phase), fmt.Appendf(nil, "the same error %d times in a row: %s\n", len(seen), line))
	return true
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}
