// Package slurm is the Slurm scheduler for package batch. It describes a Slurm
// site to the planner: its partitions, from its profile and from the cluster now;
// whether, when and at what price jobs would run on them; and why they would not.
// It parses a job's `options "slurm"` and writes the batch script for sbatch,
// which is meant to be read by people. Package cluster runs Slurm's commands.
package slurm

import (
	"encoding/json"
	"os"
	"os/user"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/profiles"
)

// A Site is the cluster of one backend.
type Site struct {
	providers.Backend
	Config  settings
	Profile *profiles.Profile // nil = the backend block names none
	Cluster *cluster.Commands // nil = it cannot be asked
	facts   *cachedFacts
	account *facts.Account
}

// settings are the backend block.
type settings struct {
	Account    string      `json:"account"`
	Partitions []string    `json:"partitions"`
	Exclude    []string    `json:"exclude_partitions"`
	QoS        string      `json:"qos"`
	Pack       string      `json:"pack"`
	InstallDir string      `json:"install_dir"`
	Scratch    string      `json:"scratch"`
	Balance    json.Number `json:"balance"`
	Rate       int         `json:"submissions_per_minute"`
	// Commands are the site's own programs, by the command that each replaces.
	Commands map[string]string `json:"commands"`
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
	s.account = &facts.Account{Name: s.Config.Account, Stated: s.Config.Balance.String()}
	if s.Profile != nil {
		s.account.Command = s.Profile.Balance
	}
	return s, err
}

// userName is who submits jobs, by name.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
