package offer

import "time"

// A Schema says what a backend's configuration block and job options may
// hold and what the backend can do. Schemas of built-in providers are read
// without starting a process.
type Schema struct {
	Type    string // "slurm"
	Version string
	Config  Block // inside `backend TYPE NAME`, beside the framework's own attributes
	// Options are the arguments of a job's `options TYPE`. `nodes` there are those
	// of its resources where they are more, so that they are priced.
	Options Block
	Can     Capabilities
	// Opaque says that the provider was not asked: muster does not check or read
	// blocks of its type. A provider never sets it.
	Opaque bool
	// Profiles are the site facts shipped with the provider, by name, as HCL source.
	Profiles map[string][]byte
}

// A Block is a set of attributes and nested blocks.
type Block struct {
	Attrs  []Attr
	Blocks []NestedBlock
}

// An Attr is one attribute.
type Attr struct {
	Name     string
	Type     Type
	Required bool
	// Default is the value as HCL source, shown in the reference; "" if none.
	Default string
	Doc     string // one sentence with unit and range
	// OneOf lists the legal values of a string attribute; empty = any.
	OneOf []string
	// Check refuses values of a string attribute, or elements of a list, that
	// need no backend to be known as wrong; nil = any. It does not travel to
	// other processes, whose Configure refuses the same values.
	Check func(string) error `json:"-"`
}

// A NestedBlock is a block inside a block, at most one unless Many.
type NestedBlock struct {
	Name     string
	Many     bool
	Required bool
	Doc      string
	Block    Block
}

// Type is the type of an attribute.
type Type string

// The attribute types. Duration and Size are written as text and reach the
// provider as seconds and bytes.
const (
	String     Type = "string"
	Number     Type = "number"
	Bool       Type = "bool"
	Duration   Type = "duration"
	Size       Type = "size"
	StringList Type = "list(string)"
	NumberList Type = "list(number)"
	StringMap  Type = "map(string)"
	Any        Type = "any"
)

// Capabilities lists the abilities of a type of backend.
type Capabilities struct {
	Arrays       bool // runs job arrays
	Dependencies bool // runs edges between its own jobs with muster off
	Retries      bool // retries with muster off, in the same pool
	Requeues     bool // its scheduler starts jobs again that it stopped itself, and no others
	GPUs         bool
	Rents        bool          // creates and releases machines
	KeepsFiles   bool          // of Rents: the files of its jobs outlive the machines
	Stops        bool          // of Rents: stops a machine and keeps its disk, which `on_hold = "stop"` needs
	DeadMan      bool          // of Rents: machines end, or at least stop, when muster has been off for long
	Timer        bool          // of DeadMan: only by a timer of the platform, which runs from a machine's start
	Boot         time.Duration // of Rents: the most that is billed before a job starts: slow boots, and machines that are replaced
	Events       bool          // pushes events rather than being polled
	Transfer     bool          // moves files with Push and Pull
	Accounting   bool          // reports usage after the fact
	Remote       bool          // another machine: workdir is required with source
	HostQueue    bool          // the queue of providers/host runs the jobs there
	Holds        bool          // keeps single queued jobs from starting when told to (Control with tokens)
	Guard        bool          // applies a job's Guard before it starts: nothing of others is written over
	Recalls      bool          // Find without tokens returns all jobs of the campaign that it keeps a record of
	// FeedSlots bounds how many jobs a slot is fed ahead by a running engine;
	// 0 = everything that is ready.
	FeedSlots int
}

// CopiesOut reports whether machines copy checkpoints to a copy_to: those whose jobs the queue of
// providers/host runs.
func (c Capabilities) CopiesOut() bool { return c.HostQueue || c.KeepsFiles }

// Terms are the requests of jobs to a scheduler's queue beside their shape, and
// the scheduler's words.
type Terms struct {
	QoS    string // quality of service; "" = none is named
	Mail   string // to whom the scheduler writes when they end or fail; "" = to nobody
	Pool   string // "partition"
	Submit string // the command that submits: "sbatch"
}
