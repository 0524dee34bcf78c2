package slurm

import (
	"embed"
	"time"

	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/offer"
)

// files are the facts about known sites as data: one HCL file for each site, in the
// form that TEMPLATE.hcl explains.
//
//go:embed profiles/*.hcl
var files embed.FS

// A Profile is the facts of a site: its partitions as pools and its qualities of service. Live
// answers of the cluster win over it.
type Profile struct {
	Name     string   // "cu-alpine", or a campaign's own file: "site.hcl"
	Site     string   // "CU Boulder Alpine"
	Verified string   // month: "2026-05"
	Balance  []string // command that prints the balance of an account
	Pools    []offer.Pool
	QoS      []QoS
	// PerBilling are the service units that an hour of one unit of Slurm's
	// billing TRES costs, by partition, where the site charges so.
	PerBilling map[string]string
}

// QoS is a quality of service and its limits; zero is no limit stated.
type QoS struct {
	Name      string
	MaxTime   time.Duration
	MaxSubmit int      // most jobs of one user queued or running
	Only      []string // partitions it is for; empty = all
	Default   bool
	Note      string
}

// Profiles are those that come with muster, and a campaign's own.
var Profiles = facts.Profiles[Profile]{Files: files, Of: "Slurm", Parse: parse}
