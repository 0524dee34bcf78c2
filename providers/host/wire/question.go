package wire

import (
	"encoding/json"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
)

// The bodies of the questions.
type (
	// Submission is jobs on their way to the queue.
	Submission struct {
		Place   machine.Tenant     `json:"place"`
		Fence   uint64             `json:"fence"`
		Holder  string             `json:"holder,omitempty"`
		Environ []providers.EnvVar `json:"environ,omitempty"`
		Jobs    []json.RawMessage  `json:"jobs"`
		// Secrets travel apart: they are in no specification and in no log.
		Secrets map[string][]providers.EnvVar `json:"secrets,omitempty"`
	}
	// Find asks for the state of tokens.
	Find struct {
		Place  machine.Tenant `json:"place"`
		Tokens []string       `json:"tokens"`
	}
	// Watch asks for events after a cursor.
	Watch struct {
		Place   machine.Tenant `json:"place"`
		Handles []string       `json:"handles,omitempty"`
		Cursor  string         `json:"cursor"`
		Ack     *string        `json:"ack,omitempty"` // nil: an older client, whose cursor acknowledges
		Wait    time.Duration  `json:"wait"`
	}
	// Cancel ends jobs.
	Cancel struct {
		Place   machine.Tenant          `json:"place"`
		Request providers.CancelRequest `json:"request"`
	}
	// Control changes which jobs may start.
	Control struct {
		Place   machine.Tenant           `json:"place"`
		Request providers.ControlRequest `json:"request"`
	}
	// Remove moves files aside or deletes them.
	Remove struct {
		Place   machine.Tenant          `json:"place"`
		Request providers.RemoveRequest `json:"request"`
	}
	// Clean forgets ended jobs; the place's own count as acknowledged.
	Clean struct {
		Place machine.Tenant `json:"place"`
	}
	// Nothing has nothing to say.
	Nothing struct{}
)

// PollWait is how long a watcher's question stays open without an event.
const PollWait = 20 * time.Second

// Hello agrees on the protocol.
type Hello struct {
	Min      int    `json:"min"`
	Max      int    `json:"max"`
	Revision int    `json:"revision"`
	PID      int    `json:"pid,omitempty"`
	Spool    string `json:"spool,omitempty"`
}

// QueueStatus sums up a queue for status pages.
type QueueStatus struct {
	Running int      `json:"running"`
	Queued  int      `json:"queued"`
	CPUs    int      `json:"cpus"`
	GPUs    []string `json:"held,omitempty"`
	Jobs    int      `json:"jobs"`
	PID     int      `json:"pid"`
	Stuck   string   `json:"stuck,omitempty"`
}
