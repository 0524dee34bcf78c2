// Package observed joins the state's records with the observations of a refresh.
// A job that was not observed is unknown, never gone: it counts as lost only
// when a backend that answers does not list it twice.
package observed

import (
	"time"

	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
)

// A Refresh is the result of a refresh. The zero value means that nothing was
// asked (-refresh=false): the state is believed.
type Refresh struct {
	Refreshed bool
	// Jobs is by token.
	Jobs map[string]offer.Observation
	// Gone is when a token was first not listed by a backend that answered.
	Gone map[string]time.Time
	// Unreachable backends, with the reason.
	Unreachable map[string]string
	// Logins are those of them that wait for somebody to log in. Their reason says
	// how; it is said once, with the backend.
	Logins map[string]bool
	// Unasked are those of them that nobody tried to ask: this user has not
	// allowed it, or did not want it.
	Unasked map[string]bool
	// Outputs has the findings of a stat (or with -verify a read) of recorded
	// outputs, by job address; a missing file has OK false.
	Outputs map[string][]offer.Output
	// Replaced are the results that were replaced and whose files are there as
	// they were recorded, by the token of their last attempt.
	Replaced map[string]bool
	// Touched are recorded outputs whose bytes are as recorded though the file is not: its
	// present stamp, by job address.
	Touched map[string][]offer.Output
	// Uncopied names the outputs, by job address, that are broken where they were
	// made and of which no copy is whole either.
	Uncopied map[string][]string
	// Sources are the content digests of source trees by lang.Source.Key.
	Sources map[string]result.Source
	// Versions are the files of sources, by the digest of the source and then by
	// path: those of now and those that jobs ran with, where this machine knows them.
	Versions map[string]map[string]string
	// Undigested are files of inputs that jobs read whose bytes nobody has read yet.
	Undigested []result.File
	// Copied are copies of such files that backends have from before, by where and
	// by result.File.Copy: their sizes.
	Copied map[string]map[string]int64
	// Contents are files that jobs read and that no phase makes.
	Contents result.Contents
	// Secrets names the secrets that could not be read, with the reason.
	Secrets  map[string]string
	Findings []Finding
	// Rentals are the campaign's rented machines as their providers say, by backend.
	Rentals map[string][]offer.Rental
	// Orphans are rented machines without a record. This campaign rented them, or another one
	// of the same user whose folder was deleted.
	Orphans []Orphan
	// Imported are look-ups of import blocks, by target address.
	Imported map[string]offer.Observation
	// Ground is the files at the output paths of jobs that may start, by BACKEND/POOL, or by
	// backend where its pools see the same files.
	Ground map[string]Ground
	// Scripts are those that commands name and that this machine has, by phase.
	Scripts map[string][]Script
}

// A Script is a program's text that a command names.
type Script struct {
	Name string // as the command has it
	Text string // without its lines of comment
}

// An Orphan is a rented machine that the campaign does not know.
type Orphan struct {
	Backend, ID, PerHour string
}

// A Ground is the place where jobs would leave their files, and the files there.
type Ground struct {
	Workdir string
	There   map[string][]offer.Output // by job address
	// Names are the first files, below the workdir, of patterns and folders in There that no
	// record names, by their path; those of the first few.
	Names map[string][]string
	// Verified are, by address of a job that adopts files, all its outputs in the order
	// of its phase, each with a verdict.
	Verified map[string][]offer.Output
	// Campaigns are others that write to the workdir, in words.
	Campaigns []string
}

// Away is why a backend cannot be asked, in short where the line about the
// backend says more; "" if it can.
func (r *Refresh) Away(backend string) string {
	if r.Logins[backend] {
		return "nobody is logged in"
	}
	return r.Unreachable[backend]
}

// AllAway is Away of all backends.
func (r *Refresh) AllAway() map[string]string {
	if len(r.Logins) == 0 {
		return r.Unreachable
	}
	out := make(map[string]string, len(r.Unreachable))
	for name := range r.Unreachable {
		out[name] = r.Away(name)
	}
	return out
}
