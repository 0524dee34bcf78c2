package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
)

// readingAge is how old a reading of the GPUs may be when one is given out.
const readingAge = 1500 * time.Millisecond

// devices are the GPUs as they were last read, and who of ours holds which.
type devices struct {
	reader  gpu.Reader
	list    []gpu.Device
	err     error
	at      time.Duration // uptime of the reading; 0 = none that still counts
	reading bool
	read    time.Duration     // uptime when the last reading came
	took    time.Duration     // and how long it took
	rest    time.Duration     // see gpu.Rest
	freed   int               // how many jobs have given theirs back
	held    map[string]string // device name → token
}

// taken is a device given to a job, with the lock that the job inherits.
type taken struct {
	name string
	lock *os.File
}

func names(ts []taken) (list []string) {
	for _, t := range ts {
		list = append(list, t.name)
	}
	return list
}

func lockFiles(ts []taken) (list []*os.File) {
	for _, t := range ts {
		list = append(list, t.lock)
	}
	return list
}

func freeGPUs(ts []taken) { closeAll(lockFiles(ts)) }

func (g *devices) hold(names []string, token string) {
	if g.held == nil {
		g.held = map[string]string{}
	}
	for _, n := range names {
		g.held[n] = token
	}
}

// releaseGPUs lets others have a job's devices, once they have been read anew.
func (q *queue) releaseGPUs(j *job) {
	closeAll(j.locks)
	j.locks = nil
	if j.Launch == nil || len(j.Launch.GPUs) == 0 {
		return
	}
	for _, n := range j.Launch.GPUs {
		delete(q.gpus.held, n)
	}
	q.gpus.at = 0
	q.gpus.freed++
}

// takeGPUs gives devices to a job, or says why it must wait.
func (q *queue) takeGPUs(p *place, j *job) ([]taken, wait) {
	g := &q.gpus
	if g.at == 0 || boot.Uptime()-g.at > readingAge {
		q.readGPUs()
		return nil, wait{why: "the GPUs are being looked at", short: j.lane.wait.short}
	}
	if g.err != nil {
		return nil, wait{why: "the GPUs cannot be read: " + g.err.Error(), foreign: true}
	}
	s := j.shape()
	var good []gpu.Device
	var busy, own []string
	for _, d := range g.list {
		switch {
		case !p.MayUse(d) || d.Lacks(s.GPU, s.GPUs) != "":
		case g.held[d.ID()] != "":
			own = append(own, d.ID())
		case d.Busy(p.FreeMax()) != "":
			busy = append(busy, d.Busy(p.FreeMax()))
		default:
			good = append(good, d)
		}
	}
	// Another device first after one that failed this job, also if jobs of ours
	// have to end before there is one.
	failed := func(id string) bool { return slices.Contains(j.Avoid, id) }
	others := slices.DeleteFunc(slices.Clone(good), func(d gpu.Device) bool { return failed(d.ID()) })
	if soon := len(slices.DeleteFunc(slices.Clone(own), failed)); len(good) >= s.GPUs && len(others) < s.GPUs && len(others)+soon >= s.GPUs {
		return nil, wait{why: fmt.Sprintf("it failed on GPU %s; %s", strings.Join(j.Avoid, ", "), strings.Join(q.ours(p, own), "; ")), short: gpus}
	}
	slices.SortStableFunc(good, func(a, b gpu.Device) int { return rank(failed(a.ID())) - rank(failed(b.ID())) })
	var lost []string
	if len(good) >= s.GPUs { // else nobody else need miss them for a moment
		var got []taken
		if got, lost = q.lockDevices(good, s.GPUs); len(got) == s.GPUs {
			return got, wait{}
		}
		freeGPUs(got)
	}
	if n := len(good) + len(busy) + len(own); n < s.GPUs {
		return nil, wait{why: fmt.Sprintf("this machine has %d GPUs that suit, and the job asks for %d", n, s.GPUs), foreign: true}
	}
	free := len(good) - len(lost)
	why := append(busy, lost...)
	w := wait{foreign: len(why) > 0}
	if free+len(own) >= s.GPUs { // then only ours are in the way
		w.short = gpus
	}
	if len(own) > 0 { // last: lines are cut, and the others are news
		why = append(why, q.ours(p, own)...)
	}
	if w.why = strings.Join(why, "; "); s.GPUs > 1 {
		w.why = fmt.Sprintf("%d of %d GPUs are free; %s", free, s.GPUs, w.why)
	}
	return nil, w
}

// ours says whose jobs run on devices that this queue has given out: those of
// the campaign that asks, then each other of this user by name.
func (q *queue) ours(p *place, devices []string) (why []string) {
	by := map[string][]string{}
	for _, d := range devices {
		name := ""
		if j := q.jobs[q.gpus.held[d]]; j != nil && j.place.Lineage != p.Lineage {
			name = j.place.Campaign
		}
		by[name] = append(by[name], d)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		whose := "our own jobs run"
		if name != "" {
			whose = fmt.Sprintf("your campaign %q runs", name)
		}
		why = append(why, whose+" on GPU "+strings.Join(by[name], ", "))
	}
	return why
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// lockDevices takes n of the devices machine-wide; a user whose queue we do
// not see may have been quicker.
func (q *queue) lockDevices(from []gpu.Device, n int) (got []taken, lost []string) {
	for _, d := range from {
		if len(got) == n {
			break
		}
		f, err := gpu.Lock(d.UUID)
		switch {
		case errors.Is(err, gpu.ErrHeld):
			lost = append(lost, "GPU "+d.ID()+" is held by another muster on this machine"+q.holderOf(d.UUID))
		case err != nil:
			lost = append(lost, err.Error())
		default:
			got = append(got, taken{name: d.ID(), lock: f})
			delete(q.holders, d.UUID)
		}
	}
	return got, lost
}

// askHolder is how long an answer of who holds a lock serves.
const askHolder = time.Minute

// A holder is who held a device's lock when it was asked.
type holder struct {
	said string
	at   time.Time
}

// holderOf says who holds a device's lock, as far as the system tells.
func (q *queue) holderOf(uuid string) string {
	h := q.holders[uuid]
	if time.Since(h.at) > askHolder {
		h = holder{at: time.Now()}
		if who := gpu.Holder(uuid); who != "" {
			h.said = " (" + who + ")"
		}
		if q.holders == nil {
			q.holders = map[string]holder{}
		}
		q.holders[uuid] = h
	}
	return h.said
}

// readGPUs asks for a new reading; the queue goes on meanwhile.
func (q *queue) readGPUs() {
	g := &q.gpus
	if g.reading {
		return
	}
	g.reading = true
	freed := g.freed
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), gpuTimeout)
		defer stop()
		began := boot.Uptime()
		list, err := g.reader.Devices(ctx)
		owners := ownersOf(list)
		q.ops <- func() {
			now := boot.Uptime()
			g.reading, g.list, g.err, g.at = false, list, err, now
			g.read, g.took = now, now-began
			if err == nil {
				q.seeUse(list, owners, began)
			}
			if g.freed != freed { // it may be older than the end of a job
				g.at = 0
			}
		}
	}()
}

// gpuTimeout bounds one reading: a driver that hangs must not hang the queue.
const gpuTimeout = 20 * time.Second

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
