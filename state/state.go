// Package state is muster's record of a campaign: a fold over events. Only
// Apply changes a State; the same events give the same State.
package state

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// SchemaVersion is the version of the snapshot this muster writes.
const SchemaVersion = 1

// A State is the fold of all events of a campaign. Only jobs ever attempted,
// held or adopted take room in it.
type State struct {
	Version  int    `json:"version"`
	Lineage  string `json:"lineage"` // 128 random bits, hex; made at the first plan that is saved or applied
	Serial   uint64 `json:"serial"`  // count of snapshots
	Campaign string `json:"campaign"`
	Muster   string `json:"muster"` // version that wrote it
	Fence    uint64 `json:"fence"`  // holder of the lease that wrote the last event folded in
	Seq      uint64 `json:"seq"`    // number of the last event folded in; kept by the store

	Variables   map[string]Variable        `json:"variables,omitempty"`
	Definitions map[string]json.RawMessage `json:"definitions,omitempty"` // by digest
	Backends    map[string]Backend         `json:"backends,omitempty"`    // the configuration to reach them, less secrets
	Jobs        map[string]*Job            `json:"-"`                     // by address; one line each in the snapshot
	Earlier     map[string][]Attempt       `json:"earlier,omitempty"`     // by key; see Past
	Replaced    map[string][]Replaced      `json:"replaced,omitempty"`    // by key, oldest first
	Validations map[string]Validation      `json:"validations,omitempty"` // smoke fingerprints that passed or failed
	Approvals   []Approval                 `json:"approvals,omitempty"`
	Reviews     map[string][]Review        `json:"reviews,omitempty"` // by plan id
	Ledger      []Entry                    `json:"ledger,omitempty"`
	Rentals     map[string]Rental          `json:"rentals,omitempty"`
	Holds       []Hold                     `json:"holds,omitempty"`
	Overrides   []Override                 `json:"overrides,omitempty"`
	Notes       map[string][]Note          `json:"notes,omitempty"`     // by address of a job or a phase, oldest first
	Breakers    map[string]Breaker         `json:"breakers,omitempty"`  // open breakers by phase or setting
	Pauses      map[string]Pause           `json:"pauses,omitempty"`    // full volumes by backend, or BACKEND/POOL
	Away        map[string]Away            `json:"away,omitempty"`      // backends that cannot be asked, or BACKEND/POOL
	Protected   map[string]bool            `json:"protected,omitempty"` // phases with prevent_rerun, remembered when the block is gone

	rows   [][]Job           // as a snapshot has them, until an event changes a record
	filled int               // how many they are
	ledger map[ledgerKey]int // last entry of each key, so that a correction costs the same in any ledger
	paid   map[string][]int  // entries by address, once a record has moved
	alike  alike             // of launches
}

// New is the state of a campaign to which nothing has happened.
func New(campaign string) *State {
	return &State{Version: SchemaVersion, Campaign: campaign, Jobs: map[string]*Job{}}
}

// A Variable is a value the campaign was last applied with. Sensitive ones
// leave only a keyed digest.
type Variable struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Digest string          `json:"digest,omitempty"`
}

// A Backend is kept so that jobs of a backend that left the campaign can
// still be asked about.
type Backend struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config,omitempty"` // as given to providers.Configure, less secrets
}

// Status is where a job is.
type Status string

// The stored statuses. A job without a record is pending; unknown is never
// stored: it means that a refresh could not find out.
const (
	Submitting Status = "submitting" // intent durable, outcome not yet known
	Queued     Status = "queued"
	Running    Status = "running"
	Verifying  Status = "verifying"
	Waiting    Status = "waiting" // failed, will be tried again
	Completed  Status = "completed"
	Failed     Status = "failed"
	Held       Status = "held"
	Cancelled  Status = "cancelled"
	Forgotten  Status = "forgotten" // left the campaign; kept for its hash and outputs
)

// Active reports whether a job may be running or may yet start by itself.
func (s Status) Active() bool {
	switch s {
	case Submitting, Queued, Running, Verifying, Waiting:
		return true
	}
	return false
}

