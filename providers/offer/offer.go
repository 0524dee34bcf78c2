// Package offer holds the values that describe backends to lang and planner:
// the settings a backend accepts (Schema), its machines (Pool), the resources
// that alike jobs request (Shape), their price (Quote), and the observed status
// of a job (Observation). It imports nothing of ours, so that lang and planner
// need to know no provider.
package offer

import (
	"encoding/json"
	"strings"
	"time"
)

// A Process is how a job's command runs, as the job block says it and its
// backend carries it out.
type Process struct {
	Image string `json:"image,omitempty"` // container image; "" = none
	// Launcher starts the command on all nodes of the job: "mpiexec", "srun" or
	// "torchrun"; "" and "none" run it once, on the first.
	Launcher string `json:"launcher,omitempty"`
	// RanksPerNode is how often it is started on each; 0 = once for each GPU, without
	// GPUs once for each core.
	RanksPerNode int `json:"ranks_per_node,omitempty"`
}

// Launchers are the values of a Process's launcher.
var Launchers = []string{"mpiexec", "srun", "torchrun", "none"}

// Launched reports whether a launcher starts the command.
func (p Process) Launched() bool { return p.Launcher != "" && p.Launcher != "none" }

// Ranks is how often a launcher starts the command on each node of a shape.
func (p Process) Ranks(s Shape) int {
	nodes := max(s.Nodes, 1)
	switch {
	case p.RanksPerNode > 0:
		return p.RanksPerNode
	case s.GPUs > 0:
		return (s.GPUs + nodes - 1) / nodes
	}
	return (max(s.CPUs, 1) + nodes - 1) / nodes
}

// A Shape is the request of like jobs to a backend. Two jobs of one phase with
// the same resources, options and candidates have the same shape.
type Shape struct {
	CPUs   int   // cores; at least 1
	Memory int64 // bytes; 0 = not stated
	GPUs   int   // devices
	GPU    GPU   // constraints on each device
	Disk   int64 // bytes of scratch needed; 0 = not stated
	Nodes  int   // at least 1
	// MinNodes is with how many of them the job may start; 0 = with all.
	MinNodes int `json:",omitempty"`
	// Pack is how many like jobs, this one among them, share the nodes of one job of
	// a scheduler, and their charge; 0 or 1 = none do.
	Pack int `json:",omitempty"`
	// Slots is how many of them run beside one another, the others in turns; 0 = all.
	Slots int `json:",omitempty"`
	// Allocation is the longest walltime of a job of a scheduler in which jobs take
	// turns; 0 = they take none.
	Allocation time.Duration `json:",omitempty"`
	Walltime   time.Duration // hard limit of one attempt; 0 = not stated
	// Options are the provider's own job options, as canonical JSON; "" if none.
	Options string
	// Smoke marks the shape of a smoke, which may run on testing pools.
	Smoke bool
}

// Key is a text that is equal for equal shapes.
func (s Shape) Key() string {
	if len(s.GPU.Models) == 0 {
		s.GPU.Models = nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic("muster: encode a shape: " + err.Error())
	}
	return string(text)
}

// GPU constrains the devices of a job.
type GPU struct {
	Models []string // any of these, by the names the field uses ("A100"); empty = any
	Memory int64    // least memory of one device, bytes; 0 = any
}

// A PoolKind is the kind of a pool's machines: muster decides by it, and shows
// Word.
type PoolKind string

// The kinds of pool.
const (
	QueuePool   PoolKind = "queue"   // nodes behind a scheduler's queue
	MachinePool PoolKind = "machine" // one machine, which is all of its backend
	HostPool    PoolKind = "host"    // one of the machines of its backend
	RentalPool  PoolKind = "rental"  // machines that are rented for jobs
)

