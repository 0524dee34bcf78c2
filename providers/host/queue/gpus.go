package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/queue/devices"
)

// releaseGPUs lets others have a job's devices, once they have been read anew.
func (q *queue) releaseGPUs(j *job) {
	closeAll(j.locks)
	j.locks = nil
	if j.Launch != nil && len(j.Launch.GPUs) > 0 {
		q.gpus.Release(j.Launch.GPUs)
	}
}

// takeGPUs gives devices to a job, or says why it must wait.
func (q *queue) takeGPUs(p *place, j *job) (devices.Grant, wait) {
	if !q.gpus.Fresh() {
		q.readGPUs()
		return devices.Grant{}, wait{why: "the GPUs are being looked at", short: j.lane.wait.short}
	}
	got, w := q.gpus.Give(devices.Ask{Place: p.Place, Shape: j.shape(), Avoid: j.Avoid, Campaign: func(token string) string {
		if of := q.jobs[token]; of != nil && of.place.Lineage != p.Lineage {
			return of.place.Campaign
		}
		return ""
	}})
	out := wait{why: w.Why, foreign: w.Foreign}
	if w.Ours {
		out.short = gpus
	}
	return got, out
}

// readGPUs asks for a new reading; the queue goes on meanwhile.
func (q *queue) readGPUs() {
	look := q.gpus.Look()
	if look == nil {
		return
	}
	go func() {
		seen := look()
		q.ops <- func() {
			q.gpus.Take(seen)
			if seen.Err == nil {
				q.seeUse(seen)
			}
		}
	}()
}

// watchGPUs looks again while jobs wait for devices.
func (q *queue) watchGPUs() {
	for _, p := range q.byN {
		for _, l := range p.lanes {
			if l.shape.GPUs > 0 && l.first() != nil {
				q.readGPUs()
				return
			}
		}
	}
}

// lookAtUse has the devices read when it is time for a job that runs on some.
// Of adopted jobs it is not known what was before.
func (q *queue) lookAtUse() {
	if !q.gpus.Rested() {
		return
	}
	now := boot.Uptime()
	for j := range q.live {
		if j.start != nil && len(j.Launch.GPUs) > 0 && j.use.Due(time.Duration(j.Launch.Up), now) {
			q.readGPUs()
			return
		}
	}
}

// seeUse takes in what a reading says of the jobs that run.
func (q *queue) seeUse(seen devices.Reading) {
	for j := range q.live {
		if j.start == nil || len(j.Launch.GPUs) == 0 || seen.Began < time.Duration(j.Launch.Up) {
			continue
		}
		j.use.See(seen.Began, seen.Used(devices.Launch{Token: j.spec.Token, Attempt: j.attempt(), Session: j.pid(), Devices: j.Launch.GPUs, Before: j.before}))
	}
}

// used is the memory that a launch had in use on its devices, -1 = unknown.
func (j *job) used(now time.Duration) int64 {
	if j.Launch == nil || len(j.Launch.GPUs) == 0 {
		return -1
	}
	return j.use.Bytes(time.Duration(j.Launch.Up), now)
}
