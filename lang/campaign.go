// Package lang turns a directory of *.muster.hcl files into a Campaign: a
// value that is complete, checked and cheap to ask about any cell. It knows
// nothing of state, plans or running providers; a backend's own settings are
// checked against the offer.Schema it is given.
package lang

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/providers/offer"
)

// A Campaign is everything in one directory.
type Campaign struct {
	Name        string
	Description string
	Dir         string // absolute
	MaxParallel int    // most jobs queued or running at once; 0 = no cap
	Digest      string // of the files as read and the values of the variables

	RequiredVersion   string
	RequiredProviders map[string]RequiredProvider

	Store     Typed   // where the state lives; Type "file" by default
	Notify    []Typed // whom to tell
	Variables []Variable
	Backends  []*Backend // sorted by name; local.local is always there
	Source    *Source    // nil: code is untracked
	Phases    []*Phase   // producers before consumers, else by name
	Budgets   []Budget
	Policy    Policy
	Failures  []Failure
	Results   []*Result
	Moved     []Moved
	Imports   []Import

	Files map[string]*hcl.File // by name, for source excerpts

	static *hcl.EvalContext // var, local and functions; see console.go
}

// Typed is a labelled block whose content belongs to an implementation.
type Typed struct {
	Type   string
	Config json.RawMessage // decoded by the implementation's schema
	Range  hcl.Range
}

// A RequiredProvider is an external provider the campaign needs.
type RequiredProvider struct {
	Version string // a version constraint, ">= 1.2"
	Range   hcl.Range
}

// A Variable is a campaign variable and its value.
type Variable struct {
	Name      string
	Text      string // the value as JSON; "" when sensitive or unknown
	Digest    string // of a sensitive value, keyed by the caller; "" otherwise
	Sensitive bool
	Known     bool // false only in validate, where variables may lack a value
}

// A Backend is a place to run, configured once.
type Backend struct {
	Type, Name  string
	Profile     string
	Workdir     string // "" = the campaign's directory (local only)
	Setup       string
	Env         map[string]string
	MaxParallel int
	Price       offer.Price     // Known only when a price block or attribute is written
	Hold        time.Duration   // rentals: kept this long after the last job
	OnHold      string          // rentals: "stop", "release", "keep"
	Config      json.RawMessage // the provider's own settings, checked against its schema
	Sensitive   []string        // JSON pointers into Config of sensitive values, which no state may hold
	Implied     bool            // local.local without a block
	Range       hcl.Range
}

// Address is "slurm.alpine".
func (b *Backend) Address() string { return b.Type + "." + b.Name }

// Source names the code a job depends on.
type Source struct {
	Dir              string // absolute
	Include, Exclude []string
	// Within is the campaign's source, which a phase's own narrows: a file
	// counts when both have it. Nil for the campaign's own.
	Within *Source
	Range  hcl.Range
}

// A Phase is a set of jobs from one template over one grid.
type Phase struct {
	Name  string
	Range hcl.Range
	Grid  *grid.Grid // never nil; without a grid one cell with the empty key

	Candidates  []string // backend addresses in order; empty = by the policy table
	Prefer      string   // "", "order", "cheapest", "soonest"
	MaxParallel int
	Source      *Source // nil = no source at all
	DependsOn   []string

	Inputs        []*Input
	Outputs       []*Output
	Metrics       []Metric
	Secrets       []Secret
	Smoke         *Smoke
	Pilot         []int // cells run alone first, ascending; empty = no pilot
	Retry         Retry
	Breaker       Breaker
	Checkpoint    *Checkpoint
	Preconditions []Precondition
	Lifecycle     Lifecycle

	job *job // compiled templates; see compile.go

	definition func() Definition // made once
}

// An Input is an edge from a producer phase: consumers are grouped by the
// axes they share with it, and a group reads the same producers.
type Input struct {
	Name   string
	From   *Phase // producer
	Output string // name of its output
	All    bool   // from_all: a list in key order
	Range  hcl.Range

	edge edge // see edges.go
}

// An Output is a declared result of a job.
type Output struct {
	Name     string
	Kind     OutputKind
	MinCount int // glob: least number of files
	Verify   []Verify
	MinSize  int64
	Shared   bool // several jobs may write it; checked for change only
	Range    hcl.Range
}

// OutputKind tells a file from a set of files.
type OutputKind string

// The kinds of output.
const (
	File OutputKind = "path"
	Glob OutputKind = "glob"
	Dir  OutputKind = "dir"
)

