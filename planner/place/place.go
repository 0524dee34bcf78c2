// Package place decides where alike jobs go: it takes the candidates that fit
// and applies the preference, then the policy table, then the lowest cost and
// the earliest start. It records every reason.
package place

import (
	"strings"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// Quoted is a quote for one shape on one pool.
type Quoted struct {
	Shape offer.Shape
	Quote offer.Quote
}

// A Decision is where like jobs go, and why.
type Decision struct {
	Backend   string
	Pool      string
	Kind      offer.PoolKind
	Word      string // the site's word for a pool: "partition"
	GPUClass  string // family of the pool's devices, "" when any will do
	Shape     offer.Shape
	Price     offer.Price
	WholeNode bool
	Wait      time.Duration // queue wait counted; -1 unknown (counted as zero, and said)
	Waited    bool          // no wait is quoted: Wait is how long this campaign's jobs waited there
	Boot      time.Duration // rentals: billed before each launch
	Hold      time.Duration // rentals: a machine is kept so long after its last job
	Segments  int           // chained by checkpoint; 1 otherwise
	// Limits are the jobs' own limits where they differ from their pool's.
	Limits     offer.Limits `json:",omitzero"`
	Array      bool         // so many like jobs that they are submitted as an array
	Rule       string       // which rule decided
	Why        string
	Fallback   string // why the first choice was not taken, "" if it was
	Away       string // why nothing was decided: the place cannot be asked now, and the jobs wait for it
	Candidates []Candidate
	// After are where a launch goes after a failure that makes a job leave, by the name
	// in retry.Phase.Place, in the order of the names.
	After []Fallback `json:",omitempty"`
	// Beside are the decisions for each host of the backend, this one's
	// included, where its jobs are spread over several; nil elsewhere.
	Beside []Decision `json:"-"`
}

// A Fallback is where a job goes after a failure.
type Fallback struct {
	Class string
	To    Decision // without a backend: the fitting ones do not answer
	// AtMost is the ceiling of one launch there, by unit.
	AtMost map[string]string `json:",omitempty"`
}

// Left is the decision for a job that failed with a class in After; false where the
// plan has none.
func (d *Decision) Left(class string) (next Decision, ok bool) {
	for _, a := range d.After {
		if a.Class == class && a.To.Backend != "" {
			next = a.To
			next.After, next.Why = d.After, replaced+": after "+class
			return next, true
		}
	}
	return Decision{}, false
}

// How the reason of an attempt begins that is not where it was to go first.
const (
	fellBack = "fallback: "
	replaced = "re-placed"
)

// Where is the place in words: "slurm.alpine aa100", or the backend alone.
func (d Decision) Where() string { return strings.TrimSuffix(d.Backend+" "+d.Pool, " ") }

// Reason is the recorded reason of an attempt's place.
func (d *Decision) Reason() string {
	if d.Fallback != "" && !strings.HasPrefix(d.Why, replaced) {
		return fellBack + d.Fallback
	}
	return d.Why
}

// Elsewhere reports whether an attempt's recorded reason says that it did not
// go where it was to go first, and why.
func Elsewhere(reason string) (why string, ok bool) {
	if why, ok = strings.CutPrefix(reason, fellBack); ok {
		return why, true
	}
	why, ok = strings.CutPrefix(reason, replaced)
	return strings.TrimPrefix(why, ":"), ok
}

// A Candidate is one pool that was looked at.
type Candidate struct {
	Backend, Pool string
	Fits          bool
	Why           string // why it lost, or all that does not fit
	Would         string // a shape that would fit
	Cost          map[string]string
	Price         offer.Price
	WholeNode     bool
	Wait          time.Duration
	Waited        bool
	Boot          time.Duration
	Hold          time.Duration
	Segments      int
	// Pack is how many like jobs would be one job of the scheduler, Slots how many of them
	// beside one another, and Allocation how long it may last; see offer.Shape.
	Pack       int           `json:",omitempty"`
	Slots      int           `json:",omitempty"`
	Allocation time.Duration `json:",omitempty"`
	Won        bool
}

// To is a decision as it is at one of its candidates. The limits recorded for its own place do
// not hold there.
func (d Decision) To(c Candidate) Decision {
	d.Backend, d.Pool, d.Price, d.WholeNode = c.Backend, c.Pool, c.Price, c.WholeNode
	d.Shape.Pack, d.Shape.Slots, d.Shape.Allocation = c.Pack, c.Slots, c.Allocation
	d.Wait, d.Waited, d.Boot, d.Hold, d.Segments, d.Limits = c.Wait, c.Waited, c.Boot, c.Hold, c.Segments, offer.Limits{}
	return d
}

// Unknown are the units in which it is not known what a shape takes there; none
// where it was not compared.
func (c Candidate) Unknown(s offer.Shape) (units []string) {
	if c.Cost == nil {
		return nil
	}
	_, known := Cost(s, c.Price, time.Hour)
	for _, unit := range []string{USD, ServiceUnits} {
		if !known.Of(unit) {
			units = append(units, unit)
		}
	}
	return units
}
