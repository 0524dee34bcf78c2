// Package providers defines the interface that a backend implements, and the
// job that a backend receives. The engine and the refresh call a Provider;
// package launch makes one from a process, package sdk makes a process from
// one.
package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// A Provider knows one type of backend and serves every configured backend
// of that type. All methods may be called concurrently.
type Provider interface {
	Describer
	Runner
	Files
}

// Describer says what a backend is and has. Nothing it does costs anything.
type Describer interface {
	Schema(ctx context.Context) (offer.Schema, error)
	// Configure is called once for each backend before anything else, and
	// again after a restart of the process.
	Configure(ctx context.Context, b Backend) error
	Pools(ctx context.Context, backend string) ([]offer.Pool, error)
	Quote(ctx context.Context, backend string, shapes []offer.Shape) ([]offer.Quote, error)
	// Preflight checks, for free, that jobs could run: reachable, workdir,
	// setup works, files there, room on disk, GPUs healthy.
	Preflight(ctx context.Context, backend string, checks []Check) ([]Finding, error)
}

// Runner runs jobs.
type Runner interface {
	// Submit is idempotent by token; the same token with another spec is a
	// conflict. The results are in the order of the jobs.
	Submit(ctx context.Context, r SubmitRequest) ([]Submitted, error)
	// Find says for each token whether the backend knows it. Without tokens it returns all jobs
	// of the campaign that the backend keeps a record of, with their Record, in any order
	// (offer.Capabilities, Recalls); NotFound is the class of the error where it never had any.
	Find(ctx context.Context, backend string, tokens []string) ([]offer.Observation, error)
	// Watch calls fn with what happens to the jobs of a campaign on a
	// backend from the cursor on, until ctx ends or fn returns an error.
	// Cursor "" starts with everything not yet acknowledged. Only Ack
	// acknowledges: a cursor that was seen is not yet one that is durable.
	Watch(ctx context.Context, r WatchRequest, fn func(Batch) error) error
	// Cancel fetches the log's tail, then ends jobs: politely, then hard.
	Cancel(ctx context.Context, r CancelRequest) ([]Outcome, error)
	// Control changes which jobs a backend may start by itself: hold, release,
	// caps.
	Control(ctx context.Context, r ControlRequest) error
	// Logs writes a job's log to w, following it until the job ends if asked.
	Logs(ctx context.Context, r LogRequest, w io.Writer) error
}

// CampaignsDir is the folder, below a workdir, with a file of each campaign that
// writes there: LINEAGE.json.
const CampaignsDir = ".muster/campaigns"

// Files looks at and moves files where they are. Where pools of a backend do
// not see each other's files (offer.Pool, Filesystem), the backend is given as
// At names it: "ssh.lab/host-a".
type Files interface {
	// Verify opens outputs and checks them; without Open it only stats them.
	Verify(ctx context.Context, r VerifyRequest) ([]offer.Output, error)
	// Push writes a file on the backend, resuming after existing bytes. One whose name ends in
	// tree.Suffix is unpacked into the folder of its name.
	Push(ctx context.Context, backend, path string, size int64, digest string, r io.ReadSeeker) error
	// Pull reads a file from the backend from an offset on.
	Pull(ctx context.Context, backend, path string, offset int64, w io.Writer) error
	// List resolves globs and folders to files, with sizes: each once, in the order of the
	// patterns, and the files of each in the order of their paths.
	List(ctx context.Context, backend string, patterns []string) ([]FileInfo, error)
	// Remove moves aside (To set) or deletes files, under a fence.
	Remove(ctx context.Context, r RemoveRequest) error
}

// At names the files of one pool of a backend; without a pool, those that
// the whole backend sees.
func At(backend, pool string) string {
	if pool == "" {
		return backend
	}
	return backend + "/" + pool
}

// CutAt is a backend and the pool that At put behind it.
func CutAt(name string) (backend, pool string) {
	backend, pool, _ = strings.Cut(name, "/")
	return backend, pool
}

