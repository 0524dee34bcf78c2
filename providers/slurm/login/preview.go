package login

import (
	"encoding/json"
	"path/filepath"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
	"github.com/muster-run/muster/providers/slurm/site"
)

// Preview is the script that like jobs of a backend would be submitted with,
// but for what is only known then: ids, and the paths of the spool. await says
// that what they come after may come back under a new id.
func Preview(b providers.Backend, like *providers.Job, count int, await bool) (string, error) {
	var c site.Settings
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return "", err
		}
	}
	o, err := script.ParseOptions(like.Options)
	if err != nil {
		return "", err
	}
	spool := filepath.Join(like.Workdir, ".muster", "slurm", "CAMPAIGN")
	name := nameOf(like.Phase, "TOKEN", 0)
	r := script.Request{Name: name, Pool: like.Pool, Cap: like.Cap, Array: count > 1, Dir: filepath.Join(spool, "batches", name), Job: like, Count: count, Campaign: b.Campaign,
		Account: c.Account, QoS: o.QoS, Depend: like.After, Await: await, Spool: spool, Agent: []string{filepath.Join(like.Workdir, ".muster", "bin", "muster"), "provider", "node"}, Gres: cluster.Gres(nil, o.Spread(like.Shape))}
	for i := range count {
		r.Indexes = append(r.Indexes, i)
	}
	if r.QoS == "" {
		r.QoS = c.QoS
	}
	return r.Text()
}
