// Package preview shows a job script before anything is submitted.
package preview

import (
	"encoding/json"
	"path/filepath"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/site"
)

// Script is the script that like jobs of a backend would be submitted with on a
// pool, but for what is only known then: ids, and the paths of the spool. await
// says that what they come after may come back under a new id.
func Script(b providers.Backend, pool offer.Pool, like *providers.Job, count int, await bool) (string, error) {
	var c site.Settings
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return "", err
		}
	}
	r, err := c.Request(like, site.PartitionOf(pool))
	if err != nil {
		return "", err
	}
	r.Spool = filepath.Join(like.Workdir, ".muster", "slurm", "CAMPAIGN")
	r.Name = arrays.Name(like.Phase, "TOKEN", 0)
	r.Pool, r.Cap, r.Array, r.Dir, r.Count, r.Campaign = like.Pool, like.Cap, count > 1, filepath.Join(r.Spool, "batches", r.Name), count, b.Campaign
	r.Depend, r.Await, r.Agent = like.After, await, []string{filepath.Join(like.Workdir, ".muster", "bin", "muster"), "provider", "node"}
	for i := range count {
		r.Indexes = append(r.Indexes, i)
	}
	return r.Text()
}