// Verify names one check of an output: exists, nonempty, min_size, json,
// jsonl, csv, zip, gzip, safetensors, sha256 (a manifest), command.
type Verify struct {
	Kind    string
	Command string // for "command": the user's own loader
	File    string // for "sha256": the manifest
}

// A Metric is a value read from a verified output.
type Metric struct {
	Name   string
	Output string
	JSON   string // a JSON pointer, RFC 6901
	Column string // of a CSV's last row
	Regex  string // first group of the last match
	Range  hcl.Range
}

// A Secret is read at submission and never stored.
type Secret struct {
	Name    string   // the variable the job sees
	Env     string   // read from this variable of muster's environment
	Command []string // or from this command's output
	File    string   // or from this file
	Range   hcl.Range
}

// Smoke is the same job, only shorter.
type Smoke struct {
	Cells      []int // ascending
	Candidates []string
	Walltime   time.Duration // 0 = the job's own
	Isolated   bool
	Parallel   bool
	Expect     []Expect
	Range      hcl.Range
}

// Expect is a condition on a smoke's metrics.
type Expect struct {
	Message   string // "" if none is written
	condition *expr.Template
	Range     hcl.Range
}

// Retry says which failures are tried again.
type Retry struct {
	On          []string      // failure classes
	MaxAttempts int           // launches, the first included; 1 without a block
	Delay       time.Duration // before the next launch
	Scale       map[string]Scale
}

// Scale multiplies resources for the next launch after a failure class.
type Scale struct {
	Memory, CPUs, GPUs, Walltime, Disk float64 // factors; 0 = unchanged
}

// Breaker stops starting when everything fails alike.
type Breaker struct {
	SameError int     // in a row; 0 is off; 3 by default
	Share     float64 // of the finished jobs of a batch, one cause; 0.15 by default
}

// A Checkpoint lets work be resumed.
type Checkpoint struct {
	Interval  time.Duration // 0 with Auto
	Auto      bool          // sqrt(2 * mtbf * write_time)
	MTBF      time.Duration
	Signal    string
	Grace     time.Duration
	WriteTime time.Duration
	MaxLoss   time.Duration
	Range     hcl.Range
}

// A Precondition must hold before anything is spent: a condition known at
// plan time, or a file on the backend.
type Precondition struct {
	Message   string
	MinSize   int64
	OnBackend bool // File is checked where the job runs
	Range     hcl.Range

	condition *expr.Template
	file      *expr.Template
}

// Lifecycle holds a phase's rules about re-running.
type Lifecycle struct {
	IgnoreChanges     []string // field names: "env", "setup", …
	PreventRerun      bool
	PreventRerunSet   bool // prevent_rerun is written, whatever its value: false disarms what the state remembers
	RerunOnInputBytes bool
}

// A Budget limits what may be spent.
type Budget struct {
	Name      string
	Limits    map[string]string // unit → decimal: usd, gpu_hours, cpu_hours, node_hours, service_units
	Deadline  time.Time
	WarnAt    float64  // share of each limit; 0.8 by default
	AppliesTo []string // "phase.x", "backend.t.n"; empty = everything
	Strict    bool
	Range     hcl.Range
}

// Policy is the placement table and the limits on who may spend what.
type Policy struct {
	UrgentWithin   time.Duration // 24 h
	LongWait       time.Duration // 4 h
	PriceTolerance float64       // 0.10
	StaleAfter     time.Duration // 180 d
	ApproveAbove   map[string]string
	Allow, Deny    []string // backend addresses
	Rules          []*Rule  // the campaign's own, before the default table
	MaxCancel      int      // most cancels a plan may hold unasked; 0 = no limit
}

// A Rule of the placement table: the first whose condition holds decides.
type Rule struct {
	Use   string // "local", "cheapest_soonest", "cheapest", "soonest", "order", "rental_if_urgent_or_long", "production", or a backend address
	Range hcl.Range
	when  *expr.Template
}

// A Failure is an entry of the project's own failure catalogue.
type Failure struct {
	Name      string
	Match     string // regular expression on the log's tail
	ExitCodes []int
	Class     string // Name if not given
	Action    string // "retry", "hold", "fail", "" = by class
	Hint      string
	Range     hcl.Range
}

// A Result is a value computed from metrics and outputs.
type Result struct {
	Name        string
	Description string
	Range       hcl.Range
	value       *expr.Template
	reads       []*Phase // whose metrics or outputs it reads
}

// Moved says that an address has a new name.
type Moved struct {
	From, To string // phase.NAME or phase.NAME["key"]
	Range    hcl.Range
}

// Import adopts a running or finished job of a backend.
type Import struct {
	To      string // job address
	Backend string
	ID      string
	Range   hcl.Range
}
