package scheduler

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/user"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/offer"
)

// A Block has the common arguments of all schedulers' backend blocks.
type Block struct {
	Account    string      `json:"account"`
	Pack       string      `json:"pack"`
	Allocation json.Number `json:"allocation"` // seconds
	InstallDir string      `json:"install_dir"`
	Scratch    string      `json:"scratch"`
	Balance    json.Number `json:"balance"`
	Rate       int         `json:"submissions_per_minute"`
	// Commands are the site's own programs, by the command that each replaces.
	Commands map[string]string `json:"commands"`
	// MaxWait is the longest wait that a pool is used with while another can take the
	// job, by pool.
	MaxWait map[string]string `json:"max_wait"`
}

// Attrs describes a Block but for the account, which each scheduler words itself.
// Submit is the command that submits: "qsub"; pool is its word for a queue.
func Attrs(scheduler, submit, pool string) []offer.Attr {
	return []offer.Attr{
		{Name: "commands", Type: offer.StringMap, Doc: fmt.Sprintf("The site's own programs in place of %s's, by command, each an absolute path on the login node: `{ %s = \"/opt/site/bin/%[2]s\" }`. Each must accept the command's arguments and print its output.", scheduler, submit)},
		{Name: "pack", Type: offer.String, OneOf: []string{"auto", "never"}, Doc: "Whether jobs that need a part of a node share one: \"auto\" shares where the site charges whole nodes, \"never\" nowhere. Each job keeps its own log, retries and verification. Default: the profile's, else \"never\"."},
		{Name: "allocation", Type: offer.Duration, Doc: "Longest walltime of a scheduler job that runs similar jobs of a phase one after another, so that many short jobs wait in the queue once: \"4h\". With `pack`, it runs several side by side on a node. A job starts only if it can end in time; the others go into the next allocation. Default: each job, or pack, is a scheduler job."},
		{Name: "max_wait", Type: offer.StringMap, Doc: fmt.Sprintf("Longest wait of a %s, by its name: `{ gpu = \"4h\" }`. While jobs are expected to wait longer there, a plan places them elsewhere among their candidates, if they fit elsewhere.", pool)},
		{Name: "submissions_per_minute", Type: offer.Number, Default: "120", Doc: "Most " + submit + " commands in a minute, at least 1; an array counts once. It slows down a chain of jobs that start jobs."},
		{Name: "shared_fs", Type: offer.String, Doc: "Name of the filesystem that holds the workdir: backends that state the same name and workdir see each other's files, and nothing is copied between them."},
		{Name: "scratch", Type: offer.String, Doc: "Folder on a node's own disk for `scratch` of jobs, \"/local/scratch\"; it may name variables there, \"$TMPDIR\". By default the profile's, else the node's folder for temporary files."},
		{Name: "balance", Type: offer.Number, Doc: "Remaining service units of the account, for a site whose profile has no command that reports them. A plan that is likely to need more fails."},
		{Name: "install_dir", Type: offer.String, Doc: "Folder on the cluster for muster's own binary, seen by login and compute nodes; by default .muster/bin in the workdir."},
	}
}

// NodesOption describes the option `nodes` of a job, which all schedulers have.
func NodesOption(backend string) offer.Attr {
	return offer.Attr{Name: "nodes", Type: offer.Number, Doc: "Number of nodes, at least 1; by default that of `resources`. More than those count in price, node-hours and budgets as if `resources` had them, and need candidates of type " + backend + " alone."}
}

// ReadBlock reads a backend block into a scheduler's own settings.
func ReadBlock(b providers.Backend, settings any) error {
	if len(b.Config) == 0 {
		return nil
	}
	if err := json.Unmarshal(b.Config, settings); err != nil {
		return providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
	}
	return nil
}

// Waits are the longest waits of MaxWait as durations.
func (b Block) Waits() (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for pool, text := range b.MaxWait {
		d, err := units.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, providers.Errorf(providers.Invalid, "max_wait of %s: %q is not a duration above zero, such as \"4h\"", pool, text)
		}
		out[pool] = d
	}
	return out, nil
}

// Longest is the longest walltime of an allocation in which jobs take turns; 0 = none
// do.
func (b Block) Longest() (time.Duration, error) {
	if b.Allocation == "" {
		return 0, nil
	}
	seconds, err := b.Allocation.Float64()
	if err != nil || !(seconds > 0) || seconds > float64(math.MaxInt64)/1e9 {
		return 0, providers.Errorf(providers.Invalid, "allocation is not a duration above zero, such as \"4h\"")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// Funds is the account that the block names; command is that of the site's profile
// which prints its balance, nil if there is none.
func (b Block) Funds(command []string) *facts.Account {
	return &facts.Account{Name: b.Account, Stated: b.Balance.String(), Command: command}
}

// User is who submits jobs, by name.
func User() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
