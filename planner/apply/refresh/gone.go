package refresh

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers/offer"
)

// goneFile keeps when a token was first not listed by a backend that
// answered: a job counts as lost only after a second reading, and the two may
// be of different commands.
const goneFile = "gone.json"

// goneSince merges this reading of jobs with the ones before: when each that is
// gone was first not listed.
func (f *facts) goneSince(jobs map[string]offer.Observation) map[string]time.Time {
	before := map[string]time.Time{}
	path := ""
	if f.Cache != "" {
		path = filepath.Join(f.Cache, goneFile)
		if b, err := os.ReadFile(path); err == nil {
			_ = json.Unmarshal(b, &before) // broken: this is the first reading
		}
	}
	now := map[string]time.Time{}
	for token, v := range jobs {
		if v.Presence != offer.Absent {
			continue
		}
		since, ok := before[token]
		if !ok || since.After(f.Now) {
			since = f.Now
		}
		now[token] = since
	}
	if path == "" || len(now) == 0 && len(before) == 0 {
		return now
	}
	if len(now) == 0 {
		os.Remove(path)
		return now
	}
	b, err := json.Marshal(now)
	if err != nil || os.MkdirAll(f.Cache, 0o777) != nil {
		return now
	}
	_ = atomicfile.WriteCache(path, b) // without it the next reading is the first
	return now
}
