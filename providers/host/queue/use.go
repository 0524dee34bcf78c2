package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/process"
)

// used is the memory that a launch had in use on its devices, -1 = unknown.
func (j *job) used(now time.Duration) int64 {
	if j.Launch == nil || len(j.Launch.GPUs) == 0 {
		return -1
	}
	return j.use.Bytes(time.Duration(j.Launch.Up), now)
}

// lookAtUse has the devices read when it is time for a job that runs on some.
// Of adopted jobs it is not known what was before.
func (q *queue) lookAtUse() {
	g, now := &q.gpus, boot.Uptime()
	if g.reading || now-g.read < g.rest*g.took {
		return
	}
	for j := range q.live {
		if j.start != nil && len(j.Launch.GPUs) > 0 && j.use.Due(time.Duration(j.Launch.Up), now) {
			q.readGPUs()
			return
		}
	}
}

// An owner is whose a process on a device is.
type owner struct {
	token, attempt string
	session        int
}

// ownersOf asks /proc about the processes on devices.
func ownersOf(list []gpu.Device) map[int]owner {
	owners := map[int]owner{}
	for _, d := range list {
		for _, p := range d.Processes {
			environ := process.Environ(p.PID)
			var o owner
			o.session, _ = process.Session(p.PID)
			o.token, _ = process.Variable(environ, "MUSTER_TOKEN")
			o.attempt, _ = process.Variable(environ, "MUSTER_ATTEMPT")
			owners[p.PID] = o
		}
	}
	return owners
}

// seeUse takes in what a reading, begun at a time, says of the jobs that run.
func (q *queue) seeUse(list []gpu.Device, owners map[int]owner, at time.Duration) {
	devices := map[string]gpu.Device{}
	for _, d := range list {
		devices[d.ID()] = d
	}
	for j := range q.live {
		if j.start == nil || len(j.Launch.GPUs) == 0 || at < time.Duration(j.Launch.Up) {
			continue
		}
		own := func(pid int) bool { return owners[pid].is(j) }
		most := int64(0)
		for _, id := range j.Launch.GPUs {
			before := int64(-1)
			if was, ok := j.before[id]; ok {
				before = was.used
			}
			d, ok := devices[id]
			n := d.Own(own, before)
			if !ok || n < 0 {
				most = -1 // of which device it was the most nobody knows
				break
			}
			most = max(most, n)
		}
		j.use.See(at, most)
	}
}

// is reports whether a process is of a job that runs.
func (o owner) is(j *job) bool {
	return o.token == j.spec.Token && goneKey(o.token, j.attempt()) == o.token+"/"+o.attempt || o.session != 0 && o.session == j.pid()
}