// A Pool is a subdivision of a backend with its own limits and price, shown
// by the site's own word for it.
type Pool struct {
	Backend string // "slurm.alpine"
	Name    string // "aa100"; "" when the backend has only one
	Kind    PoolKind
	Word    string // people's word for it: "partition", "queue", "offer", "machine"
	// Rank is the pool's place in the order in which its backend names them, which
	// is that of preference where all else is equal. Who asks a provider counts; the
	// provider leaves it alone.
	Rank int

	CPUs     int           // cores of one node; 0 = unknown
	Memory   int64         // bytes of one node; 0 = unknown
	GPUs     int           // devices of one node
	GPUModel string        // "A100"; "" when none or unknown
	GPUClass string        // family for environment classes: "A100" also for a MIG slice of one
	GPUMem   int64         // bytes of one device
	MaxNodes int           // most nodes of one job; 0 = no limit stated
	MinNodes int           // least nodes of one job
	MaxTime  time.Duration // longest walltime; 0 = no limit stated
	MaxJobs  int           // most of our jobs running at once (slots); 0 = no limit stated
	// MaxSubmit is the most of our jobs queued or running at once; 0 = no limit stated.
	MaxSubmit int
	SubmitBy  string // whose limit MaxSubmit is: "qos testing", "account ucb123"; "" = not told
	// Most is the room that all our jobs running there may hold together, however
	// much is idle; a zero field has no limit. MostBy is whose limit it is, as
	// SubmitBy.
	Most   Room
	MostBy string
	// Testing marks a pool meant for smokes; StandsFor names the pools whose
	// environment class it shares.
	Testing   bool
	StandsFor []string
	Arrays    bool // runs job arrays

	// Idle and Total count devices, and cores where a pool has none.
	Idle  int // -1 = unknown
	Total int // 0 = unknown
	// Others is how many of these strangers hold now.
	Others int
	Wait   time.Duration // expected queue wait now, when the backend knows one; -1 = unknown
	// MaxWait is the longest wait with which a plan prefers the pool to another that
	// can take the job; 0 = any.
	MaxWait time.Duration

	Price     Price
	WholeNode bool // the site charges whole nodes
	// Pack says that jobs that need a part of a node share one.
	Pack bool
	// Allocation is the longest walltime of a job of the scheduler in which like jobs
	// run one after another; 0 = each job waits in the queue by itself.
	Allocation time.Duration

	Verified string   // month the facts were verified: "2026-05"; "" for live answers
	Source   string   // "profile cu-alpine", "live"
	Notes    []string // for people; every command that asks prints those that begin with Repaired
	// Clocks are dates or intervals at which the platform deletes or bills.
	Clocks []Clock
	// Spot says that others may get a machine while a job runs on it, which ends the job.
	Spot bool
	// Offers are machines of a rental pool as a market lists them, cheapest first, at most three.
	Offers []Listing
	// Balance is the balance of the account that jobs are charged to, and Account its
	// name; "" = not known. It is in service units, and in US dollars where machines are rented.
	Balance string
	Account string
	// Scratch is a folder on the nodes' own disks, which is wiped after a job; "" =
	// none is known.
	Scratch string
	// Home is the user's home directory there, for `~` in a workdir; "" on
	// muster's own machine or where it is unknown.
	Home string
	// Filesystem names the file system of the workdir as this pool's jobs see it.
	// Pools that name the same one, of one backend or of several with the same
	// workdir, see each other's files; a pool that names none shares with its
	// backend's others that name none.
	Filesystem string
	// Queue is the identity of this pool's queue, "" where it has none yet.
	Queue string
	// Facts say whose word each of these is, where a backend has them of more
	// than one source; they are for people.
	Facts []Fact
}

// Repaired begins a note of a repair that a backend made when it was asked.
const Repaired = "put right: "

// A Fact is one thing that is known of a pool, where it comes from and since when.
type Fact struct {
	Name    string // "walltime"
	Value   string // "7d"
	Source  string // "cluster", "profile cu-alpine"
	Since   string // month or time of day: "2026-05", "15:04 UTC"; "" = not told
	Differs string // the value of another source: "24h in profile cu-alpine"
}

// PerBilling ends a rate, among the facts of a pool, for each unit that its
// scheduler counts for a job's request: only a quote has the sum.
const PerBilling = " SU/billing-hour"

// A Clock is a danger clock of a pool.
type Clock struct {
	What  string        // "scratch is purged"
	After time.Duration // after last use; 0 when At is set
	At    time.Time     // fixed date, zero when After is set
}

// A Listing is a machine that can be rented now.
type Listing struct {
	USDPerHour string // with its disk
	Text       string // its kind, and its advantage: "reliability 99.4%, Sweden, SE, the cheapest that fits"
}

