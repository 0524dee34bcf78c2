package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// poll is how often folders are looked at for jobs that have ended.
const poll = 20 * time.Millisecond

// backend is one configured backend:
//
//	WORKDIR/.muster/example/LINEAGE/
//	    fence         the highest fence seen, and its holder
//	    events.jsonl  observations, appended; a cursor is an offset
//	    jobs/TOKEN/   see job.go
type backend struct {
	providers.Backend
	dir      string
	greeting string
	slots    int
	halt     chan struct{}
	once     sync.Once
	wg       sync.WaitGroup

	mu    sync.Mutex
	fence providers.Fence
	hold  bool
	jobs  map[string]*job
	order []*job
	size  int64         // of events.jsonl
	bell  chan struct{} // closed and replaced when something was appended
}

func open(c providers.Backend) (*backend, error) {
	var own struct{ Greeting string }
	if len(c.Config) > 0 {
		if err := json.Unmarshal(c.Config, &own); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", c.Name, err)
		}
	}
	if c.Workdir == "" {
		c.Workdir = c.Dir
	}
	b := &backend{
		Backend: c, greeting: own.Greeting, slots: c.MaxParallel, halt: make(chan struct{}),
		jobs: map[string]*job{}, bell: make(chan struct{}),
	}
	if b.slots == 0 {
		b.slots = 4
	}
	if b.greeting == "" {
		b.greeting = "hello"
	}
	b.dir = filepath.Join(c.Workdir, ".muster", "example", c.Lineage)
	if err := b.load(); err != nil {
		return nil, fmt.Errorf("open %s: %w", b.dir, err)
	}
	b.wg.Go(b.tend)
	return b, nil
}

func (b *backend) stop() {
	b.once.Do(func() { close(b.halt) })
	b.wg.Wait()
}

// load reads the records of earlier processes.
func (b *backend) load() error {
	if err := os.MkdirAll(filepath.Join(b.dir, "jobs"), 0o700); err != nil {
		return err
	}
	if src, err := os.ReadFile(filepath.Join(b.dir, "fence")); err == nil {
		_, _ = fmt.Sscan(string(src), &b.fence.N, &b.fence.Holder)
	}
	entries, err := os.ReadDir(filepath.Join(b.dir, "jobs"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		j, err := loadJob(filepath.Join(b.dir, "jobs", e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // never acknowledged
		}
		if err != nil {
			return err
		}
		b.add(j)
	}
	return b.loadEvents()
}

// loadEvents learns which jobs have ended, and drops a line that was cut short.
func (b *backend) loadEvents() error {
	src, err := os.ReadFile(b.log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	whole := src[:bytes.LastIndexByte(src, '\n')+1]
	b.size = int64(len(whole))
	for _, line := range bytes.Split(whole, []byte("\n")) {
		var o offer.Observation
		if len(line) == 0 || json.Unmarshal(line, &o) != nil {
			continue
		}
		if j := b.jobs[o.Token]; j != nil {
			j.seen = o
		}
	}
	if len(whole) < len(src) {
		return os.Truncate(b.log(), b.size)
	}
	return nil
}

func (b *backend) log() string { return filepath.Join(b.dir, "events.jsonl") }

func (b *backend) add(j *job) {
	b.jobs[j.spec.Token] = j
	b.order = append(b.order, j)
}

// guard refuses the requests of a replaced muster, and remembers the newest.
// The lock is held.
func (b *backend) guard(n uint64, holder string) error {
	next, changed, err := b.fence.Admit(n, holder)
	if err != nil || !changed {
		return err
	}
	if err := replaceFile(filepath.Join(b.dir, "fence"), fmt.Appendln(nil, next.N, next.Holder), 0o600); err != nil {
		return err
	}
	b.fence = next
	return nil
}

// record appends an observation to the log and tells watchers. The lock is held.
func (b *backend) record(j *job, o offer.Observation) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(b.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Truncate(b.log(), b.size))
	}
	b.size += int64(len(line)) + 1
	j.seen = o
	close(b.bell)
	b.bell = make(chan struct{})
	return nil
}

// tend starts waiting jobs and notices ended ones.
func (b *backend) tend() {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		b.mu.Lock()
		running := 0
		for _, j := range b.order {
			if j.over() {
				continue
			}
			switch ended, err := b.look(j); {
			case err != nil:
				log().Error("look at job", "token", j.spec.Token, "error", err)
			case ended:
			case j.claimed():
				running++
			case !b.hold && !j.has("held") && running < b.slots:
				running++
				if err := b.start(j); err != nil {
					log().Error("start job", "token", j.spec.Token, "error", err)
				}
			}
		}
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-b.halt:
			return
		}
	}
}

var plainToken = regexp.MustCompile(`^[A-Za-z0-9_-]{8,128}$`)

// replaceFile puts a whole file in place at once, durably.
func replaceFile(path string, text []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