// ReleaseTime is how long Release waits until machines are gone: a cloud lists one for a
// minute or more after it promised to end it. Callers wait longer.
const ReleaseTime = 3 * time.Minute

// A Renter is a backend that rents machines.
type Renter interface {
	// Release asks that machines be given up. An Outcome without error means that the
	// cloud says that the machine is gone; one with an error that it is still there and
	// billed. Asking again for the same machine changes nothing.
	Release(ctx context.Context, backend string, ids []string) ([]Outcome, error)
	// Rentals are the machines of the campaign that may be billed, those that ended
	// with their bill, and orphans. Machines of others are never among them.
	Rentals(ctx context.Context, backend string) ([]offer.Rental, error)
}

// Cleaner removes muster's files from a backend.
type Cleaner interface {
	Clean(ctx context.Context, backend string) (removed []string, err error)
}

// A Loginer is a backend that may ask its user for a password or a code.
type Loginer interface {
	// Login connects to a backend, and has ask put its hosts' questions to a
	// person. It returns when all of them have answered or cannot be reached;
	// calls after it say why.
	Login(ctx context.Context, backend string, ask Ask) error
}

// Ask puts a prompt to a person; it fails when nobody answers.
type Ask func(context.Context, LoginPrompt) (answers []string, err error)

// A LoginPrompt is a host's set of questions. Its texts are a stranger's.
type LoginPrompt struct {
	Who         string // user@host
	Name        string
	Instruction string
	Questions   []LoginQuestion
}

// A LoginQuestion is one line to be typed.
type LoginQuestion struct {
	Text string
	Echo bool // the typed text may be shown
}

// Login lets a person log in to a backend where there is one and it asks; the
// time that this takes is theirs, so that no deadline of a call counts it.
func Login(ctx context.Context, p Provider, backend string) {
	if l, ok := p.(interface {
		Login(ctx context.Context, backend string) error
	}); ok {
		_ = l.Login(ctx, backend) // the next call reports the error
	}
}

// Reason is an error in short, without parts that differ each time.
func Reason(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Summary
	}
	return err.Error()
}

// WantsLogin is the command by which a person lets muster in, "" where an
// error says nothing of that.
func WantsLogin(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Login
	}
	return ""
}

