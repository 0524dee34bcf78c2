package slurm

import (
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/profiles"
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
			Arrays: true, Dependencies: true, Retries: true, GPUs: true, Transfer: true, Accounting: true, Remote: true, Holds: true, Guard: true,
		},
		Profiles: profiles.Sources(),
	}
}

func backendBlock() offer.Block {
	return offer.Block{
		Attrs: []offer.Attr{
			{Name: "account", Type: offer.String, Doc: "Account that is charged (sbatch --account); the user's default account if not stated."},
			{Name: "partitions", Type: offer.StringList, Doc: "Partitions that may be used, in the order of preference; all that the profile or the site names by default."},
			{Name: "exclude_partitions", Type: offer.StringList, Doc: "Partitions that are never used."},
			{Name: "qos", Type: offer.String, Doc: "Quality of service of jobs whose options do not name one (sbatch --qos)."},
			{Name: "commands", Type: offer.StringMap, Doc: "The site's own programs in place of Slurm's, by command, each an absolute path on the login node: `{ sbatch = \"/opt/site/bin/sbatch\" }`. A program must take the arguments of the command, and print what it prints."},
			{Name: "pack", Type: offer.String, OneOf: []string{"auto", "never"}, Doc: "Whether jobs that need a part of a node share one: \"auto\" where the site charges whole nodes, \"never\" nowhere. Each job keeps its own log, retries and verification. By default the profile's, which is \"never\" where it says nothing."},
			{Name: "submissions_per_minute", Type: offer.Number, Default: "120", Doc: "Most sbatch commands in a minute, at least 1; an array counts once. What would start jobs over and over is slowed down by it."},
			{Name: "shared_fs", Type: offer.String, Doc: "Name of the filesystem that holds the workdir: backends that state the same name and workdir see each other's files, and nothing is copied between them."},
			{Name: "scratch", Type: offer.String, Doc: "Folder on a node's own disk for `scratch` of jobs, \"/local/scratch\"; it may name variables there, \"$TMPDIR\". By default the profile's, else the node's folder for temporary files."},
			{Name: "balance", Type: offer.Number, Doc: "Remaining service units of the account, for a site whose profile has no command that reports them. A plan that is likely to need more fails."},
			{Name: "install_dir", Type: offer.String, Doc: "Folder on the cluster for muster's own binary, seen by login and compute nodes; by default .muster/bin in the workdir."},
		},
	}
}

// options are sbatch(1)'s by their long names.
func options() offer.Block {
	return offer.Block{Attrs: []offer.Attr{
		{Name: "partition", Type: offer.String, Doc: "The only partition that the job may run on."},
		{Name: "qos", Type: offer.String, Doc: "Quality of service (sbatch --qos)."},
		{Name: "constraint", Type: offer.String, Doc: "Features that the nodes must have (sbatch --constraint)."},
		{Name: "reservation", Type: offer.String, Doc: "Reservation to run in (sbatch --reservation)."},
		{Name: "nodes", Type: offer.Number, Doc: "Number of nodes, at least 1; by default that of `resources`. More than those count in price, node-hours and budgets as if `resources` had them, and need candidates of type slurm alone."},
		{Name: "exclusive", Type: offer.Bool, Default: "false", Doc: "Share the nodes with no other job (sbatch --exclusive)."},
		{Name: "licenses", Type: offer.String, Doc: "Licenses to hold while it runs, as name:count, separated by commas (sbatch --licenses)."},
		{Name: "mail", Type: offer.String, Doc: "Address to which Slurm writes when the job ends or fails (sbatch --mail-user)."},
		{Name: "extra", Type: offer.StringList, Doc: "Further arguments of sbatch, each one element; those that muster sets itself are refused."},
	}}
}
