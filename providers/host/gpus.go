package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// readingAge is how old a reading of the GPUs may be when one is given out.
const readingAge = 1500 * time.Millisecond

// defaultFreeMax is the memory in use, in bytes, up to which a GPU counts as free.
const defaultFreeMax = 500 << 20

// devices are the GPUs as they were last read, and who of ours holds which.
type devices struct {
	reader  gpu.Reader
	list    []gpu.Device
	err     error
	at      time.Duration // uptime of the reading; 0 = none that still counts
	reading bool
	held    map[string]string // device name → token
	foreign bool              // the last refusal was about strangers
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

// deviceName is what CUDA_VISIBLE_DEVICES takes for a device.
func deviceName(d gpu.Device) string {
	if d.MIG {
		return d.UUID
	}
	return strconv.Itoa(d.Index)
}

func (g *devices) hold(names []string, token string) {
	if g.held == nil {
		g.held = map[string]string{}
	}
	for _, n := range names {
		g.held[n] = token
	}
}

// strangers reports whether what was said last is about somebody else's work.
func (g *devices) strangers(string) bool { return g.foreign }

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
}

// takeGPUs gives devices to a job, or says why it must wait.
func (q *queue) takeGPUs(p *place, j *job) ([]taken, string) {
	g := &q.gpus
	g.foreign = false
	if g.at == 0 || uptime()-g.at > readingAge {
		q.readGPUs()
		return nil, "the GPUs are being looked at"
	}
	if g.err != nil {
		g.foreign = true
		return nil, "the GPUs cannot be read: " + g.err.Error()
	}
	s := j.shape()
	var good []gpu.Device
	var why, own []string
	for _, d := range g.list {
		if !p.mayUse(d) || suits(d, s.GPU) != "" {
			continue
		}
		if reason, foreign := g.busy(p, d); reason != "" {
			if foreign {
				why, g.foreign = append(why, reason), true
			} else {
				own = append(own, deviceName(d))
			}
			continue
		}
		good = append(good, d)
	}
	// Another device first after one that failed this job.
	slices.SortStableFunc(good, func(a, b gpu.Device) int {
		return rank(slices.Contains(j.Avoid, deviceName(a))) - rank(slices.Contains(j.Avoid, deviceName(b)))
	})
	got, lost := lockDevices(good, s.GPUs)
	if len(got) == s.GPUs {
		return got, ""
	}
	freeGPUs(got)
	g.foreign = g.foreign || len(lost) > 0
	why = append(why, lost...)
	if len(own) > 0 { // last: lines are cut, and the others are news
		why = append(why, "our own jobs run on GPU "+strings.Join(own, ", "))
	}
	if len(why) == 0 {
		return nil, fmt.Sprintf("this machine has no %d GPUs that suit", s.GPUs)
	}
	return nil, strings.Join(why, "; ")
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// lockDevices takes n of the devices machine-wide; a user whose queue we do
// not see may have been quicker.
func lockDevices(from []gpu.Device, n int) (got []taken, lost []string) {
	for _, d := range from {
		if len(got) == n {
			break
		}
		f, err := gpu.Lock(d.UUID)
		switch {
		case errors.Is(err, gpu.ErrHeld):
			lost = append(lost, "GPU "+deviceName(d)+" is held by another muster on this machine")
		case err != nil:
			lost = append(lost, err.Error())
		default:
			got = append(got, taken{name: deviceName(d), lock: f})
		}
	}
	return got, lost
}

func (p *place) mayUse(d gpu.Device) bool {
	return len(p.GPUs) == 0 || slices.Contains(p.GPUs, d.Index)
}

// suits says what of a device does not meet a constraint, "" if it does.
func suits(d gpu.Device, c offer.GPU) string {
	if len(c.Models) > 0 && !slices.ContainsFunc(c.Models, func(m string) bool {
		return strings.EqualFold(m, d.Model) || strings.Contains(strings.ToLower(d.Name), strings.ToLower(m))
	}) {
		return fmt.Sprintf("GPU %s is a %s", deviceName(d), d.Name)
	}
	if d.Memory > 0 && d.Memory < c.Memory {
		return fmt.Sprintf("GPU %s has %d MiB", deviceName(d), d.Memory>>20)
	}
	return ""
}

// busy says why a device cannot be given out now, and whether that is somebody else's doing.
func (g *devices) busy(p *place, d gpu.Device) (why string, foreign bool) {
	limit := p.GPUFreeMax
	if limit == 0 {
		limit = defaultFreeMax
	}
	name := deviceName(d)
	switch {
	case g.held[name] != "":
		return "GPU " + name + " runs one of our jobs", false
	case !d.Healthy:
		return "GPU " + name + " is not healthy: " + d.Reason, true
	case d.Used > limit:
		return fmt.Sprintf("GPU %s is in use%s: %d MiB", name, holders(d), d.Used>>20), true
	}
	return "", false
}

func holders(d gpu.Device) string {
	var who []string
	for _, p := range d.Processes {
		user := p.User
		if user == "" {
			user = "unknown user"
		}
		who = append(who, fmt.Sprintf("%s (pid %d)", user, p.PID))
	}
	if len(who) == 0 {
		return ""
	}
	return " by " + strings.Join(who, ", ")
}

// readGPUs asks for a new reading; the queue goes on meanwhile.
func (q *queue) readGPUs() {
	g := &q.gpus
	if g.reading {
		return
	}
	g.reading = true
	go func() {
		ctx, stop := context.WithTimeout(context.Background(), gpuTimeout)
		defer stop()
		list, err := g.reader.Devices(ctx)
		q.ops <- func() {
			g.reading, g.list, g.err, g.at = false, list, err, uptime()
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