// A Backend is one configured place.
type Backend struct {
	Name        string            `json:"name"` // "slurm.alpine"
	Type        string            `json:"type"`
	Workdir     string            `json:"workdir"`
	Setup       string            `json:"setup,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	MaxParallel int               `json:"max_parallel,omitempty"`
	Profile     string            `json:"profile,omitempty"`
	// ProfileSource is the text of Profile where that is a file of the campaign
	// and none that the provider ships: its reader may run on another machine, and
	// later.
	ProfileSource string          `json:"profile_source,omitempty"`
	Price         offer.Price     `json:"price,omitzero"`
	Config        json.RawMessage `json:"config,omitempty"` // the provider's own settings
	Campaign      string          `json:"campaign"`
	Lineage       string          `json:"lineage"`
	Dir           string          `json:"dir"` // the campaign's directory on muster's machine
	// Hold is how long a rented machine is kept after its last job, and OnHold what
	// happens then: "stop", "release" or "keep"; "" where nothing is rented.
	Hold   time.Duration `json:"hold,omitempty"`
	OnHold string        `json:"on_hold,omitempty"`
	// Rented are the machines that the campaign's state has as rented here: a provider
	// that lost its records still knows which account rents them.
	Rented []offer.Rental `json:"-"`
	// Environ is the initial environment of jobs on muster's own machine:
	// JobEnviron of the command that submits them.
	Environ []EnvVar `json:"environ,omitempty"`
}

// A Job is a request to a backend: one command, its resources, its outputs, and its policy
// with muster off.
type Job struct {
	Token   string `json:"token"`
	Address string `json:"address"`
	Phase   string `json:"phase"`
	Name    string `json:"name"` // label; the scheduler's job name
	Attempt int    `json:"attempt"`
	Pool    string `json:"pool,omitempty"`

	Shell   string   `json:"shell,omitempty"` // run by /bin/sh from a file, exactly so
	Argv    []string `json:"argv,omitempty"`  // or exec'd
	Workdir string   `json:"workdir"`
	Dir     string   `json:"dir"`             // current directory
	Setup   []string `json:"setup,omitempty"` // the backend's, then the job's
	Env     []EnvVar `json:"env,omitempty"`   // the backend's, then the job's
	Secrets []EnvVar `json:"-"`               // never on disk but in a 0600 file on the job's machine; travels apart
	offer.Process
	// ImageBytes is the part of the result hash for an image that is a file: the
	// job starts on no other bytes. Without a digest nothing is compared.
	ImageBytes Recorded `json:"image_bytes,omitzero"`

	Shape   offer.Shape     `json:"shape"`
	Options json.RawMessage `json:"options,omitempty"`

	Inputs     []Input    `json:"inputs,omitempty"`
	Outputs    []Output   `json:"outputs,omitempty"`
	Metrics    []Metric   `json:"metrics,omitempty"`
	Require    []Require  `json:"require,omitempty"` // files that must be there at launch
	Checkpoint Checkpoint `json:"checkpoint,omitzero"`
	// Discard are paths and patterns, relative to the workdir, of files that are removed
	// once the job is done.
	Discard []string `json:"discard,omitempty"`
	Watch   Watch    `json:"watch,omitzero"`
	// Scratch names its files on the node's own disk; nil = none.
	Scratch *offer.Scratch `json:"scratch,omitempty"`

	// After are tokens on the same backend that must be verified first.
	After   []string       `json:"after,omitempty"`
	Retry   Retry          `json:"retry,omitzero"`
	Breaker Breaker        `json:"breaker,omitzero"`
	Cap     int            `json:"cap,omitempty"` // most jobs of this phase at once; 0 = no cap
	Rules   []failure.Rule `json:"rules,omitempty"`
	Grace   time.Duration  `json:"grace,omitempty"` // between TERM and KILL; 0 = 30 s
	Smoke   bool           `json:"smoke,omitempty"`
	// ResultHash keys the freshness baseline: taken once, before the first
	// attempt of a result hash.
	ResultHash string `json:"result_hash"`
	// Umask is that of whoever submitted the job, and the job runs under it;
	// nil = that of the process that starts it.
	Umask *int `json:"umask,omitempty"`
	// MoveAside tells the backend to move existing outputs to
	// .muster/replaced/ATTEMPT/ before the first launch (approved re-run).
	MoveAside string `json:"move_aside,omitempty"`
	// Pack names the jobs that share one job of a scheduler with this one; "" = none.
	Pack string `json:"pack,omitempty"`
	// Guard says which files at its output paths the job may replace. Nil is the
	// job of a muster that had no such rule: all of them.
	Guard *offer.Guard `json:"guard,omitempty"`
}

// An EnvVar is one variable.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// An Input is a file a job reads.
type Input struct {
	Name  string   `json:"name"`
	Paths []string `json:"paths"`          // absolute at the job's machine, key order
	List  string   `json:"list,omitempty"` // file with one path a line to be written before launch; "" = none
	// Recorded is the record of these files: the job starts on no other bytes. Empty = nothing
	// is compared.
	Recorded []Recorded `json:"recorded,omitempty"`
	// Partial: the job goes on with some of the producers. Missing are the keys of the
	// others, which a file beside List names, one a line.
	Partial bool     `json:"partial,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// Listed reports whether a file lists the paths of the input: one path needs no list.
func (in Input) Listed() bool { return in.List != "" || len(in.Paths) > 1 || in.Partial }

// Recorded is a job's record of an output that another job reads: of
// Input.Paths with the same index, or of the files that match Path.
type Recorded struct {
	Kind    string `json:"kind,omitempty"` // "path" or "" is a file; "glob", "dir"
	Workdir string `json:"workdir,omitempty"`
	Path    string `json:"path,omitempty"`   // of a glob its pattern, relative to Workdir
	Digest  string `json:"digest,omitempty"` // "" = the end of the job with Token says it
	// Stamp is offer.Stamp of the files where the job runs, taken with the digest;
	// 0 = the digest is taken again.
	Stamp uint64 `json:"stamp,omitempty"`
	// Token and Output name an output of a job on the same backend that had not
	// ended when this one was submitted.
	Token  string `json:"token,omitempty"`
	Output string `json:"output,omitempty"`
}

// An Output is a file a job must leave behind.
type Output struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`                // "path", "glob", "dir"
	Path     string        `json:"path"`                // relative to the workdir, or absolute
	MinCount int           `json:"min_count,omitempty"` // of a glob: 0 is 1; NoneNeeded
	MinSize  int64         `json:"min_size,omitempty"`
	Verify   []VerifyCheck `json:"verify,omitempty"`
	Shared   bool          `json:"shared,omitempty"`
	// The limit of its verification; 0 = by the job's walltime. See verify.BoundOf.
	VerifyTimeout time.Duration `json:"verify_timeout,omitempty"`
	VerifyMaxSize int64         `json:"verify_max_size,omitempty"` // bytes read and unpacked
	// Metrics are values that a VerifyRequest with Open reads from it. Those of a
	// job are in Job.Metrics.
	Metrics []Metric `json:"metrics,omitempty"`
}

// NoneNeeded is the MinCount of a glob that may match no file.
const NoneNeeded = -1

// A VerifyCheck is one check of an output; see package wrapper/verify.
type VerifyCheck struct {
	Kind    string `json:"kind"`
	Command string `json:"command,omitempty"`
	File    string `json:"file,omitempty"`
}

// A Metric is a value to read from a verified output.
type Metric struct {
	Name   string `json:"name"`
	Output string `json:"output"`
	JSON   string `json:"json,omitempty"`
	Column string `json:"column,omitempty"`
	Regex  string `json:"regex,omitempty"`
	// Required makes a job that leaves no such value fail as bad_output.
	Required bool `json:"required,omitempty"`
}

// Require is a file that must be there.
type Require struct {
	Path    string `json:"path"`
	MinSize int64  `json:"min_size,omitempty"`
	Message string `json:"message,omitempty"`
}

// Checkpoint tells a job how to resume.
type Checkpoint struct {
	Path string `json:"path,omitempty"`
	Glob bool   `json:"glob,omitempty"` // Path is a pattern: the newest that matches is resumed from
	Keep int    `json:"keep,omitempty"` // of a pattern: how many of the job's own stay; 0 = all
	// KeepLowest and KeepHighest are metrics in the names of checkpoints, as NAME=NUMBER, whose
	// best stays, too; "" = none.
	KeepLowest  string        `json:"keep_lowest,omitempty"`
	KeepHighest string        `json:"keep_highest,omitempty"`
	Interval    time.Duration `json:"interval,omitempty"`
	Steps       int64         `json:"steps,omitempty"` // of the work between two; 0 = not stated
	Signal      string        `json:"signal,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"`
	// MinSize and Verify are the checks that one must pass before a launch resumes from it;
	// with neither nothing is checked.
	MinSize       int64         `json:"min_size,omitempty"`
	Verify        []VerifyCheck `json:"verify,omitempty"`
	VerifyTimeout time.Duration `json:"verify_timeout,omitempty"` // 0: a quarter of the walltime
	// CopyTo is where the machine copies checkpoints to, as package offsite reads it; "" = nowhere.
	CopyTo string `json:"copy_to,omitempty"`
	// Fresh says that checkpoints which are there before the first launch under the token were made
	// by other work: by a smoke, for a result that is replaced, or for the job as it was defined
	// before. They are moved aside, and the job begins from the start.
	Fresh bool `json:"fresh,omitempty"`
}

// Checked reports whether a launch resumes only from one that passes its checks.
func (c Checkpoint) Checked() bool { return c.MinSize > 0 || len(c.Verify) > 0 }

// Watch has the conditions that end or flag a running job. The zero value watches
// nothing.
type Watch struct {
	Forbid       []string      `json:"forbid,omitempty"`        // RE2 patterns on lines that the job prints; a match ends it
	StalledAfter time.Duration `json:"stalled_after,omitempty"` // without output and without a checkpoint; 0 = never
	End          bool          `json:"end,omitempty"`           // a stalled job is ended; else it is only shown
	Ready        string        `json:"ready,omitempty"`         // RE2 pattern on a line that it prints when its work began; "" = none
	ReadyWithin  time.Duration `json:"ready_within,omitempty"`  // after its start; later than that without the line it is stalled
}

// None reports whether nothing is watched.
func (w Watch) None() bool { return len(w.Forbid) == 0 && w.StalledAfter == 0 && w.Ready == "" }

// Retry is the retry policy of a job, and Scale its factors.
type (
	Retry = retry.Policy
	Scale = retry.Scale
)

// Breaker is the breaker of the job's phase, or of its setting in a trial.
type Breaker struct {
	SameError int     `json:"same_error,omitempty"`
	Share     float64 `json:"share,omitempty"`
	Jobs      int     `json:"jobs,omitempty"` // that it counts, in all; 0 = not told
	// Of is the address of the jobs that it counts and stops; "" = of the job's phase.
	Of string `json:"of,omitempty"`
}

// StoppedAs names the jobs that a job's breaker counts and stops: the name of a phase, or the
// address of jobs of one.
func (j *Job) StoppedAs() string { return cmp.Or(j.Breaker.Of, j.Phase) }

// A SubmitRequest submits jobs to one backend under a fence.
type SubmitRequest struct {
	Backend string
	Fence   uint64
	Holder  string // of the lease that Fence numbers; "" = not told
	Batch   string // token of the batch
	Jobs    []Job
}

// Submitted is the outcome for one job.
type Submitted struct {
	Token  string
	Handle string // of a scheduler: "" while it takes no more, and the backend keeps the job
	Err    *Error // nil when accepted
	Stage  offer.Stage
	HeldBy offer.Holder
	Queue  string // identity of the queue that has the job, as in offer.Pool
}

// A WatchRequest names what to watch.
type WatchRequest struct {
	Backend string
	Handles []string // empty = every job of this campaign there
	Cursor  string   // where to go on; "" = from everything not yet acknowledged
	// Ack says that everything up to this cursor is safe with the caller, and
	// may be forgotten; "" acknowledges nothing.
	Ack string
}

// A Batch of observations, with the cursor to resume after it.
type Batch struct {
	Cursor string
	Events []offer.Observation
	// Notes are facts of the backend itself: a breaker opened, a host rebooted.
	Notes []Note
	// Rentals are the machines of which something changed, from the order on: the first
	// batch has all that may be billed.
	Rentals []offer.Rental
}

// A Note is something a backend says that is not about one job.
type Note struct {
	Kind  string `json:"kind"`            // "breaker", "reboot", "unreachable" and "reachable" (it, or hosts of it), "info"
	Phase string `json:"phase,omitempty"` // or what else a breaker stops, as Job.StoppedAs has it
	Text  string `json:"text"`
}

// A CancelRequest ends jobs.
type CancelRequest struct {
	Backend string
	Fence   uint64
	Holder  string // of the lease that Fence numbers; "" = not told
	Tokens  []string
	// Handles are ended beside Tokens: second jobs of tokens that go on
	// (offer.Observation, Duplicate). They have no outcome.
	Handles []string
	Grace   time.Duration
}

// An Outcome is the result for one token or id.
type Outcome struct {
	ID   string
	What string // "cancelled", "ended already", "not found"
	Err  *Error
}

// A ControlRequest changes which jobs a backend may start by itself.
type ControlRequest struct {
	Backend string
	Fence   uint64
	Holder  string         // of the lease that Fence numbers; "" = not told
	Hold    *bool          // stop or resume starts of this campaign
	Tokens  []string       // only these; empty = all
	Cap     *int           // campaign's cap on this backend
	Phases  map[string]int // caps of phases, in place of those that jobs came with; negative = none
	Resume  []string       // whose breaker is closed, as Job.StoppedAs has it
}

// A LogRequest names a log.
type LogRequest struct {
	Backend string
	Token   string
	Handle  string
	Attempt int // 0 = the last
	Stderr  bool
	Offset  int64
	Lines   int // last n lines; 0 = all
	Follow  bool
}

// A VerifyRequest checks outputs where they are.
type VerifyRequest struct {
	Backend string
	Workdir string
	Outputs []Output
	Open    bool // open and check; else only stat
}

// FileInfo is a file on a backend.
type FileInfo struct {
	Path  string
	Size  int64
	MTime int64
	Inode uint64
	Dir   bool
}

// A RemoveRequest moves aside or deletes, and then renames.
type RemoveRequest struct {
	Backend string
	Fence   uint64
	Holder  string // of the lease that Fence numbers; "" = not told
	Paths   []string
	To      string // folder to move to; "" deletes
	Renames []Rename
}

// A Rename gives a file or a folder another path on its filesystem, never over
// another one. One that is not there is left out.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A Check is the needs of like jobs that preflight checks.
type Check struct {
	Addresses []string // the jobs that it checks for
	Workdir   string
	Setup     []string
	Env       []EnvVar
	Shape     offer.Shape
	Pool      string
	Options   json.RawMessage
	Require   []Require
	Disk      int64  // bytes that must be free in the file system of workdir
	Keep      int64  // bytes that would be needed there if every job kept all it declares: less is worth a warning
	Image     string // "" = none
	Files     int64  // files that jobs still to be done will leave there, as far as is known
	Jobs      int64  // those jobs: the log and the records of each are there, too
}

// SetupEnv are the variables that the setup names: those on which whether it
// works may depend.
func (c Check) SetupEnv() (out []EnvVar) {
	for _, e := range c.Env {
		if slices.ContainsFunc(c.Setup, func(line string) bool { return strings.Contains(line, e.Name) }) {
			out = append(out, e)
		}
	}
	return out
}

// A Finding is a fault or a fact that preflight found.
type Finding struct {
	Check   int // index into the checks; -1 = the backend as a whole
	Warning bool
	Summary string
	Detail  string
	// Pauses marks a problem that will pass: until then nothing may start where the check's jobs
	// work, but the plan stays valid. A new campaign does not begin; one that has begun waits.
	Pauses bool
}

// ErrorClass says what kind of error a provider met.
type ErrorClass string

// The classes. Only Unreachable is retried.
const (
	Auth        ErrorClass = "auth"
	Unreachable ErrorClass = "unreachable"
	Quota       ErrorClass = "quota"
	Invalid     ErrorClass = "invalid"
	NotFound    ErrorClass = "not_found"
	Conflict    ErrorClass = "conflict"
	StaleFence  ErrorClass = "stale_fence"
	Withheld    ErrorClass = "withheld" // nothing was asked: this user has not allowed it
	Internal    ErrorClass = "internal"
)

// An Error is a provider's diagnostic.
type Error struct {
	Class   ErrorClass `json:"class"`
	Summary string     `json:"summary"`
	Detail  string     `json:"detail,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	// Login is the command by which a person lets muster in; empty unless the
	// backend waits for that.
	Login string `json:"login,omitempty"`
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Summary
	}
	return e.Summary + ": " + e.Detail
}

// WithHint is the text of an error, and its advice where it has one.
func WithHint(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Login != "" {
		return e.Summary // it ends with the command, which is all there is to do
	}
	if e == nil || e.Hint == "" {
		return err.Error()
	}
	stop := ". "
	if first, _ := utf8.DecodeRuneInString(e.Hint); unicode.IsLower(first) {
		stop = "; "
	}
	return strings.TrimSuffix(err.Error(), ".") + stop + e.Hint
}

// IsWithheld reports whether nothing was asked because this user has not allowed it.
func IsWithheld(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == Withheld
}

// Errorf makes an Error of a class.
func Errorf(class ErrorClass, format string, args ...any) *Error {
	return &Error{Class: class, Summary: fmt.Sprintf(format, args...)}
}
