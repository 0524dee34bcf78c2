package providertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const look = 10 * time.Millisecond // between two looks at something that will happen

// A site is one provider with one backend, and what the test has seen there.
type site struct {
	*testing.T
	opts   Options
	p      providers.Provider
	b      providers.Backend
	ctx    context.Context
	fence  uint64
	holder string
	tokens []string // submitted
	cursor string
	last   map[string]offer.Observation // by token
	ends   map[string]int               // number of reports of an end, by token
}

func newSite(t *testing.T, o Options) *site {
	t.Helper()
	s := &site{
		T: t, opts: o, ctx: withTimeout(t, o.Timeout), fence: 1,
		last: map[string]offer.Observation{}, ends: map[string]int{},
	}
	// First registered, last run: folders are removed after all else.
	if o.Backend != nil {
		s.b = o.Backend(t)
	}
	if s.b.Workdir == "" {
		s.b.Workdir = t.TempDir()
	}
	s.p = o.New(t)
	schema, err := s.p.Schema(s.ctx)
	s.must(err)
	if s.b.Type == "" {
		s.b.Type = schema.Type
	}
	if s.b.Name == "" {
		s.b.Name = s.b.Type + ".test"
	}
	if s.b.Lineage == "" {
		s.b.Lineage = token()
	}
	if s.b.Campaign == "" {
		s.b.Campaign = "conformance"
	}
	if s.b.Dir == "" {
		s.b.Dir = s.b.Workdir
	}
	if len(s.b.Environ) == 0 {
		s.b.Environ = providers.JobEnviron(os.Environ())
	}
	s.must(s.p.Configure(s.ctx, s.b))
	t.Cleanup(s.clear)
	return s
}

// clear ends processes that the test has left running.
func (s *site) clear() {
	if len(s.tokens) == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), s.opts.Timeout)
	defer stop()
	if _, err := s.p.Cancel(ctx, providers.CancelRequest{
		Backend: s.b.Name, Fence: 1 << 60, Tokens: s.tokens, Grace: 50 * time.Millisecond,
	}); err != nil {
		s.Logf("clear: %v", err)
		return
	}
	for ctx.Err() == nil {
		seen, err := s.p.Find(ctx, s.b.Name, s.tokens)
		if err != nil {
			s.Logf("clear: %v", err)
			return
		}
		busy := false
		for _, o := range seen {
			busy = busy || o.Presence == offer.Found && !over(o)
		}
		if !busy {
			return
		}
		time.Sleep(look)
	}
}

func over(o offer.Observation) bool {
	switch o.Status {
	case offer.Completed, offer.Failed, offer.Cancelled, offer.Lost:
		return true
	}
	return false
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(describe(err))
	}
}

func describe(err error) string {
	var e *providers.Error
	if errors.As(err, &e) {
		return string(e.Class) + ": " + err.Error() + " " + e.Hint
	}
	return err.Error()
}

// wantClass wants an error of a class.
func (s *site) wantClass(what string, err error, class providers.ErrorClass) {
	s.Helper()
	var e *providers.Error
	switch {
	case err == nil:
		s.Errorf("%s: no error, want one of class %s", what, class)
	case !errors.As(err, &e):
		s.Errorf("%s: the error has no class, want %s: %v", what, class, err)
	case e.Class != class:
		s.Errorf("%s: the error's class is %s, want %s: %v", what, e.Class, class, err)
	case e.Summary == "":
		s.Errorf("%s: the error says nothing", what)
	}
}

// shell makes a job that runs a command in the workdir.
func (s *site) shell(command string) providers.Job {
	j := providers.Job{
		Token: token(), Address: "phase.test", Phase: "test", Name: "test", Attempt: 1, Shell: command,
		Workdir: s.b.Workdir, Dir: s.b.Workdir, Shape: offer.Shape{CPUs: 1, Nodes: 1}, Grace: time.Second,
	}
	j.ResultHash = j.Token
	return j
}

// once makes a job that leaves a line in the file "ran" each time it runs.
func (s *site) once() providers.Job {
	return s.shell(`echo "$MUSTER_TOKEN" >> ran`)
}

// gated makes a job that says "begun" and runs until the file "go" is there.
func (s *site) gated() providers.Job {
	return s.shell(`echo begun; while [ ! -e go ]; do sleep 0.1; done; echo done`)
}

func path(name string) providers.Output {
	return providers.Output{Name: strings.ReplaceAll(name, ".", "_"), Kind: "path", Path: name}
}

func (s *site) open() { s.write("go", "") }

func (s *site) file(name string) string { return filepath.Join(s.b.Workdir, name) }

func (s *site) write(name, text string) {
	s.Helper()
	s.must(os.MkdirAll(filepath.Dir(s.file(name)), 0o755))
	s.must(os.WriteFile(s.file(name), []byte(text), 0o644))
}

