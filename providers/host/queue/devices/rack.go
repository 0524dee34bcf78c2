// Package devices is the GPUs of a machine as its queue gives them out: as
// they were last read, held by name for its own jobs, and locked machine-wide
// against the queues of others.
package devices

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// readingAge is how old a reading may be when a device is given out.
const readingAge = 1500 * time.Millisecond

// readTimeout bounds one reading: a driver that hangs must not hang the queue.
const readTimeout = 20 * time.Second

// A Rack is the devices as they were last read, and who of ours holds which.
// Whoever owns it calls it from one goroutine.
type Rack struct {
	Reader gpu.Reader
	Rest   int // see gpu.Rest

	list    []gpu.Device
	err     error
	at      time.Duration // uptime of the reading; 0 = none that still counts
	reading bool
	read    time.Duration     // uptime when the last reading came
	took    time.Duration     // and how long it took
	freed   int               // how many jobs have given theirs back
	held    map[string]string // device name → token
	holders map[string]holder // of locks that we could not get, by UUID
}

// Fresh reports whether the last reading is young enough to give devices out.
func (r *Rack) Fresh() bool { return r.at != 0 && boot.Uptime()-r.at <= readingAge }

// Usable is how many devices a place may give one job that asks for such; 0 where
// none were read.
func (r *Rack) Usable(p machine.Place, asked offer.GPU) (n int) {
	for _, d := range r.list {
		if p.MayUse(d) && d.Lacks(asked, 1) == "" {
			n++
		}
	}
	return n
}

// Rested reports whether the devices may be read for nothing but to see what
// jobs use of them.
func (r *Rack) Rested() bool {
	return !r.reading && boot.Uptime()-r.read >= time.Duration(r.Rest)*r.took
}

// A Reading is how the devices were at a time, and whose the processes on them.
type Reading struct {
	List   []gpu.Device
	Err    error
	Began  time.Duration // uptime
	owners map[int]owner
	freed  int // the rack's, when it began
}

// Look begins a reading: what it returns is called on a goroutine of its own,
// and its answer handed to Take. It is nil while another is under way.
func (r *Rack) Look() func() Reading {
	if r.reading {
		return nil
	}
	r.reading = true
	reader, freed := r.Reader, r.freed
	return func() Reading {
		ctx, stop := context.WithTimeout(context.Background(), readTimeout)
		defer stop()
		out := Reading{Began: boot.Uptime(), freed: freed}
		out.List, out.Err = reader.Devices(ctx)
		out.owners = ownersOf(out.List)
		return out
	}
}

// Take takes a reading in. One that may be older than the end of a job says
// nothing of what is free.
func (r *Rack) Take(s Reading) {
	now := boot.Uptime()
	r.reading, r.list, r.err, r.at = false, s.List, s.Err, now
	r.read, r.took = now, now-s.Began
	if r.freed != s.freed {
		r.at = 0
	}
}

// Hold notes that a job of ours has devices.
func (r *Rack) Hold(names []string, token string) {
	if r.held == nil {
		r.held = map[string]string{}
	}
	for _, n := range names {
		r.held[n] = token
	}
}

// Release takes devices back; all are read anew before one is given out.
func (r *Rack) Release(names []string) {
	for _, n := range names {
		delete(r.held, n)
	}
	r.at = 0
	r.freed++
}

// Held names the devices that jobs of ours have.
func (r *Rack) Held() []string { return slices.Sorted(maps.Keys(r.held)) }
