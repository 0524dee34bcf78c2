package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// BenchmarkQueueNoop measures jobs a second through client and queue: each
// creates its one output, which is checked. Durable: every event that is
// counted was on the disk first.
func BenchmarkQueueNoop(b *testing.B) {
	w := newWorld(b)
	w.place.CPUs = runtime.NumCPU()
	// Outputs in memory: file systems differ more in what a new file costs
	// than all else here. The queue's own log stays on the disk.
	if dir, err := os.MkdirTemp("/dev/shm", "mq"); err == nil {
		w.place.Workdir = dir
		b.Cleanup(func() { os.RemoveAll(dir) })
	}
	var jobs []providers.Job
	for i := range b.N {
		j := w.job("", fmt.Sprintf("o/%d", i))
		j.Shell = ": > " + w.path(fmt.Sprintf("o/%d", i))
		jobs = append(jobs, j)
	}
	w.client.Find(context.Background(), w.place, nil) // starts the queue
	b.ResetTimer()
	start := time.Now()
	w.submit(jobs...)
	done := 0
	err := w.client.Watch(context.Background(), w.place, providers.WatchRequest{}, func(batch providers.Batch) error {
		for _, o := range batch.Events {
			switch o.Status {
			case offer.Completed:
				done++
			case offer.Failed:
				b.Fatalf("%+v", o)
			}
		}
		if done == len(jobs) {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "jobs/s")
	if p := w.queuePID(); p.Alive() {
		if mem, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID)); err == nil {
			b.ReportMetric(float64(field(string(mem), "VmHWM:"))/1024, "queue-MiB")
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID)); err == nil {
			f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
			for i, name := range []string{"queue-user-ms", "queue-sys-ms", "jobs-user-ms", "jobs-sys-ms"} {
				ticks, _ := strconv.ParseFloat(f[12+i], 64)
				b.ReportMetric(ticks*10/float64(b.N), name+"/op")
			}
		}
	}
}
