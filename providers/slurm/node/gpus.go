package node

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/gpu"
)

// A gpuWatch looks now and then at the memory that a command has in use on its
// devices. Slurm's own accounting knows of it only where a site gathers it.
type gpuWatch struct {
	began time.Duration // uptime
	stop  context.CancelFunc
	use   chan gpu.Use // what was seen, once it has stopped
}

const (
	gpuLook = 200 * time.Millisecond // how often it is asked whether to look
	gpuRead = 10 * time.Second       // a reading that takes longer hangs
	gpuStop = 3 * time.Second        // how long a reading in progress is waited for at the end
	// littleMemory is what a job asks for at least whose devices are looked at, in
	// bytes: what looks, counts as the job's own memory.
	littleMemory = 256 << 20
	// gpuIdle is how much may be in use on a device that nobody uses, in bytes.
	// More at the first look is already the command's, or somebody else's.
	gpuIdle = 1 << 30
)

// watchGPUs begins to look, if the job has devices.
func (s *start) watchGPUs() {
	if m := s.shape().Memory; len(s.begin.GPUs) > 0 && (m == 0 || m >= littleMemory) {
		s.gpus = s.newGPUWatch(gpu.Rest)
	}
}

// newGPUWatch looks, and rests so many times as long as a look takes.
func (s *start) newGPUWatch(rest time.Duration) *gpuWatch {
	ctx, stop := context.WithCancel(context.Background())
	w := &gpuWatch{began: boot.Uptime(), stop: stop, use: make(chan gpu.Use, 1)}
	began, pid := w.began, s.pid
	go func() {
		reader, err := gpu.Open()
		if err != nil {
			w.use <- gpu.Use{}
			return
		}
		defer reader.Close()
		w.use <- s.look(ctx, reader, pid, began, rest)
	}()
	return w
}

// look reads the devices until the context ends.
func (s *start) look(ctx context.Context, reader gpu.Reader, pid int, began, rest time.Duration) (use gpu.Use) {
	clock := time.NewTicker(gpuLook)
	defer clock.Stop()
	var before map[string]int64 // nil until the first look
	var rested time.Duration    // uptime from when on the next may begin
	for {
		if at := boot.Uptime(); before == nil || at >= rested && use.Due(began, at) {
			reading, done := context.WithTimeout(ctx, gpuRead)
			list, err := reader.Devices(reading)
			done()
			switch {
			case ctx.Err() != nil:
				return use
			case before == nil:
				before = idle(list)
			default:
				use.See(at, s.onGPUs(list, err, pid, before))
			}
			rested = boot.Uptime() + rest*(boot.Uptime()-at)
		}
		select {
		case <-ctx.Done():
			return use
		case <-clock.C:
		}
	}
}

// idle is what is in use on devices that nobody seems to use yet.
func idle(list []gpu.Device) map[string]int64 {
	out := map[string]int64{}
	for _, d := range list {
		if len(d.Processes) == 0 && d.Used <= gpuIdle {
			out[d.ID()] = d.Used
		}
	}
	return out
}

// onGPUs is the most that the command has on one of its devices, -1 where that
// cannot be told of each.
func (s *start) onGPUs(list []gpu.Device, err error, pid int, before map[string]int64) (most int64) {
	mine := gpu.Selection(s.begin.GPUs)
	if err != nil || len(mine.Absent(list)) > 0 {
		return -1
	}
	members := map[int]bool{}
	for _, p := range s.group(pid).Members() {
		members[p] = true
	}
	for _, d := range list {
		if !mine.Has(d) {
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

// end ends the looks, and is what they saw: nothing, where one hangs.
func (w *gpuWatch) end() gpu.Use {
	w.stop()
	select {
	case use := <-w.use:
		return use
	case <-time.After(gpuStop):
		return gpu.Use{}
	}
}

// gpuMemory is the most that the command had on one of its devices, in bytes;
// nil = unknown.
func (s *start) gpuMemory() *int64 {
	if s.gpus == nil {
		return nil
	}
	use := s.gpus.end()
	if most := use.Bytes(s.gpus.began, boot.Uptime()); most >= 0 {
		return &most
	}
	return nil
}
