// Package lang turns a directory of *.muster.hcl files into a Campaign: a
// complete, checked value that is cheap to query for any cell. It knows nothing
// of state, plans or running providers; it checks a backend's settings against
// a given offer.Schema.
package lang

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/grid"
)

// A Campaign is everything in one directory.
type Campaign struct {
	Name        string
	Description string
	Dir         string // absolute
	MaxParallel int    // most jobs queued or running at once; 0 = no cap
	Digest      string // of the files as read and the values of the variables

	RequiredProviders map[string]RequiredProvider

	Store     Typed   // where the state lives; Type "file" by default
	Notify    []Typed // whom to notify
	Variables []Variable
	Backends  []*Backend // sorted by name; local.local is always there
	Source    *Source    // nil: code is untracked
	Phases    []*Phase   // producers before consumers, else by name
	Budgets   []Budget
	Policy    Policy
	Failures  []Failure
	Known     []*Known
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

// A Backend is a place to run, configured once.
type Backend = backends.Backend

// A Phase is a set of jobs from one template over one grid.
type Phase struct {
	Name  string
	Range hcl.Range
	Grid  *grid.Grid // never nil; without a grid one cell with the empty key

	Candidates  []string // backend addresses in order; empty = by the policy table
	Overflow    []string // backend addresses in order, for jobs that would wait
	Prefer      string   // "", "order", "cheapest", "soonest"
	MaxParallel int
	Source      *Source // nil = no source at all
	DependsOn   []string

	Inputs        []*Input
	Raw           []*RawInput // inputs that no phase makes, by name
	Outputs       []*Output
	Metrics       []Metric
	Secrets       []Secret
	Smoke         *Smoke
	Pilot         []int // cells run alone first, ascending; empty = no pilot
	Retry         Retry
	Breaker       Breaker
	Checkpoint    *Checkpoint
	Watch         Watch
	Scratch       *Scratch // nil = no file is staged
	Preconditions []Precondition
	Lifecycle     Lifecycle
	Trial         *Trial // nil = no round of an optimisation
	// Asks are where resources are written: cpus, memory, gpus, disk, nodes,
	// walltime, gpu.models, gpu.memory.
	Asks map[string]hcl.Range

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
	Least  Quorum // of its producers that a job goes on with; the zero value: all
	Range  hcl.Range

	edge edge // see edges.go
}

// A RawInput is files that jobs read and that no phase makes.
type RawInput struct {
	Name    string
	Backend string // address of the one where the files are; "" = muster's machine
	Range   hcl.Range

	path *expr.Template // nil when it did not compile
	grid *grid.Grid
	list bool // a pattern, in one cell or more
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
	Forbid     []string // RE2 patterns, beside those of the job's watch block
	Repeat     int      // how often it runs before it passes; at least 1
	Tolerance  float64  // the share by which repeats may differ, 0 to 1
	// MinThroughput is the least share of the expected throughput; 0 = any.
	MinThroughput float64
	// ResumeDrill ends each smoke once it has written its checkpoint, and launches it again.
	ResumeDrill bool
	Canary      *Canary // nil = none
}

// A Canary is a longer run of a smoke, after all of its short ones.
type Canary struct {
	Cell   int // the last of the smoke's
	Expect []Expect
}

// RunsAgain reports whether muster launches a smoke again after it passed.
func (s *Smoke) RunsAgain() bool { return s.Repeat > 1 || s.Canary != nil }

// Judged reports whether muster decides if a smoke passed that completed.
func (s *Smoke) Judged() bool { return len(s.Expect) > 0 || s.MinThroughput > 0 }

// Longest is the longest run of a cell's smoke.
func (s *Smoke) Longest(cell int) Variant {
	if s.Canary != nil && s.Canary.Cell == cell {
		return CanaryRun
	}
	return SmokeRun
}

// Expect is a condition on a smoke's metrics.
type Expect struct {
	Message   string // "" if none is written
	condition *expr.Template
}

// A Precondition must hold before anything is spent: a condition known at
// plan time, a file on the backend, or a command that passes on this machine.
type Precondition struct {
	Message   string
	MinSize   int64
	OnBackend bool // File is checked where the job runs

	condition *expr.Template
	file      *expr.Template
	command   *expr.Template
}

// A Result is a value computed from metrics and outputs.
type Result struct {
	Name        string
	Description string
	value       *expr.Template
	reads       []*Phase // whose metrics or outputs it reads
	metrics     []phaseMetric
}

// A phaseMetric is phase.NAME.metric.M.
type phaseMetric struct {
	phase *Phase
	name  string
}

// Moved says that an address has a new name.
type Moved struct {
	From, To string // phase.NAME or phase.NAME["key"]
	Range    hcl.Range
}

// Moves are moved blocks, by the address they move from.
type Moves map[string]Moved

// MovesOf indexes moved blocks.
func MovesOf(blocks []Moved) Moves {
	out := Moves{}
	for _, b := range blocks {
		out[b.From] = b
	}
	return out
}

// Follow applies blocks to an address until none fits, and gives the last one
// that did; a cycle ends where it began. A block of a phase moves its jobs.
func (m Moves) Follow(address string) (string, Moved) {
	var used Moved
	for range len(m) + 1 {
		if mv, ok := m[address]; ok {
			address, used = mv.To, mv
			continue
		}
		phase, _, ok := addr.Split(address)
		mv, has := m["phase."+phase]
		if !ok || !has {
			return address, used
		}
		address, used = mv.To+strings.TrimPrefix(address, "phase."+phase), mv
	}
	return address, used
}

// Import adopts work that muster did not start: a job of a backend, or files.
type Import struct {
	To      string // address of a job; of files also of a phase
	Backend string // of files "" = wherever the jobs may run
	ID      string // of a job
	Range   hcl.Range
}

// Files reports whether it adopts files at the output paths of jobs.
func (im *Import) Files() bool { return im.ID == "" }

// Covers reports whether it adopts a job of a phase.
func (im *Import) Covers(p *Phase, cell int) bool {
	return im.To == "phase."+p.Name || im.To == p.Address(cell)
}
