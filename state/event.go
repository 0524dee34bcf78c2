package state

import (
	"encoding/json"
	"time"
)

// An Event is one fact. Events are the only way a State changes; each is one
// line of the journal, tagged with its Kind.
type Event interface {
	Kind() string
	event()
}

// Campaign facts.
type (
	// Began opens a campaign's state or notes its configuration.
	Began struct {
		Lineage   string              `json:"lineage,omitempty"`
		Campaign  string              `json:"campaign"`
		Muster    string              `json:"muster"`
		Variables map[string]Variable `json:"variables,omitempty"`
		Backends  map[string]Backend  `json:"backends,omitempty"`
		Protected []string            `json:"protected,omitempty"`
		// Unprotected are phases still in the campaign that no longer ask for
		// prevent_rerun; a phase that left stays protected.
		Unprotected []string  `json:"unprotected,omitempty"`
		At          time.Time `json:"at"`
	}
	// Defined stores a definition by content.
	Defined struct {
		Digest     string          `json:"digest"`
		Definition json.RawMessage `json:"definition"`
	}
	// Approved records an approval as begun; Finished ends it.
	Approved struct{ Approval }
	Finished struct {
		Plan    string    `json:"plan"`
		Outcome string    `json:"outcome"`
		At      time.Time `json:"at"`
	}
)

// Job facts.
type (
	// Intended is durable before a backend is called. It opens an attempt.
	Intended struct {
		Job     Job       `json:"job"` // identity and hashes; Status and Attempts are ignored
		Attempt Attempt   `json:"attempt"`
		Fresh   bool      `json:"fresh,omitempty"` // attempts count from 1 again
		At      time.Time `json:"at"`
	}
	// Submitted gives an attempt its handle.
	Submitted struct {
		Address string    `json:"address"`
		Token   string    `json:"token"`
		Handle  string    `json:"handle"`
		Stage   string    `json:"stage,omitempty"`
		Queue   string    `json:"queue,omitempty"`
		At      time.Time `json:"at"`
	}
	// NotSubmitted withdraws an intent the backend surely does not have.
	NotSubmitted struct {
		Address string    `json:"address"`
		Token   string    `json:"token"`
		Reason  string    `json:"reason"`
		At      time.Time `json:"at"`
	}
	// Observed folds a backend's report of an attempt. N may be one more than the
	// last: a launch the host queue made by itself.
	Observed struct {
		Address string            `json:"address"`
		Token   string            `json:"token"`
		Status  Status            `json:"status"` // queued, running, verifying, waiting, completed, failed, cancelled
		Attempt Attempt           `json:"attempt"`
		Outputs []Output          `json:"outputs,omitempty"`
		Metrics map[string]string `json:"metrics,omitempty"`
		Unread  map[string]string `json:"unread,omitempty"` // metrics without a value, and why
		Inputs  map[string]string `json:"inputs,omitempty"` // digests of inputs that were not known when it was submitted
		Reason  string            `json:"reason,omitempty"`
		Cause   string            `json:"cause,omitempty"` // see Job.Cause
		Retry   time.Time         `json:"retry,omitzero"`
		Short   string            `json:"short,omitempty"` // see Job.Short
		Spent   *Entry            `json:"spent,omitempty"`
		At      time.Time         `json:"at"`
	}
	// HeldJob holds one job: attempts used up, breaker, action, a person.
	HeldJob struct {
		Address string `json:"address"`
		Reason  string `json:"reason"`
		By      string `json:"by"`
		// Cancelled says that a person cancelled it before it started.
		Cancelled bool      `json:"cancelled,omitempty"`
		At        time.Time `json:"at"`
		// Job has the identity fields of the job that was cancelled; its record may have those
		// of an earlier one.
		Job *Job `json:"job,omitempty"`
	}
	// Freed lets a held, failed or cancelled job start again, attempts from 1.
	Freed struct {
		Address string    `json:"address"`
		By      string    `json:"by"`
		At      time.Time `json:"at"`
		// Print is the fingerprint of a smoke, whose failure no longer counts whatever address
		// it was recorded under. "" for other jobs.
		Print string `json:"print,omitempty"`
	}
	// MovedJob gives a record another address.
	MovedJob struct {
		From string            `json:"from"`
		To   string            `json:"to"`
		Axes map[string]string `json:"axes,omitempty"`
		Job  *Job              `json:"job,omitempty"` // new identity fields, where the phase changed
		At   time.Time         `json:"at"`
	}
	// Forgot drops a job that left the campaign; Hard drops its record, too.
	Forgot struct {
		Address string    `json:"address"`
		Hard    bool      `json:"hard,omitempty"`
		At      time.Time `json:"at"`
	}
	// Accepted lets a completed job stand although its hash changed.
	Accepted struct {
		Address string    `json:"address"`
		Result  string    `json:"result"`
		By      string    `json:"by"`
		At      time.Time `json:"at"`
	}
	// Reused completes a job with a result that is there already, so that it
	// does not run: one that was replaced, or files that a person had made.
	Reused struct {
		Job Job `json:"job"` // identity and hashes, as in Intended
		// From and Token name the result that was replaced, by the key under which
		// it is kept and the token of its last attempt; "" = files of a person's.
		From  string `json:"from,omitempty"`
		Token string `json:"token,omitempty"`
		// Attempt, Metrics and Unread are of files that a person had made.
		Attempt Attempt           `json:"attempt,omitzero"`
		Metrics map[string]string `json:"metrics,omitempty"`
		Unread  map[string]string `json:"unread,omitempty"`
		Outputs []Output          `json:"outputs"`          // as they are now
		Folder  string            `json:"folder,omitempty"` // where the files that they replaced were moved to; see Replaced
		By      string            `json:"by"`
		At      time.Time         `json:"at"`
	}
	// MetricsRead records metrics of a completed job that were read again from its outputs,
	// with the fingerprints of their definitions.
	MetricsRead struct {
		Address string            `json:"address"`
		Metrics map[string]string `json:"metrics,omitempty"`
		Unread  map[string]string `json:"unread,omitempty"`
		Read    map[string]string `json:"read"`
		At      time.Time         `json:"at"`
	}
	// OutputsSeen records the finding of a refresh or a copy about a job's files.
	OutputsSeen struct {
		Address string    `json:"address"`
		Outputs []Output  `json:"outputs"`
		At      time.Time `json:"at"`
	}
)

