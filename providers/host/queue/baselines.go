package queue

import (
	"maps"
	"slices"
	"sync"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// An empty baseline, of outputs that were not there, is the common one. It is
// not in the log while its first attempt runs: an attempt that was claimed and
// has none had that. closeBase writes it down when the attempt fails, and
// forgets any when the job completes, which the log says already.
func (c *core) closeBase(j *job) {
	key := baseKey(j)
	marks := c.bases.get(key)
	switch {
	case j.Status == offer.Completed:
		c.bases.set(key, nil)
	case marks != nil && empty(marks):
		c.put(entry{Base: &baseEntry{Key: key, Marks: marks}})
	}
}

// empty reports whether none of the outputs was there.
func empty(marks verify.Baseline) bool {
	for _, m := range marks {
		if m.Exists {
			return false
		}
	}
	return true
}

// baselines are the freshness baselines of jobs that have not completed, by
// baseKey. A starter takes one; it is set here before it is in the log, so
// that a compaction never misses it. The zero value is empty.
type baselines struct {
	mu sync.Mutex
	m  map[string]verify.Baseline
}

func (b *baselines) get(key string) verify.Baseline {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.m[key]
}

// set keeps marks; nil forgets them.
func (b *baselines) set(key string, marks verify.Baseline) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if marks == nil {
		delete(b.m, key)
		return
	}
	if b.m == nil {
		b.m = map[string]verify.Baseline{}
	}
	b.m[key] = marks
}

// each goes through them in the order of their keys.
func (b *baselines) each(fn func(string, verify.Baseline)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(b.m)) {
		fn(key, b.m[key])
	}
}
