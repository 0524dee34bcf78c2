package queue

import (
	"encoding/json"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure/breaker"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// An entry is one line of the log. Exactly one of its pointers is set. The
// state of the queue is the fold of its entries.
type entry struct {
	// Seq numbers the event for watchers; 0 = no event.
	Seq uint64 `json:"q,omitempty"`

	Meta      *metaEntry      `json:"meta,omitempty"`
	Place     *placeEntry     `json:"place,omitempty"`
	Environ   *environEntry   `json:"environ,omitempty"`
	Job       *jobEntry       `json:"job,omitempty"`
	Step      *stepEntry      `json:"step,omitempty"`
	Event     *eventEntry     `json:"event,omitempty"`
	Fence     *fenceEntry     `json:"fence,omitempty"`
	Rule      *ruleEntry      `json:"rule,omitempty"`
	Base      *baseEntry      `json:"base,omitempty"`
	Ack       *ackEntry       `json:"ack,omitempty"`
	Tombstone *tombstoneEntry `json:"grave,omitempty"`
	Breaker   *breakerEntry   `json:"breaker,omitempty"`
}

// metaEntry opens a log and marks each start of a queue.
type metaEntry struct {
	Version int    `json:"version"`
	Spool   string `json:"spool"` // random name of this log's history; part of every cursor
	Boot    string `json:"boot"`
	Seq     uint64 `json:"seq"`
}

// placeEntry sets a place; the numbers are this log's own.
type placeEntry struct {
	N     int            `json:"n"`
	Place machine.Tenant `json:"place"`
}

// environEntry is an environment that jobs start from, named by its digest.
type environEntry struct {
	Name string             `json:"name"`
	Vars []providers.EnvVar `json:"vars"`
}

// jobEntry adds a job.
type jobEntry struct {
	Place   int             `json:"place"`
	Order   int64           `json:"order"`
	Hash    string          `json:"hash"`
	Environ string          `json:"environ,omitempty"`
	Secret  bool            `json:"secret,omitempty"` // secrets are kept apart for it
	Spec    json.RawMessage `json:"spec"`
}

// stepEntry moves a job on; with a Seq its observation is an event.
type stepEntry struct {
	Token string   `json:"j"`
	Now   jobState `json:"m"`
}

// eventEntry is an event not yet acknowledged: of a job that has moved on,
// or a note.
type eventEntry struct {
	Place int                `json:"place"`
	Obs   *offer.Observation `json:"obs,omitempty"`
	Note  *providers.Note    `json:"note,omitempty"`
}

type fenceEntry struct {
	Lineage string `json:"lineage"`
	Fence   uint64 `json:"fence"`
	Holder  string `json:"holder,omitempty"`
}

// ruleEntry is all that Control has set for a place.
type ruleEntry struct {
	Place int   `json:"place"`
	Rules rules `json:"rules"`
}

type baseEntry struct {
	Key   string          `json:"key"`
	Marks verify.Baseline `json:"marks"` // nil: forgotten
}

type ackEntry struct {
	Place int    `json:"place"`
	Seq   uint64 `json:"seq"`
}

// tombstoneEntry is the rest of an acknowledged job: enough to recognise its token.
type tombstoneEntry struct {
	Token string `json:"j"`
	Place int    `json:"place"`
	tombstone
}

type tombstone struct {
	Hash    string       `json:"hash"`
	Status  offer.Status `json:"status"`
	Attempt int          `json:"attempt"`
	Exit    *int         `json:"exit,omitempty"`
	Class   string       `json:"class,omitempty"`
	Ended   int64        `json:"ended"` // Unix seconds
	// Outputs are for the jobs that depend on it.
	Outputs []offer.Output `json:"outputs,omitempty"`
}

type breakerEntry struct {
	Place   int           `json:"place"`
	Phase   string        `json:"phase"`
	Breaker breaker.Count `json:"breaker"`
}

// rules are the settings of Control.
type rules struct {
	Hold   bool           `json:"hold,omitempty"`
	Cap    *int           `json:"cap,omitempty"`
	Phases map[string]int `json:"phases,omitempty"`
}