// A Job is one address that was ever attempted, held or adopted. A smoke has
// a record of its own under the address with Smoke set (see SmokeAddress).
type Job struct {
	Address    string    `json:"address"`
	Phase      string    `json:"phase"`
	Axes       Texts     `json:"axes,omitempty"`
	Smoke      bool      `json:"smoke,omitempty"`
	Name       string    `json:"name,omitempty"`
	Definition string    `json:"definition,omitempty"` // digest
	Scheme     int       `json:"scheme,omitempty"`     // of the hashes
	Result     string    `json:"result,omitempty"`     // result hash, hex
	Request    string    `json:"request,omitempty"`    // request hash, hex
	Source     string    `json:"source,omitempty"`     // source digest
	Inputs     Texts     `json:"inputs,omitempty"`     // input name → producers' result hash (or hash of them)
	InputBytes Texts     `json:"input_bytes,omitempty"`
	Status     Status    `json:"status"`
	Class      string    `json:"class,omitempty"`  // failure class of the last attempt
	Reason     string    `json:"reason,omitempty"` // why held, cancelled or waiting; in words
	Cause      string    `json:"cause,omitempty"`  // why it waits, as its backend's code; "" = none
	By         string    `json:"by,omitempty"`     // who held or cancelled it
	Retry      time.Time `json:"retry,omitzero"`   // when a waiting job is tried again
	Short      string    `json:"short,omitempty"`  // which limit keeps it in its queue, in words; "" = none
	Attempts   []Attempt `json:"attempts,omitempty"`
	Outputs    []Output  `json:"outputs,omitempty"`
	// Kept are the outputs of the result that a run replaces, until that run
	// completes: they are the job's own, whether they were moved aside or not.
	Kept    []Output          `json:"kept,omitempty"`
	Metrics map[string]string `json:"metrics,omitempty"` // name → JSON text
	Unread  map[string]string `json:"unread,omitempty"`  // metrics without a value: name → why
	// Read are the fingerprints of the definitions by which metrics were read again; the others
	// were read by Definition.
	Read     Texts     `json:"read,omitempty"`
	Accepted string    `json:"accepted,omitempty"` // result hash accepted with -accept
	Moved    string    `json:"moved,omitempty"`    // address it had before
	Updated  time.Time `json:"updated,omitzero"`
}

// SmokeAddress is the key in State.Jobs of the smoke of an address.
func SmokeAddress(address string) string { return smokePrefix + address }

const smokePrefix = "smoke."

// Key is the job's key in State.Jobs: its address, or SmokeAddress of it.
func (j *Job) Key() string {
	if j.Smoke && !strings.HasPrefix(j.Address, smokePrefix) {
		return SmokeAddress(j.Address)
	}
	return j.Address
}

