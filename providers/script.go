package providers

import (
	"encoding/json"

	"github.com/muster-run/muster/providers/offer"
)

// A Scripter is a provider that submits scripts to the queue of a scheduler, and can show them
// first. It answers from its arguments, and asks nobody.
type Scripter interface {
	// Script is how like jobs would be submitted.
	Script(r ScriptRequest) (Script, error)
	// Terms are the requests of jobs to the queue by the settings of their backend
	// and their own options.
	Terms(config, options json.RawMessage) offer.Terms
}

// A ScriptRequest is like jobs that would be submitted together.
type ScriptRequest struct {
	Backend Backend
	Pool    offer.Pool // where they go, as the plan knows it
	Like    *Job       // one of them
	Count   int        // how many there are, at least 1
	Apart   bool       // each is submitted when the one before it has ended
	Returns bool       // the jobs before it may be submitted again, under another id
	After   []ScriptEdge
	Ahead   bool // others are submitted to come after them
}

// A ScriptEdge is a phase that jobs come after.
type ScriptEdge struct {
	Phase string
	Each  bool // each job comes after one job of the phase, and no two after the same
}

// A Script is how like jobs are submitted, but for ids and for paths that hold one.
type Script struct {
	Command  string   // that submits it: "sbatch"
	Sizes    []int    // jobs of each array, or pack; the text is that of the first
	Packed   bool     // the jobs of each share a node
	Text     string   // of the script
	Staying  []string // command line where muster stays until they have ended
	Leaving  []string // command line where it does not
	Awaiting []string // lines that the script has besides where it does not, and what the jobs come after has not ended
}
