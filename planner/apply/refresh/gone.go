package refresh

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// goneFile keeps when a token was first not listed by a backend that
// answered: a job counts as lost only after a second reading, and the two may
// be of different commands.
const goneFile = "gone.json"

// goneSince merges this reading with the ones before.
func (o *observer) goneSince() {
	before := map[string]time.Time{}
	path := ""
	if o.Cache != "" {
		path = filepath.Join(o.Cache, goneFile)
		if b, err := os.ReadFile(path); err == nil {
			_ = json.Unmarshal(b, &before) // broken: this is the first reading
		}
	}
	now := map[string]time.Time{}
	for token, v := range o.out.Observed.Jobs {
		if v.Presence != offer.Absent {
			continue
		}
		since, ok := before[token]
		if !ok || since.After(o.Now) {
			since = o.Now
		}
		now[token] = since
	}
	o.out.Observed.Gone = now
	if path == "" || len(now) == 0 && len(before) == 0 {
		return
	}
	if len(now) == 0 {
		os.Remove(path)
		return
	}
	b, err := json.Marshal(now)
	if err != nil || os.MkdirAll(o.Cache, 0o777) != nil {
		return
	}
	tmp := path + ".new"
	if os.WriteFile(tmp, b, 0o600) == nil {
		_ = os.Rename(tmp, path) // without it the next reading is the first
	}
}
