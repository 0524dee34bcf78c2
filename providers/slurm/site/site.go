// Package site is what a Slurm site offers a backend: its partitions, as its
// profile has them and the cluster says now, whether and when jobs would run on
// them, at what price, and what would keep them from running at all.
package site

import (
	"encoding/json"
	"os"
	"os/user"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/profiles"
)

// A Site is the cluster of one backend.
type Site struct {
	providers.Backend
	Config  Settings
	Profile *profiles.Profile // nil = the backend block names none
	Cluster *cluster.Commands // nil = it cannot be asked
	facts   *cachedFacts
}

// Settings are the backend block.
type Settings struct {
	Account    string   `json:"account"`
	Partitions []string `json:"partitions"`
	Exclude    []string `json:"exclude_partitions"`
	QoS        string   `json:"qos"`
	InstallDir string   `json:"install_dir"`
	Rate       int      `json:"submissions_per_minute"`
}

// New is the site of a backend, which has yet to be asked.
func New(b providers.Backend) (*Site, error) {
	s := &Site{Backend: b, facts: &cachedFacts{}}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &s.Config); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
		}
	}
	var err error
	s.Profile, err = profiles.Of(b)
	return s, err
}

// Is has a site be asked as another one is, which is of the same cluster, and
// know what that knows.
func (b *Site) Is(other *Site) { b.Cluster, b.facts = other.Cluster, other.facts }

// User is who submits jobs, by name.
func User() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