// An Attempt is one execution of a job on a backend.
type Attempt struct {
	N       int    `json:"n"`     // launch, counted from 1
	Token   string `json:"token"` // 32 hex digits; TOKEN/N from the host queue's second launch on
	Backend string `json:"backend"`
	Pool    string `json:"pool,omitempty"`
	Handle  string `json:"handle,omitempty"`
	// Stage is how far it has come in its queue: "accepted", "submitted" or
	// "released", as in offer.Stage; "" = not recorded. It counts while the job is queued.
	Stage string `json:"stage,omitempty"`
	// Host is that of a backend with one host, as configured when the job was submitted.
	Host string `json:"host,omitempty"`
	// Workdir is where the job was submitted to run. The campaign's folder may move later; "" = not recorded.
	Workdir string `json:"workdir,omitempty"`
	// Queue is the identity of the job's queue there, "" where it told none.
	Queue   string  `json:"queue,omitempty"`
	Plan    string  `json:"plan,omitempty"` // plan id that approved it
	Fence   uint64  `json:"fence,omitempty"`
	Ceiling Amounts `json:"ceiling,omitempty"`
	// Rates are its rates and charged sizes at its launch, whatever its place or its phase
	// says later; nil = not recorded, or nothing is charged.
	Rates   map[string]string `json:"rates,omitempty"`
	Intent  time.Time         `json:"intent,omitzero"`
	Queued  time.Time         `json:"queued,omitzero"`
	Started time.Time         `json:"started,omitzero"`
	// NotRun says that its command never began, so that it wrote nothing.
	NotRun   bool      `json:"not_run,omitempty"`
	Ended    time.Time `json:"ended,omitzero"`
	Node     string    `json:"node,omitempty"`
	GPUs     []string  `json:"gpus,omitempty"`
	Driver   string    `json:"driver,omitempty"` // version of the GPUs' driver on Node
	Exit     *int      `json:"exit,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	Class    string    `json:"class,omitempty"`
	Tail     []string  `json:"tail,omitempty"`
	Usage    *Usage    `json:"usage,omitempty"`
	Expected time.Time `json:"expected,omitzero"` // start the backend expects
	Why      string    `json:"why,omitempty"`     // why it waits, or why placed here
	// Planned is how long the job was expected to run when it was launched, in seconds; 0 = unknown.
	Planned float64 `json:"planned_seconds,omitempty"`
	// Adopter is who had files adopted: this attempt ran nothing, Ended is when they
	// were adopted, and Exit is 0 where an earlier attempt made them, else nil.
	Adopter string `json:"adopter,omitempty"`
	// Resources as asked for in this attempt, where scaling changed them.
	Scaled map[string]string `json:"scaled,omitempty"`
	// Replaces is where the outputs of the result that this attempt replaces
	// are moved to before its first launch.
	Replaces string `json:"replaces,omitempty"`
	// Duplicates are handles that showed the token of this attempt beside
	// Handle; at most one of them ran.
	Duplicates []string `json:"duplicates,omitempty"`
	// Result is the result hash that an attempt ran for which no longer counts; "" is that of its
	// record, or not known.
	Result string `json:"result,omitempty"`
	// Left lists the files of an unsuccessful attempt at the job's output paths;
	// nil where nobody looked.
	Left []Output `json:"left,omitempty"`
}

// Usage is the resource use of an attempt. -1 is unknown.
type Usage struct {
	Elapsed    float64 `json:"elapsed"`     // seconds
	CPU        float64 `json:"cpu"`         // seconds
	MaxRSS     int64   `json:"max_rss"`     // bytes
	GPUSeconds float64 `json:"gpu_seconds"` // devices × seconds
	GPUMaxMem  int64   `json:"gpu_max_mem"` // bytes
	// Billed is the backend's statement of its charge, in its own words: "391
	// billing-seconds"; "" = it says nothing.
	Billed string `json:"billed,omitempty"`
}

// An Output is a declared output as recorded when it was verified.
type Output struct {
	Name    string `json:"name"`
	Backend string `json:"backend"` // where it is
	Path    string `json:"path"`    // relative to the workdir
	Workdir string `json:"workdir,omitempty"`
	Size    int64  `json:"size"`
	Digest  string `json:"digest,omitempty"`
	MTime   int64  `json:"mtime,omitempty"` // nanoseconds
	Inode   uint64 `json:"inode,omitempty"`
	CTime   int64  `json:"ctime,omitempty"` // nanoseconds; 0 = not recorded
	Files   int    `json:"files,omitempty"`
	Copies  []Copy `json:"copies,omitempty"` // verified copies elsewhere
	Missing bool   `json:"missing,omitempty"`
}

// A Copy is a verified copy of an output on another backend.
type Copy struct {
	Backend string    `json:"backend"`
	Path    string    `json:"path"`
	Digest  string    `json:"digest"`
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds,omitempty"` // that moving it took; 0 = it was there, or not measured
	// Stamp is the file's stat there when Digest was taken; see providers/offer,
	// Stamp. 0 = not recorded.
	Stamp uint64 `json:"stamp,omitempty"`
}

