package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/monotonic"
)

// A gpuWatch samples the memory that a command uses on its devices, and how busy they are.
// Accounting has it only where a site collects it.
type gpuWatch struct {
	given gpu.Selection
	group attempt.Processes
	began time.Duration // uptime
	stop  context.CancelFunc
	use   chan gpu.Use // the measured use, once it has stopped
	last  atomic.Pointer[gpuBusy]
	asked atomic.Bool // a newer look than the last is wanted: the next one does not rest
}

// gpuBusy is how busy the devices were at the last look.
type gpuBusy struct {
	at      time.Duration // uptime
	percent []int         // of each device; nil = unknown
}

const (
	gpuLook = 200 * time.Millisecond // how often it is asked whether to look
	gpuRead = 10 * time.Second       // a reading that takes longer hangs
	gpuStop = 3 * time.Second        // how long a reading in progress is waited for at the end
	// littleMemory is the least memory request, in bytes, of a job whose devices are watched:
	// the watcher's own memory counts as the job's.
	littleMemory = 256 << 20
	// gpuIdle is the most memory, in bytes, that an unused device may show. More at the first
	// look belongs to the command or to somebody else.
	gpuIdle = 1 << 30
)

// watchGPUs samples the devices of a start while its command runs; it is nil where the start
// has none or requests little memory. Between two looks it rests as many times as long as a
// look takes.
func (s *start) watchGPUs(group attempt.Processes, rest time.Duration) *gpuWatch {
	if m := s.shape().Memory; len(s.begin.GPUs) == 0 || m > 0 && m < littleMemory {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &gpuWatch{given: gpu.Selection(s.begin.GPUs), group: group, began: monotonic.Uptime(), stop: stop, use: make(chan gpu.Use, 1)}
	go func() {
		reader, err := gpu.Open()
		if err != nil {
			reader = gpu.None{}
		}
		defer reader.Close()
		w.use <- w.look(ctx, reader, rest)
	}()
	return w
}

// look reads the devices until the context ends.
func (w *gpuWatch) look(ctx context.Context, reader gpu.Reader, rest time.Duration) (use gpu.Use) {
	clock := time.NewTicker(gpuLook)
	defer clock.Stop()
	var before map[string]int64 // nil until the first look
	var rested time.Duration    // uptime from when on the next may begin
	for {
		if at := monotonic.Uptime(); before == nil || w.asked.Swap(false) || at >= rested && use.Due(w.began, at) {
			reading, done := context.WithTimeout(ctx, gpuRead)
			list, err := reader.Devices(reading)
			done()
			w.last.Store(&gpuBusy{at, w.given.Utilization(list)})
			switch {
			case ctx.Err() != nil:
				return use
			case before == nil:
				before = idle(list)
			default:
				use.See(at, w.most(list, err, before))
			}
			rested = monotonic.Uptime() + rest*(monotonic.Uptime()-at)
		}
		select {
		case <-ctx.Done():
			return use
		case <-clock.C:
		}
	}
}

// utilization is the percentage for which each device was busy at the last look; nil = unknown.
// If the look was longer ago than within, it asks for another, whose result comes soon.
func (w *gpuWatch) utilization(within time.Duration) (percent []int, soon bool) {
	if w == nil {
		return nil, false
	}
	if b := w.last.Load(); b != nil && monotonic.Uptime()-b.at <= within {
		return b.percent, false
	}
	w.asked.Store(true)
	return nil, true
}

// idle is the memory in use on devices without processes.
func idle(list []gpu.Device) map[string]int64 {
	out := map[string]int64{}
	for _, d := range list {
		if len(d.Processes) == 0 && d.Used <= gpuIdle {
			out[d.ID()] = d.Used
		}
	}
	return out
}

// most is the most memory that the command uses on one of its devices, -1 where one of them is
// unknown.
func (w *gpuWatch) most(list []gpu.Device, err error, before map[string]int64) (most int64) {
	if err != nil || len(w.given.Absent(list)) > 0 {
		return -1
	}
	members := map[int]bool{}
	for _, p := range w.group.Members() {
		members[p] = true
	}
	for _, d := range list {
		if !w.given.Has(d) {
			continue
		}
		was, known := before[d.ID()]
		if !known {
			was = -1
		}
		n := d.Own(func(pid int) bool { return members[pid] }, was)
		if n < 0 {
			return -1
		}
		most = max(most, n)
	}
	return most
}

// end stops the looks and returns their result: nothing, where a look hangs.
func (w *gpuWatch) end() gpu.Use {
	w.stop()
	select {
	case use := <-w.use:
		return use
	case <-time.After(gpuStop):
		return gpu.Use{}
	}
}

// memory is the most that the command had on one of its devices, in bytes;
// nil = unknown.
func (w *gpuWatch) memory() *int64 {
	if w == nil {
		return nil
	}
	use := w.end()
	if most := use.Bytes(w.began, monotonic.Uptime()); most >= 0 {
		return &most
	}
	return nil
}
