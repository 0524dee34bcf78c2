package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Type is one kind of batch scheduler.
type Type interface {
	// Name is the type of its backends, "slurm", and the name of their folder of
	// spools below .muster.
	Name() string
	// Schema describes a backend block and a job's options, without the ssh block.
	Schema() offer.Schema
	// Node is the scheduler on compute nodes.
	Node() Node
	// Terms are the requests of jobs to the queue, by a backend block and their
	// options.
	Terms(config, options json.RawMessage) offer.Terms
	// Open opens the cluster of a backend without asking it. It fails if the
	// backend's block or its profile is wrong.
	Open(o Opening) (Site, error)
}

// An Opening says how a cluster is opened.
type Opening struct {
	providers.Backend
	// Environ is the environment of the scheduler's commands, and with it of every
	// job; nil = that of this process.
	Environ func() []string
	// Before is the same cluster under an earlier configuration, with its cached
	// answers; nil if there is none.
	Before Site
}

// Profiled is a Site that knows its cluster by a profile, also while the cluster
// cannot be reached.
type Profiled interface {
	// Known are its pools, with the reason why the cluster was not asked; nil = it
	// has no profile.
	Known(why string) []offer.Pool
	// KnownQuotes are quotes by the profile alone; nil = it has none.
	KnownQuotes(shapes []offer.Shape) ([]offer.Quote, error)
}

// A Site is the cluster of one backend: its partitions or queues, whether and when
// jobs would run on them, and the scripts for them.
type Site interface {
	Scheduler() Scheduler
	Settings() Settings
	Pools(ctx context.Context) ([]offer.Pool, error)
	Quote(ctx context.Context, shapes []offer.Shape) ([]offer.Quote, error)
	// Preflight checks that the scheduler answers, and takes the names in the
	// backend block and in the jobs' options. Package batch checks files.
	Preflight(ctx context.Context, checks []providers.Check) ([]providers.Finding, error)
	// Check refuses a job whose options cannot be submitted.
	Check(j *providers.Job) *providers.Error
	// Recall takes a plan's facts about a pool for the cluster's answer: a site
	// that cannot be asked then writes the same script.
	Recall(p offer.Pool)
	// Script is the text of a script.
	Script(r Request) (string, error)
	// LongestArray is how many elements one array may have.
	LongestArray() int
	// Bounds are the known maxima of a pool for jobs like one.
	Bounds(pool string, like *providers.Job) Bounds
	// Limits are the limits on submitted jobs that apply to jobs like one.
	Limits(ctx context.Context, pool string, like *providers.Job) ([]Limit, error)
	// Refused explains why the scheduler takes no more jobs like one, with the
	// limits that it may mean.
	Refused(pool string, like *providers.Job, why *providers.Error) string
	// Processors are those of a pool's nodes, by Go's names; nil = unknown.
	Processors(pool string) []string
}

// Settings are the part of a backend block that package batch uses.
type Settings struct {
	InstallDir string // of the nodes' program; "" = .muster/bin in the workdir
	Rate       int    // submissions in a minute; 0 = the default
	Keep       string // folder of the site's own records of the cluster; "" = none
}

// Away is the finding of a preflight that could not ask the cluster.
func Away(why string) providers.Finding {
	return providers.Finding{Check: -1, Pauses: true, Summary: "The cluster cannot be asked", Detail: why}
}

// A Request is the contents of a script: for like jobs that are submitted as one
// array, or for one job.
type Request struct {
	Name     string // the scheduler's job name
	Pool     string
	Array    bool
	Indexes  []int          // of the array
	Cap      int            // most of it that may run at once; 0 = all
	Pack     []int          // elements of the batch that run beside one another in the job; nil = it runs one
	Dir      string         // the batch's folder on the spool
	Job      *providers.Job // one of the like jobs; of a pack as large as all of it
	Count    int
	Campaign string
	Depend   []Dependency
	Await    bool // the job before it may come back under a new id
	Spool    string
	Agent    []string            // the command that runs one element on the node
	Others   map[string][]string // on nodes of another processor, by its name
}

// Packs reports whether jobs that need a part of a node share one: as a backend
// block says, or else the profile of its pool.
func Packs(p offer.Pool, block string) bool {
	switch block {
	case "auto":
		return p.WholeNode
	case "never":
		return false
	}
	return p.Pack
}

// A Limit is a maximum of a user's submitted jobs: queued and running ones, each
// element of an array.
type Limit struct {
	Who  string // "qos testing", "account ucb123"
	Most int    // jobs, at least 1
	// Which jobs count: those of an account, a qos and a pool; "" = of any.
	Account, QoS, Pool string
}

// Has reports whether a job counts.
func (l Limit) Has(r Entry) bool {
	return (l.Account == "" || r.Account == l.Account) && (l.QoS == "" || r.QoS == l.QoS) && (l.Pool == "" || r.Pool == l.Pool)
}

// Bounds are a start's facts about its pool: its maxima for one job, its billing, its nodes'
// disk; 0 = unknown.
type Bounds struct {
	Memory   int64         `json:"memory,omitempty"`   // bytes of one node
	Walltime time.Duration `json:"walltime,omitempty"` // nanoseconds
	Billing  int           `json:"billing,omitempty"`  // billing TRES of one job
	// Requeue are the exit statuses after which the site requeues or holds a
	// job. slurm.conf(5), RequeueExit and RequeueExitHold.
	Requeue []int `json:"requeue,omitempty"`
	// Scratch is the folder on the nodes' own disks; it may name variables of a node.
	Scratch string `json:"scratch,omitempty"`
}
