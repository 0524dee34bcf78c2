package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/queue/devices"
)

// allocator gives the machine's GPUs to jobs, and observes their use.
type allocator struct {
	*core
	devices devices.Allocator
}

// releaseGPUs frees a job's devices; others get them after the next reading.
func (al *allocator) releaseGPUs(j *job) {
	closeAll(j.locks)
	j.locks = nil
	if j.Launch != nil && len(j.Launch.GPUs) > 0 {
		al.devices.Release(j.Launch.GPUs)
	}
}

// takeGPUs gives devices to a job, or says why it must wait.
func (al *allocator) takeGPUs(p *place, j *job) (devices.Grant, wait) {
	if !al.devices.Fresh() {
		al.readGPUs()
		return devices.Grant{}, wait{why: "muster is reading the GPUs", short: j.queue.wait.short}
	}
	got, w := al.devices.Give(devices.Demand{Place: p.Tenant, Shape: j.shape(), Avoid: j.Avoid})
	out := wait{why: w.Why, foreign: w.Foreign}
	if w.Ours {
		out.short = gpus
	}
	return got, out
}

// readGPUs begins a new reading; the queue continues meanwhile.
func (al *allocator) readGPUs() {
	look := al.devices.Look()
	if look == nil {
		return
	}
	go func() {
		seen := look()
		al.ops <- func() {
			al.devices.Update(seen)
			if seen.Err == nil {
				al.seeUse(seen)
			}
		}
	}()
}

// watchGPUs looks again while jobs wait for devices.
func (al *allocator) watchGPUs() {
	for _, p := range al.byN {
		for _, l := range p.queues {
			if l.shape.GPUs > 0 && l.first() != nil {
				al.readGPUs()
				return
			}
		}
	}
}

// lookAtUse reads the devices when it is time to measure a running job's use. It skips adopted
// jobs, whose devices were not read before they started, unless a stall of theirs is to show how
// busy the devices are.
func (al *allocator) lookAtUse() {
	if !al.devices.Rested() {
		return
	}
	now := monotonic.Uptime()
	for j := range al.live {
		if (j.start != nil || j.spec.Watch.StalledAfter > 0) && len(j.Launch.GPUs) > 0 && j.use.Due(time.Duration(j.Launch.Up), now) {
			al.readGPUs()
			return
		}
	}
}

// seeUse records how running jobs use the devices of a reading.
func (al *allocator) seeUse(seen devices.Reading) {
	for j := range al.live {
		if len(j.Launch.GPUs) == 0 || seen.Began < time.Duration(j.Launch.Up) {
			continue
		}
		if j.start == nil {
			j.use.See(seen.Began, -1)
			continue
		}
		j.use.See(seen.Began, seen.Used(devices.Running{Token: j.spec.Token, Attempt: j.attempt(), Session: j.pid(), Devices: j.Launch.GPUs, Before: j.before}))
	}
}

// used is the memory that a launch had in use on its devices, -1 = unknown.
func (j *job) used(now time.Duration) int64 {
	if j.Launch == nil || len(j.Launch.GPUs) == 0 {
		return -1
	}
	return j.use.Bytes(time.Duration(j.Launch.Up), now)
}
