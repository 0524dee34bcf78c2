package advice

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/offer"
)

// A History is the record of a phase's jobs: their requests and use, and where their time
// went.
type History struct {
	Phase    string
	GPU      bool // its jobs ask for devices
	Jobs     int
	Done     int // completed and verified
	Launches int // that ended
	Failed   int // of these
	Segments int // of these: ended by their walltime, and the next went on with their work
	Uses     []Use
	// Medians by job, and sums over all jobs that ended.
	Median, Sum history.Times
}

// A Use compares the requests of launches with their use of one resource, in
// its own unit: bytes, cores, nanoseconds, or bytes of one device.
type Use struct {
	What         string  // "memory", "cores", "walltime", "gpu memory"
	Asked, Least float64 // most and least that a launch asked for
	Median, Most float64
	Measured     int // launches; 0 = nobody measured it
	Short        int // launches whose memory is unknown because they were too short to measure
}

// HistoryOf is the history of every phase with a job that ended; has picks the
// jobs by address.
func HistoryOf(in Input, has func(address string) bool) []History {
	var out []History
	for _, g := range gather(in, has) {
		if len(g.launches) > 0 {
			out = append(out, g.history())
		}
	}
	return out
}

// gpuMemory covers all work on GPUs, also where nobody measured it.
const gpuMemory = "gpu memory"

func (g *group) history() History {
	h := History{Phase: g.phase.Name, Jobs: g.phase.Len(), Done: g.phase.Len() - g.left, Launches: len(g.launches)}
	for _, r := range g.phase.Requests(lang.Run) {
		h.GPU = h.GPU || r.Shape.GPUs > 0
	}
	for _, l := range g.launches {
		switch {
		case l.GoesOn:
			h.Segments++
		case l.At.Class != "" && !l.Completed:
			h.Failed++
		}
	}
	add := func(what string, asked func(offer.Shape) float64, of func(launch) (float64, bool)) {
		u := Use{What: what}
		for k, l := range g.launches {
			v := asked(g.shape(l.Cell))
			if u.Asked = max(u.Asked, v); k == 0 || v < u.Least {
				u.Least = v
			}
		}
		v := measures(g.launches, of)
		u.Median, u.Most, u.Measured = median(v), most(v), len(v)
		if what == "memory" {
			u.Short = g.tooShort()
		}
		if u.Asked > 0 || u.Measured > 0 || u.Short > 0 || what == gpuMemory {
			h.Uses = append(h.Uses, u)
		}
	}
	add("memory", askedMemory, usedMemory)
	add("cores", askedCores, usedCores)
	add("walltime", askedTime, g.usedTime)
	if h.GPU {
		add(gpuMemory, askedDevice, usedDevice)
	}
	h.Median, h.Sum = g.times()
	return h
}

// tooShort counts the launches that were too short to measure their memory.
func (g *group) tooShort() (n int) {
	for _, l := range g.launches {
		if l.TooShort() {
			n++
		}
	}
	return n
}

// times are the median of each part over the jobs that ended, and the sums.
func (g *group) times() (mid, sum history.Times) {
	var parts [3][]float64
	for _, job := range g.records {
		if job == nil {
			continue
		}
		t, ok := history.TimesOf(g.phase, job)
		if !ok {
			continue
		}
		sum.Queue, sum.Retry, sum.Run = sum.Queue+t.Queue, sum.Retry+t.Retry, sum.Run+t.Run
		for i, d := range []time.Duration{t.Queue, t.Retry, t.Run} {
			parts[i] = append(parts[i], float64(d))
		}
	}
	for i, into := range []*time.Duration{&mid.Queue, &mid.Retry, &mid.Run} {
		*into = time.Duration(median(sorted(parts[i])))
	}
	return mid, sum
}

// The request of a job, by resource.
func askedMemory(s offer.Shape) float64 { return float64(s.Memory) }
func askedCores(s offer.Shape) float64  { return float64(s.CPUs) }
func askedTime(s offer.Shape) float64   { return float64(s.Walltime) }
func askedGPUs(s offer.Shape) float64   { return float64(s.GPUs) }
