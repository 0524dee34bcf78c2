// Package slurm is for clusters run by Slurm, on their login node or over
// ssh. Package login does the work, where Slurm's commands are; over ssh it
// stands there behind muster's door, as for any host.
package slurm

import (
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/profiles"
	"github.com/muster-run/muster/providers/slurm/site"
	"github.com/muster-run/muster/providers/ssh"
)

// Schema says what `backend "slurm"` and `options "slurm"` may hold.
func Schema() offer.Schema {
	s := site.Schema()
	s.Config.Blocks = []offer.NestedBlock{{
		Name: "ssh", Doc: "How the login node is reached; without it, Slurm's commands are run on this machine.",
		Block: offer.Block{Attrs: ssh.Connection()},
	}}
	return s
}

// Load reads a shipped profile by name; its pools bear the backend's address.
func Load(name, backend string) (profiles.Profile, error) { return profiles.Load(name, backend) }
