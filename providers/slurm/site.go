// Package slurm is the Slurm scheduler for package batch. It describes a Slurm
// site to the planner: its partitions, from its profile and from the cluster now;
// whether, when and at what price jobs would run on them; and why they would not.
// It parses a job's `options "slurm"` and writes the batch script for sbatch,
// which is meant for people to read. Package cluster runs Slurm's commands.
package slurm

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A Site is the cluster of one backend.
type Site struct {
	providers.Backend
	Config  settings
	Profile *Profile          // nil = the backend block names none
	Cluster *cluster.Commands // nil = it cannot be asked
	facts   *facts.Cache[cluster.Facts]
	account *facts.Account
}

// settings are the backend block.
type settings struct {
	scheduler.Block
	Partitions []string `json:"partitions"`
	Exclude    []string `json:"exclude_partitions"`
	QoS        string   `json:"qos"`
}

// New is the site of a backend, which has yet to be asked.
func New(b providers.Backend) (*Site, error) {
	s := &Site{Backend: b, facts: &facts.Cache[cluster.Facts]{}}
	err := scheduler.ReadBlock(b, &s.Config)
	if err != nil {
		return nil, err
	}
	s.Profile, err = Profiles.Named(b)
	var balance []string
	if s.Profile != nil {
		balance = s.Profile.Balance
	}
	s.account = s.Config.Funds(balance)
	return s, err
}
