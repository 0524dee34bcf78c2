package sim

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Site is a simulated place: what it has, and how launches go there.
type Site struct {
	Can   offer.Capabilities
	Pools []Pool
	Model Model
	// Outages are times in which it cannot be asked, from the first submission.
	Outages []Outage
	// Prices change what launches are billed, whatever they were quoted at.
	Prices []PriceChange
	// Epoch is when it was first submitted to; zero is the first submission to come.
	Epoch time.Time
	// Present are jobs that it has from before.
	Present []Present
	// Launches are how many each pool has started before, those of Present
	// included.
	Launches map[string]int
	// Known are digests of outputs that were made elsewhere, by path.
	Known map[string]string
}

// A Pool is what is offered, and what runs there at once; 0 is no limit.
type Pool struct {
	offer.Pool
	Boot time.Duration

	Slots   int   // jobs
	Devices int   // GPUs, of all nodes
	Cores   int   // of all nodes
	Bytes   int64 // of memory, of all nodes
}

// A Present is a job that a site has from before.
type Present struct {
	Job     providers.Job
	Running bool
	Since   time.Time // when its launch started
	Nth     int       // of the launches on its pool, from 1; 0 = not known
}

// An Outage is a time in which a site cannot be asked. What runs goes on.
type Outage struct{ After, Lasts time.Duration }

// A PriceChange multiplies what launches are billed that start after a time,
// or those of the given numbers.
type PriceChange struct {
	Pool     string // "" = every one
	After    time.Duration
	Launches []int // counted from 1 in the order in which they start; nil = all
	Factor   float64
}

// A Model says how a launch goes, counted from 1. It must say the same
// whenever it is asked.
type Model func(j *providers.Job, launch int) Fate

// A Fate is how one launch goes.
type Fate struct {
	Wait    time.Duration // in the queue, beside the room it needs
	Takes   time.Duration // of work, if nothing ends it
	Class   string        // it fails with this class; "" = it ends well
	After   time.Duration // of work, when it fails
	Memory  int64         // most it uses, bytes; 0 = half of what it asks for
	Metrics map[string]string
}