// Gates, holds, money.
type (
	Validated struct{ Validation }
	Overrode  struct{ Override }
	Noted     struct{ Note }
	Reviewed  struct{ Review }
	HoldSet   struct{ Hold }
	HoldClear struct {
		Address string    `json:"address,omitempty"`
		By      string    `json:"by"`
		At      time.Time `json:"at"`
	}
	BreakerOpened struct{ Breaker }
	BreakerClosed struct {
		Phase string    `json:"phase"`
		Of    string    `json:"of,omitempty"` // as Breaker.Of
		By    string    `json:"by"`
		At    time.Time `json:"at"`
	}
	Paused   struct{ Pause }
	Unpaused struct {
		Backend string    `json:"backend"`
		At      time.Time `json:"at"`
	}
	Unreachable struct{ Away }
	Reachable   struct {
		Backend string    `json:"backend"`
		At      time.Time `json:"at"`
	}
	Spent  struct{ Entry }
	Rented struct {
		Rental
		Order string `json:"order,omitempty"` // id that it had before its cloud gave it one
	}
)

func (Began) event()         {}
func (Defined) event()       {}
func (Approved) event()      {}
func (Finished) event()      {}
func (Intended) event()      {}
func (Submitted) event()     {}
func (NotSubmitted) event()  {}
func (Observed) event()      {}
func (HeldJob) event()       {}
func (Freed) event()         {}
func (MovedJob) event()      {}
func (Renamed) event()       {}
func (Forgot) event()        {}
func (Accepted) event()      {}
func (Reused) event()        {}
func (MetricsRead) event()   {}
func (OutputsSeen) event()   {}
func (Validated) event()     {}
func (Overrode) event()      {}
func (Noted) event()         {}
func (Reviewed) event()      {}
func (HoldSet) event()       {}
func (HoldClear) event()     {}
func (BreakerOpened) event() {}
func (BreakerClosed) event() {}
func (Paused) event()        {}
func (Unpaused) event()      {}
func (Unreachable) event()   {}
func (Reachable) event()     {}
func (Spent) event()         {}
func (Rented) event()        {}

// Kind is the event's tag in the journal.
func (Began) Kind() string         { return "began" }
func (Defined) Kind() string       { return "defined" }
func (Approved) Kind() string      { return "approved" }
func (Finished) Kind() string      { return "finished" }
func (Intended) Kind() string      { return "intended" }
func (Submitted) Kind() string     { return "submitted" }
func (NotSubmitted) Kind() string  { return "not_submitted" }
func (Observed) Kind() string      { return "observed" }
func (HeldJob) Kind() string       { return "held" }
func (Freed) Kind() string         { return "freed" }
func (MovedJob) Kind() string      { return "moved" }
func (Renamed) Kind() string       { return "renamed" }
func (Forgot) Kind() string        { return "forgot" }
func (Accepted) Kind() string      { return "accepted" }
func (Reused) Kind() string        { return "reused" }
func (MetricsRead) Kind() string   { return "metrics_read" }
func (OutputsSeen) Kind() string   { return "outputs_seen" }
func (Validated) Kind() string     { return "validated" }
func (Overrode) Kind() string      { return "overrode" }
func (Noted) Kind() string         { return "noted" }
func (Reviewed) Kind() string      { return "reviewed" }
func (HoldSet) Kind() string       { return "hold_set" }
func (HoldClear) Kind() string     { return "hold_clear" }
func (BreakerOpened) Kind() string { return "breaker_opened" }
func (BreakerClosed) Kind() string { return "breaker_closed" }
func (Paused) Kind() string        { return "paused" }
func (Unpaused) Kind() string      { return "unpaused" }
func (Unreachable) Kind() string   { return "unreachable" }
func (Reachable) Kind() string     { return "reachable" }
func (Spent) Kind() string         { return "spent" }
func (Rented) Kind() string        { return "rented" }