// A Validation is a smoke's verdict for a fingerprint in an environment class.
type Validation struct {
	Fingerprint string            `json:"fingerprint"`
	Class       string            `json:"class"` // environment class: backend and GPU family
	Address     string            `json:"address"`
	Passed      bool              `json:"passed"`
	At          time.Time         `json:"at"`
	Metrics     map[string]string `json:"metrics,omitempty"`
	Message     string            `json:"message,omitempty"`
	Elapsed     float64           `json:"elapsed,omitempty"` // seconds
	// Params are those that the smoke had and a run did not.
	Params map[string]string `json:"params,omitempty"`
	// Repeats are the runs so far of a smoke that has to repeat its result. It has
	// neither passed nor failed while there are fewer than it needs.
	Repeats []SmokeRun `json:"repeats,omitempty"`
	Open    bool       `json:"open,omitempty"` // more runs are to come
	// Canary is the longer run that passed after the short ones; nil = none.
	Canary *SmokeRun `json:"canary,omitempty"`
	// Revoked says which job took the pass away, and how it failed: the smoke is
	// to run again before anything more is submitted.
	Revoked string `json:"revoked,omitempty"`
}

// Undecided reports whether the smoke has to run, or to run again, before it
// says anything.
func (v Validation) Undecided() bool { return !v.Passed && (v.Open || v.Revoked != "") }

// A SmokeRun is one of several runs of a smoke that must agree.
type SmokeRun struct {
	Elapsed float64           `json:"elapsed"` // seconds
	Metrics map[string]string `json:"metrics,omitempty"`
	Params  map[string]string `json:"params,omitempty"` // of a canary, as in Validation
}

// An Approval records who allowed a plan, and how far it came.
type Approval struct {
	Plan     string    `json:"plan"` // plan id
	Digest   string    `json:"digest"`
	Ceiling  Amounts   `json:"ceiling,omitempty"`
	Who      string    `json:"who"`
	Host     string    `json:"host,omitempty"`
	Begun    time.Time `json:"begun"`
	Finished time.Time `json:"finished,omitzero"`
	Outcome  string    `json:"outcome,omitempty"` // "done", "held", "stopped by budget"
	Saved    bool      `json:"saved,omitempty"`   // a saved plan file rather than a prompt
	// Forecast is the plan's expected cost and time; nil = it was not recorded.
	Forecast *Forecast          `json:"forecast,omitempty"`
	Muster   string             `json:"muster,omitempty"` // version that began it
	Revision                    // of the campaign's folder
	Programs map[string]Program `json:"programs,omitempty"` // the programs of each phase's jobs
	// Reruns are the completed jobs that the plan runs again, by address;
	// "phase.NAME" means all that were completed when it began.
	Reruns []string `json:"reruns,omitempty"`
}

// A Review is a person's approval of a saved plan that more than one person must
// approve. Who is the user name on the person's machine, not a signature.
type Review struct {
	Plan string    `json:"plan"` // plan id
	Who  string    `json:"who"`
	Host string    `json:"host,omitempty"`
	At   time.Time `json:"at"`
}

// A Revision is where a folder is in git.
type Revision struct {
	Commit string `json:"commit,omitempty"` // "" = in no repository
	Dirty  bool   `json:"dirty,omitempty"`  // with changes that are not committed
}

// A Program identifies the code and the environment of a phase's jobs.
type Program struct {
	Source string `json:"source,omitempty"` // digest
	Revision
	Images []string          `json:"images,omitempty"` // digests of images that are files, or that have one in their names
	Locks  map[string]string `json:"locks,omitempty"`  // digests of the files of the source that pin packages, by path
}

// A Forecast is the expected cost and time of a plan's launches and of jobs in flight at its
// approval.
type Forecast struct {
	Amounts map[string]Estimate      `json:"amounts"`                  // by unit
	Phases  map[string]PhaseForecast `json:"phases,omitempty"`         // by name
	Median  float64                  `json:"median_seconds,omitempty"` // walltime; 0 = unknown
	P90     float64                  `json:"p90_seconds,omitempty"`
}

// A PhaseForecast is the part of one phase.
type PhaseForecast struct {
	Jobs    int                 `json:"jobs"` // with the runs of its smokes
	Amounts map[string]Estimate `json:"amounts"`
}

// An Estimate is a quantity as decimal text; "" where it is unknown.
type Estimate struct {
	Expected string `json:"expected,omitempty"`
	P90      string `json:"p90,omitempty"`
	AtMost   string `json:"at_most,omitempty"`
}