// Price is the price of a pool. All rates are decimal strings so that no float
// rounding enters money; "" means that this unit is not charged.
type Price struct {
	Known         bool          // false: the charge in money is unknown, which blocks budgets of money
	UnknownSU     bool          // the charge in service units is unknown, which blocks budgets of those
	USDPerGPUHour string        // money for each device-hour
	USDPerHour    string        // money for each hour of the machine or node
	USDPerCPUHour string        `json:",omitempty"` // money for each core-hour
	SUPerGPUHour  string        // service units for each device-hour
	SUPerNodeHour string        // service units for each node-hour
	SUPerCPUHour  string        // service units for each core-hour
	USDPerGBMonth string        // money for each 10^9 bytes of disk asked for, a month of 730 hours
	USDPerGBOut   string        // money for each 10^9 bytes that leave the backend
	Granularity   time.Duration // billed time is a multiple of it
	Minimum       time.Duration // the least that is billed of a launch
	// Spare is billed of a launch at most, beside the usual boot: machines that boot slowly,
	// those that are tried before one is fit, and the time that each takes to end.
	Spare time.Duration `json:",omitzero"`
	// USDPerHourAtMost is the dearest hour that the backend may pay for a job at this price;
	// "" = USDPerHour.
	USDPerHourAtMost string `json:",omitempty"`
	Estimated        bool   // the provider's guess, and no rate that who bills states
	BillsWhileQueued bool
	// Risen is by how much the last bills were above the quote: the rates include it. "" where
	// they were not.
	Risen string `json:",omitempty"`
	// CPUs and GPUs are how many one job gets in all, and holds, where a scheduler gives it
	// more than its request; 0 = its request.
	CPUs int `json:",omitempty"`
	GPUs int `json:",omitempty"`
}

// A Quote is a provider's estimate of a shape's cost on a pool and of its
// wait.
type Quote struct {
	Backend string
	Pool    string
	Shape   int    // index into the shapes that were asked about
	Fits    bool   // false: Why names the lack, Would a shape that would fit
	Why     string // "partition aa100 ends jobs at 24h"
	Would   string // "choose partition along (7d)"
	// Passing says that the lack passes by itself, as nodes that are down: a campaign that has
	// begun waits for it.
	Passing bool
	// Shut says that the pool takes nothing of this user's, whatever its shape:
	// another shape is no way out.
	Shut    bool
	Price   Price
	Wait    time.Duration // expected queue wait; -1 = unknown
	Expires time.Time     // zero: does not expire
	// MaxTime is set where only the walltime does not fit: the longest that would. A job with
	// a checkpoint is cut to it. It is set, too, where the shape fits and may be shorter than
	// others there, or longer and is: the longest for it.
	MaxTime time.Duration
	// MaxJobs and MaxSubmit are set where those of the pool are not this shape's,
	// which names another qos or asks for licenses; NoLimit where it has none.
	MaxJobs, MaxSubmit int
	SubmitBy           string // as in Pool, of MaxSubmit
	// Most is set likewise, field by field, and MostBy with it.
	Most   Room
	MostBy string
	// Rental terms, zero elsewhere: time to boot, and least time billed.
	Boot time.Duration
}

// Presence is whether a backend knows a job.
type Presence int

// The answers to a look-up by token. Unknown is a value: a backend that cannot
// be asked says nothing about its jobs.
const (
	Unknown Presence = iota
	Found
	Absent
)

// An Observation is the seen state of one job, by token.
type Observation struct {
	Token    string
	Presence Presence
	Handle   string // the backend's id
	Status   Status
	Attempt  int // which launch, counted from 1
	Exit     *int
	Signal   string
	Class    string // failure class, "" if none
	Started  time.Time
	Ended    time.Time
	NotRun   bool `json:",omitempty"` // over, and its command never began: it wrote nothing
	Pool     string
	Node     string
	GPUs     []string // indexes or UUIDs in use
	Driver   string   `json:",omitempty"` // version of the GPUs' driver on Node, of a launch that is over; "" = not known
	Reason   string   // why it waits, in the backend's words
	Cause    Cause    `json:",omitempty"` // why it waits or ended, as muster reads it; "" = for none of the causes
	Tail     []string // last lines of the log
	// Notes say what its place did with files of the job before its command began, for a person.
	Notes    []string `json:",omitempty"`
	Expected time.Time
	Outputs  []Output
	Metrics  map[string]Metric
	Usage    *Usage
	// Inputs are the digests (InputBytes) of inputs whose producers had not ended
	// when the job was submitted, by name.
	Inputs map[string]string `json:",omitempty"`
	// Duplicate is another handle seen under the same token, "" if none.
	Duplicate string
	// Queues are the identities of the queues that have the job; of one that is
	// Absent, of all that were asked, "" for one that never took a job. None: not
	// told.
	Queues []string `json:",omitempty"`
	// Earlier are the ends of launches before this one, oldest first, where a backend that was
	// not watched launched the job again by itself: Find returns them, so that each is billed.
	Earlier []Observation
	// Stage is how far a job, Queued, has come; "" = its backend does not say.
	Stage Stage
	// HeldBy is who holds a job, Queued, in its queue beside muster; "" = nobody.
	HeldBy Holder
	// Got is the shape of the launch, where its backend reports it; nil is the requested one.
	// It is billed.
	Got *Shape `json:",omitempty"`
	// Rental is the machine that its backend rents for it; nil where nothing is rented.
	Rental *Rental `json:",omitempty"`
	// Record is set by a Find of all jobs.
	Record *JobRecord `json:",omitempty"`
}

