package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbageRoom is how much garbage a run of the engine may leave beside its live heap.
	// Go's default is as much as is live: a large run would take twice its memory.
	garbageRoom = 48 << 20 // bytes
	// leastPercent bounds the time spent on collections where the live heap is large.
	leastPercent = 15
	// paced is how often the share is adapted to the live heap.
	paced = 100 * time.Millisecond
)

// paceCollector keeps garbage within garbageRoom, or leastPercent of the live heap where
// that is more, until it is stopped. A person who sets GOGC decides instead.
func paceCollector() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(paced)
		defer tick.Stop()
		was := debug.SetGCPercent(100)
		defer func() { debug.SetGCPercent(was) }()
		for now := 100; ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if next := percentFor(liveHeap()); next != now {
				debug.SetGCPercent(next)
				now = next
			}
		}
	}()
	return func() { close(done); <-ended }
}

// percentFor is the share of a live heap, in percent, that garbage may take.
func percentFor(live uint64) int {
	if live == 0 { // nothing was collected yet
		return 100
	}
	return int(min(max(garbageRoom*100/live, leastPercent), 100))
}

// liveHeap is what the last collection found in use, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
