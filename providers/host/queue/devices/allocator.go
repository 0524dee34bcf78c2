// Package devices assigns a machine's GPUs to jobs. It reserves GPUs by name
// for jobs of its own queue, and locks them machine-wide against the queues of
// other users.
package devices

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/offer"
)

// readingAge is how old a reading may be when a device is given out.
const readingAge = 1500 * time.Millisecond

// readTimeout bounds one reading: a driver that hangs must not hang the queue.
const readTimeout = 20 * time.Second

// An Allocator is the devices as they were last read, and which of them our jobs hold. Its
// owner calls it from one goroutine.
type Allocator struct {
	Reader gpu.Reader
	Rest   int // see gpu.Rest

	list    []gpu.Device
	err     error
	at      time.Duration // uptime of the reading; 0 = none that still counts
	reading bool
	read    time.Duration             // uptime when the last reading came
	took    time.Duration             // and how long it took
	freed   int                       // how many jobs have given theirs back
	held    map[string]machine.Tenant // by device name, the place whose job has it
	holders map[string]holder         // of locks that we could not get, by UUID
}

// Fresh reports whether the last reading is young enough to give devices out.
func (r *Allocator) Fresh() bool { return r.at != 0 && monotonic.Uptime()-r.at <= readingAge }

// Usable is how many devices a place may give one job that asks for such; 0 where
// none were read.
func (r *Allocator) Usable(p machine.Tenant, asked offer.GPU) (n int) {
	for _, d := range r.list {
		if p.MayUse(d) && d.Lacks(asked, 1) == "" {
			n++
		}
	}
	return n
}

// Rested reports whether the devices may be read just to measure their use.
func (r *Allocator) Rested() bool {
	return !r.reading && monotonic.Uptime()-r.read >= time.Duration(r.Rest)*r.took
}

// A Reading is how the devices were at a time, and whose the processes on them.
type Reading struct {
	List   []gpu.Device
	Err    error
	Began  time.Duration // uptime
	owners map[int]owner
	freed  int // the allocator's, when it began
}

// Look begins a reading. The returned function runs on a goroutine of its own, and its result
// goes to Update. Look returns nil while a reading is under way.
func (r *Allocator) Look() func() Reading {
	if r.reading {
		return nil
	}
	r.reading = true
	reader, freed := r.Reader, r.freed
	return func() Reading {
		ctx, stop := context.WithTimeout(context.Background(), readTimeout)
		defer stop()
		out := Reading{Began: monotonic.Uptime(), freed: freed}
		out.List, out.Err = reader.Devices(ctx)
		out.owners = ownersOf(out.List)
		return out
	}
}

// Update records a reading. One that may be older than the end of a job does not show which
// devices are free.
func (r *Allocator) Update(s Reading) {
	now := monotonic.Uptime()
	r.reading, r.list, r.err, r.at = false, s.List, s.Err, now
	r.read, r.took = now, now-s.Began
	if r.freed != s.freed {
		r.at = 0
	}
}

// Hold notes that a job of a place has devices.
func (r *Allocator) Hold(names []string, p machine.Tenant) {
	if r.held == nil {
		r.held = map[string]machine.Tenant{}
	}
	for _, n := range names {
		r.held[n] = p
	}
}

func (r *Allocator) holds(device string) bool {
	_, held := r.held[device]
	return held
}

// Release takes devices back; all devices are read again before one is given out.
func (r *Allocator) Release(names []string) {
	for _, n := range names {
		delete(r.held, n)
	}
	r.at = 0
	r.freed++
}

// Held names the devices of our jobs.
func (r *Allocator) Held() []string { return slices.Sorted(maps.Keys(r.held)) }