// A JobRecord is a backend's record of a submitted job, from which a lost state is rebuilt.
type JobRecord struct {
	Address string // phase.train["lr=1"]
	Smoke   bool   // it is the smoke of that job
	Result  string // its result hash
	First   int    // the number of its first launch
	Fence   uint64 // the highest that the backend was given for the campaign
}

// A Rental is a rented machine, as its provider says.
type Rental struct {
	ID     string    // the provider's own
	Kind   string    // its machine: "1× RTX 4090"
	Since  time.Time // when it came into this Status; zero = not told
	Rate   string    // USD an hour, a decimal; "" = not known
	Status RentalStatus
	// Began and Ended are the cloud's own start and end of billing; a zero Ended is
	// billed still. Zero where the cloud does not say.
	Began, Ended time.Time
	Billed       string // USD that the cloud asks for it so far, a decimal; "" = not known
	// Metered is since when it is billed at Rate, and Spent its cost until then, USD, a
	// decimal; the time since is billed rounded up to Unit. A zero Metered is not known.
	Metered time.Time
	Spent   string
	Unit    time.Duration
	Orphan  bool // the campaign, or one of the same user whose folder was deleted, rented it, and no record exists
	Account Account
	Order   string // id that it had before the cloud gave it one; "" = none
}

// An Account rents machines. Nobody else's key sees them.
type Account struct {
	ID  string `json:"id,omitempty"`  // the cloud's own; "" where it does not say whose a key is
	Key string `json:"key,omitempty"` // digest of the key in use, which tells two keys apart and nothing else
}

// Same reports whether two are one account: by its id, and where the cloud does not tell
// both, only with one key. An account that was never recorded may be any.
func (a Account) Same(b Account) bool {
	switch {
	case a == Account{} || b == Account{}:
		return true
	case a.ID != "" && b.ID != "":
		return a.ID == b.ID
	}
	return a.Key == b.Key
}

func (a Account) String() string {
	if a.ID != "" {
		return "account " + a.ID
	}
	return "the account of key " + a.Key
}

// A RentalStatus is how far a rented machine has come; "" = rented, and no more is
// known.
type RentalStatus string

// The statuses of a rental. It is billed until its provider says that it is gone.
const (
	RentalAsked    RentalStatus = "asked"    // it was ordered, and the answer is not known
	RentalBooting  RentalStatus = "booting"  // it is ours
	RentalChecking RentalStatus = "checking" // it runs, and muster has not checked it against its offer
	RentalRunning  RentalStatus = "running"
	RentalStopped  RentalStatus = "stopped"
	RentalDeleting RentalStatus = "deleting" // its release was asked for
	RentalReleased RentalStatus = "released" // it is gone
)

// Stage is how far a job has come that a backend accepted and that has not
// started. Only a job that is Released starts by itself.
type Stage string

// The stages, in their order.
const (
	Accepted  Stage = "accepted"  // the backend keeps it; its scheduler does not have it
	Submitted Stage = "submitted" // its scheduler has it, and muster holds it there
	Released  Stage = "released"
)

// Holder is who holds a job in the queue of a scheduler, other than muster.
type Holder string

// The holders.
const (
	HeldByUser      Holder = "user"      // its owner; `muster resume` releases it
	HeldByAdmin     Holder = "admin"     // only an administrator can release it
	HeldByScheduler Holder = "scheduler" // the scheduler itself, after a launch that went wrong
)

// Status is where a job is, as its backend sees it.
type Status string

