package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// engineGarbage and rehearsalGarbage are how much garbage an apply and a rehearsal may
	// leave beside their live heap, in bytes. Go's default is as much as is live: a large
	// run would take twice its memory. An apply runs for days on a login node, a rehearsal
	// for a minute.
	engineGarbage    = 48 << 20
	rehearsalGarbage = 64 << 20
	// leastPercent bounds the time spent on collections where the live heap is large.
	leastPercent = 15
	// paced is how often the share is adapted to the live heap.
	paced = 100 * time.Millisecond
)

// paceCollector keeps garbage within so many bytes, or leastPercent of the live heap
// where that is more, until it is stopped. A person who sets GOGC decides instead.
func paceCollector(garbage uint64) (stop func()) {
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
			if next := percentFor(liveHeap(), garbage); next != now {
				debug.SetGCPercent(next)
				now = next
			}
		}
	}()
	return func() { close(done); <-ended }
}

// percentFor is the share of a live heap, in percent, that so much garbage may take.
func percentFor(live, garbage uint64) int {
	if live == 0 { // nothing was collected yet
		return 100
	}
	return int(min(max(garbage*100/live, leastPercent), 100))
}

// liveHeap is the heap in use after the last collection, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