// Old tells the jobs whose result the last plan that was begun runs again and
// has not yet: their records are from before.
func (s *State) Old() func(*Job) bool {
	if len(s.Approvals) == 0 {
		return func(*Job) bool { return false }
	}
	last := &s.Approvals[len(s.Approvals)-1]
	again := make(map[string]bool, len(last.Reruns))
	if last.Finished.IsZero() || last.Outcome != "done" {
		for _, address := range last.Reruns {
			again[address] = true
		}
	}
	return func(j *Job) bool {
		if len(again) == 0 || j == nil || j.Smoke || j.Status != Completed || !again[j.Address] && !again["phase."+j.Phase] {
			return false
		}
		at := j.Last()
		return at == nil || at.Ended.Before(last.Begun)
	}
}

// Superseded is the outcome of a plan that was begun and did not come to its end
// before another was. A saved one may still be carried on with.
const Superseded = "superseded"

// Ended reports whether the plan came to its end.
func (a *Approval) Ended() bool { return !a.Finished.IsZero() && a.Outcome != Superseded }

// Amounts are quantities by unit as decimal text: usd, gpu_hours, cpu_hours,
// node_hours, service_units.
type Amounts map[string]string

// An Entry of the ledger is the real cost of one attempt, transfer or rental.
type Entry struct {
	Address string    `json:"address"`
	Attempt int       `json:"attempt,omitempty"`
	Token   string    `json:"token,omitempty"` // first digits of the attempt's token: attempts may count from 1 again
	Plan    string    `json:"plan,omitempty"`  // whose approved ceiling counts it
	Backend string    `json:"backend"`
	Pool    string    `json:"pool,omitempty"`
	Phase   string    `json:"phase,omitempty"`
	At      time.Time `json:"at"`
	Spent   Texts     `json:"spent,omitempty"`   // Amounts
	Unknown bool      `json:"unknown,omitempty"` // billed, but how much is not known: counts at its ceiling
	// Unpriced are units in which it may have been billed, by a place that states
	// no price in them: Spent has nothing of them.
	Unpriced []string `json:"unpriced,omitempty"`
	// Estimated says that money and service units in Spent are by rates that a provider guesses,
	// and not by those of who bills.
	Estimated bool `json:"estimated,omitempty"`
}

// A RentalStatus is where a rented machine is.
type RentalStatus string

// The statuses of a rental; "" of one of which no more is known than that it is
// rented. It is billed until its provider says that it is gone.
const (
	RentalAsked    RentalStatus = "asked" // it was ordered, and the answer is not known
	RentalBooting  RentalStatus = "booting"
	RentalChecking RentalStatus = "checking" // it runs, and muster has not checked it against its offer
	RentalRunning  RentalStatus = "running"
	RentalStopped  RentalStatus = "stopped"
	RentalDeleting RentalStatus = "deleting" // asked to be given back
	RentalReleased RentalStatus = "released"
)

// Words say where the machine is, in a sentence such as "it is …" or "it has been … since".
func (s RentalStatus) Words() string {
	switch s {
	case "":
		return "rented"
	case RentalAsked:
		return "on order"
	case RentalChecking:
		return "in its check"
	case RentalDeleting:
		return "in deletion"
	}
	return string(s)
}

// A Rental is a machine we rent.
type Rental struct {
	ID      string       `json:"id"`
	Kind    string       `json:"kind,omitempty"` // its machine: "1× RTX 4090"
	Backend string       `json:"backend"`
	Since   time.Time    `json:"since"` // when it came into this Status
	Status  RentalStatus `json:"status"`
	PerHour string       `json:"per_hour,omitempty"`
	// Began and Ended are the cloud's own start and end of billing, zero where it does
	// not say; Billed is the USD that it asks so far, "" where it does not say.
	Began  time.Time `json:"began,omitzero"`
	Ended  time.Time `json:"ended,omitzero"`
	Billed string    `json:"billed,omitempty"`
	// Metered is since when it is billed at PerHour, and Spent its cost until then, USD; the
	// time since is billed rounded up to Unit. A zero Metered is not known.
	Metered time.Time     `json:"metered,omitzero"`
	Spent   string        `json:"spent,omitempty"`
	Unit    time.Duration `json:"unit,omitempty"`
	// Account is the cloud's own id of who rents it, "" where it does not say; AccountKey
	// is a digest that tells the key that rented it from others.
	Account    string `json:"account,omitempty"`
	AccountKey string `json:"account_key,omitempty"`
}

