package host

import (
	"sync"

	"github.com/muster-run/muster/providers/wrapper/verify"
)

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

func (b *baselines) each(fn func(string, verify.Baseline)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, marks := range b.m {
		fn(key, marks)
	}
}
