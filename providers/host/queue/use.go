package queue

import (
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/process"
)

// gpuUse is what is seen of the memory that a launch has in use on its GPUs.
// The zero value has seen nothing.
type gpuUse struct {
	looked time.Duration // uptime of the last look, whatever it told
	told   time.Duration // and of the last that told something
	looks  int           // those that did
	most   int64         // bytes on one device
}

// Looks come at growing intervals: what is measured in bytes for hours need
// not be looked at every second.
const (
	useFirst = time.Second
	useMost  = 15 * time.Second
	usePart  = 8 // of the launch's life till then
	// useRest is how many times as long as a reading takes none follows it:
	// nvidia-smi may need a second of a core.
	useRest = 20
	// useLast is the part of a launch's life in which the last look has to be;
	// useNone is how many looks it takes to say that nothing was put on a GPU.
	useLast = 4
	useNone = 3
)

// due reports whether a launch that began then is to be looked at.
func (u *gpuUse) due(began, now time.Duration) bool {
	return now-max(u.looked, began) >= min(max((now-began)/usePart, useFirst), useMost)
}

// see takes a look in; -1 is one that told nothing.
func (u *gpuUse) see(at time.Duration, bytes int64) {
	if u.looked = at; bytes >= 0 {
		u.told, u.most = at, max(u.most, bytes)
		u.looks++
	}
}

// bytes is the most that was in use on one device by the end of a launch, -1
// where it was not looked at often and late enough to say.
func (u *gpuUse) bytes(began, ended time.Duration) int64 {
	if u.looks == 0 || ended-u.told > (ended-began)/useLast || u.most == 0 && u.looks < useNone {
		return -1
	}
	return u.most
}

// used is the memory that a launch had in use on its devices, -1 = unknown.
func (j *job) used(now time.Duration) int64 {
	if j.Launch == nil || len(j.Launch.GPUs) == 0 {
		return -1
	}
	return j.use.bytes(time.Duration(j.Launch.Up), now)
}

// lookAtUse has the devices read when it is time for a job that runs on some.
// Of adopted jobs it is not known what was before.
func (q *queue) lookAtUse() {
	g, now := &q.gpus, boot.Uptime()
	if g.reading || now-g.read < g.rest*g.took {
		return
	}
	for j := range q.live {
		if j.start != nil && len(j.Launch.GPUs) > 0 && j.use.due(time.Duration(j.Launch.Up), now) {
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
			o := owner{session: process.Session(p.PID)}
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
		j.use.see(at, most)
	}
}

// is reports whether a process is of a job that runs.
func (o owner) is(j *job) bool {
	return o.token == j.spec.Token && goneKey(o.token, j.attempt()) == o.token+"/"+o.attempt || o.session != 0 && o.session == j.pid()
}