func (s *site) read(name string) string {
	s.Helper()
	b, err := os.ReadFile(s.file(name))
	s.must(err)
	return string(b)
}

// ran counts the lines of the file "ran" that are a job's.
func (s *site) ran(j providers.Job) int {
	b, _ := os.ReadFile(s.file("ran"))
	return strings.Count(string(b), j.Token)
}

func (s *site) request(jobs ...providers.Job) providers.SubmitRequest {
	return providers.SubmitRequest{Backend: s.b.Name, Fence: s.fence, Holder: s.holder, Batch: token(), Jobs: jobs}
}

// submit wants every job to be accepted, in order.
func (s *site) submit(jobs ...providers.Job) []providers.Submitted {
	s.Helper()
	for _, j := range jobs {
		s.tokens = append(s.tokens, j.Token)
	}
	out, err := s.p.Submit(s.ctx, s.request(jobs...))
	s.must(err)
	if len(out) != len(jobs) {
		s.Fatalf("%d results of %d jobs", len(out), len(jobs))
	}
	for i, r := range out {
		if r.Token != jobs[i].Token {
			s.Fatalf("result %d has token %s, want %s", i, r.Token, jobs[i].Token)
		}
		if r.Err != nil {
			s.Fatal(describe(r.Err))
		}
		if r.Handle == "" {
			s.Fatalf("job %s has no handle", r.Token)
		}
	}
	return out
}

var errEnough = errors.New("enough")

// watch follows the backend from where it stopped until done says so. It checks that each end
// is reported once per attempt.
func (s *site) watch(what string, done func() bool) {
	s.Helper()
	if done() {
		return
	}
	err := s.p.Watch(s.ctx, providers.WatchRequest{Backend: s.b.Name, Cursor: s.cursor}, func(b providers.Batch) error {
		for _, o := range b.Events {
			s.last[o.Token] = o
			if over(o) {
				s.ends[o.Token]++
			}
		}
		if b.Cursor == "" {
			return errors.New("a batch has no cursor")
		}
		s.cursor = b.Cursor
		if done() {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		s.Fatalf("waiting for %s: %v\nlast seen: %+v", what, err, s.last)
	}
}

// end waits until the jobs have ended and returns how, in order.
func (s *site) end(jobs ...providers.Job) []offer.Observation {
	s.Helper()
	s.watch("the jobs to end", func() bool {
		for _, j := range jobs {
			if !over(s.last[j.Token]) {
				return false
			}
		}
		return true
	})
	out := make([]offer.Observation, len(jobs))
	for i, j := range jobs {
		out[i] = s.last[j.Token]
	}
	return out
}

// run submits one job and waits for its end.
func (s *site) run(j providers.Job) offer.Observation {
	s.Helper()
	s.submit(j)
	return s.end(j)[0]
}

func (s *site) find(tokens ...string) []offer.Observation {
	s.Helper()
	out, err := s.p.Find(s.ctx, s.b.Name, tokens)
	s.must(err)
	if len(out) != len(tokens) {
		s.Fatalf("Find answered %d tokens with %d observations", len(tokens), len(out))
	}
	for i, o := range out {
		if o.Token != tokens[i] {
			s.Fatalf("observation %d has token %q, want %q", i, o.Token, tokens[i])
		}
	}
	return out
}

// until waits for something that is not told.
func (s *site) until(what string, done func() bool) {
	s.Helper()
	for !done() {
		if s.ctx.Err() != nil {
			s.Fatalf("waiting for %s: %v", what, s.ctx.Err())
		}
		time.Sleep(look)
	}
}

// running waits until a job runs.
func (s *site) running(j providers.Job) {
	s.Helper()
	s.until("a job to run", func() bool {
		o := s.find(j.Token)[0]
		if over(o) {
			s.Fatalf("the job ended: %+v", o)
		}
		return o.Status == offer.Running
	})
}

// restart kills the provider and has it back, configured.
func (s *site) restart() {
	s.Helper()
	s.p = s.opts.Restart(s.T, s.p)
	s.must(s.p.Configure(s.ctx, s.b))
}

func (s *site) wantStatus(o offer.Observation, want offer.Status) {
	s.Helper()
	if o.Status != want {
		s.Errorf("status is %s, want %s: %+v", o.Status, want, o)
	}
}

func (s *site) wantExit(o offer.Observation, want int) {
	s.Helper()
	if o.Exit == nil || *o.Exit != want {
		s.Errorf("exit is %v, want %d", exitOf(o), want)
	}
}

func exitOf(o offer.Observation) any {
	if o.Exit == nil {
		return "unknown"
	}
	return *o.Exit
}
