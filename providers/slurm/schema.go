package slurm

import (
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// schema says what `backend "slurm"` and `options "slurm"` may hold, but for
// how the login node is reached.
func schema() offer.Schema {
	return offer.Schema{
		Type:    "slurm",
		Version: "1",
		Config:  backendBlock(),
		Options: options(),
		Can: offer.Capabilities{
			Arrays: true, Dependencies: true, Retries: true, GPUs: true, Transfer: true, Accounting: true, Remote: true, Holds: true, Guard: true, Recalls: true,
		},
		Profiles: Profiles.Sources(),
	}
}

func backendBlock() offer.Block {
	return offer.Block{
		Attrs: append([]offer.Attr{
			{Name: "account", Type: offer.String, Doc: "Account that is charged (sbatch --account); the user's default account if not stated."},
			{Name: "partitions", Type: offer.StringList, Doc: "Partitions to use, in order of preference; by default all of the profile or the site."},
			{Name: "exclude_partitions", Type: offer.StringList, Doc: "Partitions not to use."},
			{Name: "qos", Type: offer.String, Doc: "Quality of service of jobs whose options do not name one (sbatch --qos)."},
		}, scheduler.Attrs("Slurm", "sbatch", "partition")...),
	}
}

// options are sbatch(1)'s by their long names.
func options() offer.Block {
	return offer.Block{Attrs: []offer.Attr{
		{Name: "partition", Type: offer.String, Doc: "The only partition that the job may run on."},
		{Name: "qos", Type: offer.String, Doc: "Quality of service (sbatch --qos)."},
		{Name: "constraint", Type: offer.String, Doc: "Features that the nodes must have (sbatch --constraint)."},
		{Name: "reservation", Type: offer.String, Doc: "Reservation to run in (sbatch --reservation)."},
		scheduler.NodesOption("slurm"),
		{Name: "exclusive", Type: offer.Bool, Default: "false", Doc: "Share the nodes with no other job (sbatch --exclusive)."},
		{Name: "licenses", Type: offer.String, Doc: "Licenses to hold while it runs, as name:count, separated by commas (sbatch --licenses)."},
		{Name: "mail", Type: offer.String, Doc: "Address to which Slurm writes when the job ends or fails (sbatch --mail-user)."},
		{Name: "extra", Type: offer.StringList, Doc: "Further arguments of sbatch, each one element; muster refuses those that it sets itself."},
	}}
}
