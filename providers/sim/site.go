package sim

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Site is a simulated place: its pools, and how launches go there.
type Site struct {
	Can   offer.Capabilities
	Pools []Pool
	Model Model
	// Says returns a backend block's statements about a phase's jobs; nil where a
	// program makes the site.
	Says func(phase string) Says
	// Outages are times in which it cannot be asked, from the first submission.
	Outages []Outage
	// Prices change the bills of launches, whatever their quotes.
	Prices []PriceChange
	// Epoch is when it was first submitted to; zero is the first submission to come.
	Epoch time.Time
	// Present are jobs that it has from before.
	Present []Present
	// Launches are how many each pool has started before, those of Present
	// included.
	Launches map[string]int
	// Files says which files the jobs of a pool see: equal where they see the
	// same. Nil is the same everywhere.
	Files func(pool string) string
	// Bandwidth is that of its link, bytes a second; 0 takes no time.
	Bandwidth int64
	// Existing are outputs made or brought before.
	Existing []ExistingOutput
	// Known are digests of outputs that were made elsewhere, by path.
	Known map[string]string
}

// A Pool is a pool's offer, and how many jobs run there at once; 0 is no limit.
type Pool struct {
	offer.Pool
	Boot    time.Duration
	WaitP90 time.Duration // nine of ten wait at most so long; 0 = all wait the same
	// Shared says that a machine serves one job after another, and is kept for so long after
	// its last one; else each launch has a machine of its own.
	Shared bool
	Kept   time.Duration

	Slots   int   // jobs
	Devices int   // GPUs, of all nodes
	Cores   int   // of all nodes
	Bytes   int64 // of memory, of all nodes
}

// A Present is a job that a site has from before.
type Present struct {
	Job     providers.Job
	Running bool
	Held    bool      // by a limit, in its queue
	Since   time.Time // when its launch started
	Nth     int       // of the launches on its pool, from 1; 0 = not known
}

// Says is a backend block's description of the jobs of a phase; zero fields are open.
type Says struct {
	Median, P90 time.Duration      // of runtimes
	Fails       map[string]float64 // shares of launches, by class
	Memory      int64              // bytes
	Metrics     map[string]string
	Size        int64 // of each output, bytes
}

// Takes is how long a launch takes that is so many standard deviations off the
// median. A smoke is the same job, only shorter: one that would not end within
// its walltime takes about half of that.
func (s Says) Takes(j *providers.Job, z float64) time.Duration {
	median, p90, limit := s.Median, max(s.P90, s.Median), j.Shape.Walltime
	switch {
	case median > 0 && (!j.Smoke || limit == 0 || median < limit):
		return Spread(median, p90, z)
	case limit > 0: // undeclared: nothing says that it would be killed
		return min(Spread(limit/2, limit, z), limit-time.Nanosecond)
	}
	return time.Hour
}

// Sized is how large each output is, nil where nothing is said.
func (s Says) Sized() func(output string) int64 {
	if s.Size <= 0 {
		return nil
	}
	return func(string) int64 { return s.Size }
}

// An Outage is a time in which a site cannot be asked. Running jobs continue.
type Outage struct{ After, Lasts time.Duration }

// A PriceChange multiplies the bills of launches that start after a time, or
// have the given numbers.
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
	Memory  int64         // most it uses, bytes; 0 = half of its request
	Metrics map[string]string
	Size    func(output string) int64 // bytes; nil = as little as it may be
}
