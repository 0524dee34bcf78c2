// Package request sends requests of a second muster to the apply that holds the
// lease: one file for each request, written atomically, answered by a file
// beside it.
package request

import "time"

// A Request asks a running apply for something.
type Request struct {
	ID   string `json:"id"`
	Verb Verb   `json:"verb"`
	// Addresses are exact job addresses or "phase.NAME"; empty = everything.
	Addresses []string  `json:"addresses,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Who       string    `json:"who"`
	Host      string    `json:"host,omitempty"`
	At        time.Time `json:"at"`
}

// A Verb is the kind of a request.
type Verb string

// The verbs.
const (
	Hold     Verb = "hold"
	Resume   Verb = "resume"
	Cancel   Verb = "cancel"
	Override Verb = "override"
	Note     Verb = "note" // its text is the reason
)

// An Answer is the result of a request.
type Answer struct {
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	Ended bool   `json:"ended,omitempty"` // the apply ended before it could do it: it is to be sent again
	Text  string `json:"text,omitempty"`  // the effect, in words
	Jobs  int    `json:"jobs"`            // how many jobs it touched
	// NotReached is how many jobs wait or run in queues that did not take the order.
	NotReached int       `json:"not_reached,omitempty"`
	At         time.Time `json:"at"`
}