// Rented reports whether the machine is there, and so billed.
func (r Rental) Rented() bool { return r.Status != RentalReleased }

// Cost is the machine's cost until a time, USD: as its cloud bills it, else its rate since it is
// billed at that, and its cost before, else its rate from the cloud's own start of billing to
// its own end. It is not known where the cloud told none of these, nor, without the first two,
// while a stopped machine is billed at another rate than it ran at.
func (r Rental) Cost(now time.Time) (usd decimal.Decimal, known bool) {
	if d, err := decimal.NewFromString(r.Billed); err == nil {
		return d, true
	}
	rate, err := decimal.NewFromString(r.PerHour)
	if before, bad := decimal.NewFromString(r.Spent); err == nil && bad == nil && !r.Metered.IsZero() && r.Rented() {
		d := max(now.Sub(r.Metered), 0)
		if over := d % max(r.Unit, 1); over > 0 {
			d += r.Unit - over
		}
		return before.Add(hourly(rate, d)), true
	}
	if err != nil || r.Began.IsZero() || r.Status == RentalStopped || !r.Rented() && r.Ended.IsZero() {
		return decimal.Zero, false
	}
	if !r.Ended.IsZero() {
		now = r.Ended
	}
	return hourly(rate, max(now.Sub(r.Began), 0)), true
}

// hourly is an amount an hour for a duration.
func hourly(rate decimal.Decimal, d time.Duration) decimal.Decimal {
	return rate.Mul(decimal.NewFromInt(int64(d))).DivRound(decimal.NewFromInt(int64(time.Hour)), 15)
}

// A Hold stops starts: everywhere (Address "") or for a selection.
type Hold struct {
	Address string    `json:"address,omitempty"`
	Who     string    `json:"who"`
	Reason  string    `json:"reason,omitempty"`
	Cancel  bool      `json:"cancel,omitempty"` // of a re-run that a person cancelled: only its address lifts it
	At      time.Time `json:"at"`
}

// An Override lets a gate pass on a person's word.
type Override struct {
	Address     string    `json:"address"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Who         string    `json:"who"`
	Reason      string    `json:"reason"`
	At          time.Time `json:"at"`
}

// A Note is a person's remark about a job or a phase. It stays with the address,
// whatever happens to the job, and follows a job that moves.
type Note struct {
	Address string    `json:"address"`
	Who     string    `json:"who"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

// Muster is the author of notes about actions that no person took.
const Muster = "muster"

// A Pause keeps launches from a backend, or of one of its hosts, until the
// volume where their jobs work has room.
type Pause struct {
	Backend string    `json:"backend"` // or BACKEND/POOL
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// An Away is a backend, or a host of one, that cannot be asked: nothing is known
// of the jobs there since.
type Away struct {
	Backend string    `json:"backend"` // or BACKEND/POOL
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// AwayFrom is why a backend or its pool cannot be asked, and since when.
func (s *State) AwayFrom(backend, pool string) (a Away, away bool) {
	if a, away = s.Away[backend]; !away && pool != "" {
		a, away = s.Away[backend+"/"+pool]
	}
	return a, away
}

// A Breaker that is open stops starts in its phase until resume, or those of one setting of the
// phase's trial.
type Breaker struct {
	Phase  string    `json:"phase"`
	Of     string    `json:"of,omitempty"` // address of the setting's jobs; "" = all of the phase
	Cause  string    `json:"cause"`
	Count  int       `json:"count"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// Stops names the jobs that a breaker stops: the name of its phase, or the address of a
// setting's jobs.
func (b Breaker) Stops() string { return cmp.Or(b.Of, b.Phase) }

// Address is Stops as an address.
func (b Breaker) Address() string { return cmp.Or(b.Of, "phase."+b.Phase) }