// The statuses a backend reports.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Verifying Status = "verifying"
	Waiting   Status = "waiting" // waits to be retried by the backend itself
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
	Lost      Status = "lost"
)

// Cause is a code for why a job waits or ended, where muster decides by it. Its
// text is the reason.
type Cause string

// The causes.
const (
	CampaignHeld Cause = "campaign_held" // Queued: the queue of a host holds its whole campaign
	JobHeld      Cause = "job_held"      // Queued: its queue has an order to hold this job, or its batch; a resume ends that
	MachineAway  Cause = "machine_away"  // Running: its rented machine was taken away and may come back
	OtherCluster Cause = "other_cluster" // Absent: another cluster, which sees the same workdir, has the job
	NoRoom       Cause = "no_room"       // Queued: its queue starts nothing until its workdir takes files
	NoSpool      Cause = "no_spool"      // Queued: its queue starts nothing until its own folder takes files
	PhaseStopped Cause = "phase_stopped" // Failed: its queue would have launched it again, had its phase not stopped
	// Blocked, Cancelled: its backend gave the job up because an earlier one did not
	// complete. Nobody cancelled it, and muster submits it again in its turn. It is
	// the class of its record, too.
	Blocked = "blocked"
)

// Stopped begins the text of a phase that stopped: why follows.
const Stopped = "stopped: "

// GivenUp reports whether a backend gave a job up as Blocked. Spools of earlier
// versions have only the reason.
func (o *Observation) GivenUp() bool {
	return o.Status == Cancelled && (o.Cause == Blocked || o.Class == Blocked || o.Cause == "" && o.Reason == Blocked)
}

// StoppedBy says why a job's phase stopped with it; ok is false where it did
// not. Spools of earlier versions have only the reason.
func (o *Observation) StoppedBy() (why string, ok bool) {
	why, begins := strings.CutPrefix(o.Reason, Stopped)
	return why, o.Cause == PhaseStopped || o.Cause == "" && begins
}

// An Output is one declared output as it was found and checked in place.
type Output struct {
	Name    string
	Path    string // relative to the workdir where it can be, as declared
	Size    int64
	Digest  string // "sha256:…" of the bytes; of the sorted list of file digests for a glob or a dir
	MTime   int64  // nanoseconds
	Inode   uint64
	CTime   int64 `json:",omitempty"` // nanoseconds; 0 = unknown
	Files   int   // for a glob or a dir
	Verdict string
	OK      bool
	// Present says that something is there, whether or not it passes; without a
	// digest it is not a regular file.
	Present bool `json:",omitempty"`
	// Unverified says that its verification was ended before it came to a
	// verdict: nobody knows whether it is whole.
	Unverified bool `json:",omitempty"`
	// Metrics are the values that the request asked to read from it.
	Metrics map[string]Metric `json:",omitempty"`
}

// Exists reports whether anything is at the path of the output.
func (o Output) Exists() bool { return o.MTime != 0 || o.Files > 0 }

// Unchanged reports whether two looks at one path saw the same files: same
// size, time and inode. It reads no content.
func (o Output) Unchanged(b Output) bool {
	return o.Path == b.Path && o.Size == b.Size && o.MTime == b.MTime && o.Inode == b.Inode && o.Files == b.Files
}

// A Metric is one number or text read from a verified output.
type Metric struct {
	Text  string // JSON text of the value as read
	Error string // why it could not be read, "" if it was
}

// Usage is the resource use of an attempt; a negative or nil field is unknown.
type Usage struct {
	Elapsed    time.Duration `json:"elapsed"`
	CPU        time.Duration `json:"cpu"`         // user+system; -1 = unknown
	MaxRSS     int64         `json:"max_rss"`     // bytes; -1 = unknown
	GPUSeconds float64       `json:"gpu_seconds"` // devices held × seconds
	// GPUMaxMem is the most memory in use on one of its devices, bytes: 0 says
	// that nothing was ever on it, nil that nobody looked.
	GPUMaxMem *int64 `json:"gpu_max_mem,omitempty"`
	// Billed is the charge that the backend reported, as an amount and its unit: "0.35 usd", "12
	// service_units"; without one it is usd. Text in other units is kept for people.
	Billed string `json:"billed,omitempty"`
	// NodeTime is for how long its nodes count as its own, where it shared them: at
	// any time they were those of all jobs that ran on them in equal parts. 0 = it
	// shared none, or that is unknown.
	NodeTime time.Duration `json:"node_time,omitempty"`
}
