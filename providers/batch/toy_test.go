package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A toy is a batch scheduler in memory, the least that package batch can work with.
// Where Slurm and PBS differ it is as PBS: ids bear the server's name and an index
// in brackets, elements cannot come after their like nor be waited for, held,
// released or changed, arrays have consecutive indexes and two jobs at least, labels
// cannot be changed, no job can put itself back, and accounting is the memory of the
// queue.
type toy struct {
	install string // folder for the nodes' program
	mu      sync.Mutex
	last    int
	jobs    []*toyJob
}

// A toyJob is a job, or an element of an array.
type toyJob struct {
	scheduler.Entry
	script, output string
	most           int // of its array at once; 0 = all
	after          []scheduler.Dependency
	held           bool
	began, ended   time.Time
	end            scheduler.End
	group          int // of its processes, while it runs
}

var (
	_ scheduler.Type      = (*toy)(nil)
	_ scheduler.Scheduler = (*toy)(nil)
)

// What it is.

func (*toy) Name() string         { return "toy" }
func (*toy) Node() scheduler.Node { return toyNode{} }
func (*toy) Schema() offer.Schema {
	return offer.Schema{Type: "toy", Version: "1", Can: offer.Capabilities{Arrays: true, Dependencies: true, Transfer: true, Accounting: true, Remote: true, Holds: true, Guard: true}}
}
func (*toy) Terms(_, _ json.RawMessage) offer.Terms {
	return offer.Terms{Pool: "queue", Submit: "toysub"}
}
func (y *toy) Open(o scheduler.Opening) (scheduler.Site, error) {
	return &toySite{toy: y, name: o.Name}, nil
}

// toyNotation is how it writes ids: "12.toy" is a job, "12[].toy" an array and
// "12[3].toy" an element of it.
type toyNotation struct{}

func (toyNotation) ID(p scheduler.ElementID) string {
	if p.Index < 0 {
		return p.Array
	}
	return strings.Replace(p.Array, "[]", fmt.Sprintf("[%d]", p.Index), 1)
}

func (toyNotation) Place(id string) (scheduler.ElementID, bool) {
	number, rest, element := strings.Cut(id, "[")
	index, server, _ := strings.Cut(rest, "]")
	if !element || index == "" {
		return scheduler.ElementID{Array: id, Index: -1}, id != ""
	}
	n, err := strconv.Atoi(index)
	return scheduler.ElementID{Array: number + "[]" + server, Index: n}, err == nil
}

func (n toyNotation) Output(_ string, at scheduler.ElementID) string { return n.ID(at) + ".OU" }
func (toyNotation) Elements() (none scheduler.Elements)              { return none }
func (toyNotation) Words() scheduler.Words {
	return scheduler.Words{Name: "Toy", Pool: "queue", Server: "toyd", Submit: "toysub", Release: "toyrls"}
}

// toyNode is the scheduler as a job's script sees it.
type toyNode struct{ toyNotation }

func (toyNode) Environment() scheduler.Environment {
	return scheduler.Environment{Job: "TOY_JOBID", Array: "TOY_ARRAY_ID", Index: "TOY_ARRAY_INDEX", Pool: "TOY_QUEUE"}
}
func (toyNode) Requeue(context.Context, string) error { return errors.ErrUnsupported }
func (toyNode) Change(context.Context, []scheduler.Jobs, scheduler.Change) error {
	return errors.ErrUnsupported
}
func (toyNode) Avoid(context.Context, scheduler.Retry) string                 { return "" }
func (toyNode) Booted(context.Context, string) time.Time                      { return time.Time{} }
func (toyNode) CancelWaiting(context.Context, string, []scheduler.Jobs) error { return nil }
func (y *toy) ID(p scheduler.ElementID) string                                { return toyNotation{}.ID(p) }
func (y *toy) Place(id string) (scheduler.ElementID, bool)                    { return toyNotation{}.Place(id) }
func (y *toy) Output(name string, at scheduler.ElementID) string {
	return toyNotation{}.Output(name, at)
}
func (y *toy) Elements() (none scheduler.Elements)       { return none }
func (y *toy) Words() scheduler.Words                    { return toyNotation{}.Words() }
func (y *toy) Runs() (string, time.Time)                 { return "", time.Time{} }
func (y *toy) Takes(context.Context, string, []int) bool { return false }
func (y *toy) Command(script string, held bool) []string { return []string{"toysub", script} }

// What a site says.

// A toySite is one backend.
type toySite struct {
	*toy
	name string
}

func (s *toySite) Scheduler() scheduler.Scheduler { return s.toy }
func (s *toySite) Settings() scheduler.Settings {
	return scheduler.Settings{InstallDir: s.install, Rate: 60_000}
}
func (s *toySite) Recall(offer.Pool)                                  {}
func (s *toySite) LongestArray() int                                  { return 100 }
func (s *toySite) Check(*providers.Job) *providers.Error              { return nil }
func (s *toySite) Bounds(string, *providers.Job) (b scheduler.Bounds) { return b }
func (s *toySite) Processors(string) []string                         { return nil }
func (s *toySite) Pools(context.Context) ([]offer.Pool, error) {
	return []offer.Pool{{Backend: s.name, Name: "all", Kind: offer.QueuePool, Word: "queue", CPUs: 64, Idle: 64, Wait: -1}}, nil
}
func (s *toySite) Limits(context.Context, string, *providers.Job) ([]scheduler.Limit, error) {
	return nil, nil
}
func (s *toySite) Refused(_ string, _ *providers.Job, why *providers.Error) string {
	return why.Summary
}
func (s *toySite) Preflight(context.Context, []providers.Check) ([]providers.Finding, error) {
	return nil, nil
}
func (s *toySite) Quote(_ context.Context, shapes []offer.Shape) (out []offer.Quote, err error) {
	for i, shape := range shapes {
		q := offer.Quote{Backend: s.name, Pool: "all", Shape: i, Fits: shape.GPUs == 0, Wait: -1}
		if !q.Fits {
			q.Why = "it has no GPUs"
		}
		out = append(out, q)
	}
	return out, nil
}

// Script has its directives as one line of JSON.
func (s *toySite) Script(r scheduler.Request) (string, error) {
	if !r.Array {
		r.Indexes = nil
	}
	head, err := json.Marshal(toyHead{Name: r.Name, Indexes: r.Indexes, Most: r.Cap, After: r.Depend, Out: filepath.Join(r.Spool, "out")})
	return fmt.Sprintf("#!/bin/sh\n#TOY %s\n%s", head, r.Exec()), err
}

type toyHead struct {
	Name    string
	Indexes []int
	Most    int
	After   []scheduler.Dependency
	Out     string
}

// What it does.

func (y *toy) Submit(_ context.Context, script string, held bool) (id string, unclear bool, err error) {
	text, err := os.ReadFile(script)
	if err != nil {
		return "", false, providers.Errorf(providers.Invalid, "%v", err)
	}
	_, line, _ := strings.Cut(string(text), "#TOY ")
	line, _, _ = strings.Cut(line, "\n")
	var h toyHead
	if err := json.Unmarshal([]byte(line), &h); err != nil {
		return "", false, providers.Errorf(providers.Invalid, "%v", err)
	}
	if err := elementless(h); err != nil {
		return "", false, err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.last++
	id = fmt.Sprintf("%d.toy", y.last)
	if h.Indexes == nil {
		h.Indexes = []int{-1}
	} else {
		id = fmt.Sprintf("%d[].toy", y.last)
	}
	for _, i := range h.Indexes {
		j := &toyJob{script: script, most: h.Most, after: h.After, held: held}
		j.Entry = scheduler.Entry{ElementID: scheduler.ElementID{Array: id, Index: i}, Name: h.Name, Pool: "all", Submit: time.Now(), State: scheduler.Waiting}
		if held {
			j.Label = scheduler.Held
		}
		j.output = filepath.Join(h.Out, y.Output(h.Name, j.Entry.ElementID))
		y.jobs = append(y.jobs, j)
	}
	y.turn()
	return id, false, nil
}

// elementless refuses what needs single elements.
func elementless(h toyHead) error {
	for n, i := range h.Indexes {
		if len(h.Indexes) < 2 || i != n {
			return providers.Errorf(providers.Internal, "toysub: illegal array %v", h.Indexes)
		}
	}
	return together(h.After)
}

// together refuses dependencies on single elements.
func together(after []scheduler.Dependency) error {
	for _, d := range after {
		if d.Indexes != nil || d.Kind == scheduler.AfterLike {
			return providers.Errorf(providers.Internal, "toysub: illegal dependency %v", d)
		}
	}
	return nil
}

// turn starts what may start, for a caller that holds mu.
func (y *toy) turn() {
	for changed := true; changed; {
		changed = false
		for _, j := range y.jobs {
			if j.State != scheduler.Waiting || j.held {
				continue
			}
			running := 0
			for _, k := range y.jobs {
				if k.Array == j.Array && k.State == scheduler.Running {
					running++
				}
			}
			switch ready, never := y.ready(j); {
			case never:
				j.over(scheduler.End{Outcome: scheduler.Cancelled, Said: "deleted for its dependency"})
				changed = true
			case ready && (j.most == 0 || running < j.most):
				y.start(j)
				changed = true
			}
		}
	}
}

// ready reports whether what a job comes after has ended, or never will as it is
// to.
func (y *toy) ready(j *toyJob) (ready, never bool) {
	ready = true
	for _, d := range j.after {
		for _, k := range y.jobs {
			if k.Array != d.ID || d.Indexes != nil && !slices.Contains(d.Indexes, k.Index) {
				continue
			}
			ready = ready && k.State == scheduler.Ended
			never = never || d.Kind == scheduler.AfterOK && k.State == scheduler.Ended && k.end.Outcome != scheduler.Completed
		}
	}
	return ready, never
}

func (y *toy) start(j *toyJob) {
	cmd := exec.Command("/bin/sh", j.script)
	cmd.Env = append(os.Environ(), "TOY_QUEUE=all", "TOY_JOBID="+y.ID(j.Entry.ElementID))
	if j.Index >= 0 {
		cmd.Env = append(cmd.Env, "TOY_ARRAY_ID="+j.Array, fmt.Sprintf("TOY_ARRAY_INDEX=%d", j.Index))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.Create(j.output)
	if err == nil {
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Start()
		out.Close()
	}
	j.State, j.began, j.Nodes = scheduler.Running, time.Now(), "toy1"
	if err != nil {
		j.over(scheduler.End{Outcome: scheduler.Failed, Said: err.Error(), Exit: 1})
		return
	}
	j.group = cmd.Process.Pid
	go func() {
		err := cmd.Wait()
		y.mu.Lock()
		defer y.mu.Unlock()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		end := scheduler.End{Outcome: scheduler.Completed, Said: "F"}
		switch {
		case j.end.Outcome == scheduler.Cancelled:
			end = j.end
		case status.Signaled():
			end.Outcome, end.Signal = scheduler.Failed, int(status.Signal())
		case err != nil:
			end.Outcome, end.Exit = scheduler.Failed, status.ExitStatus()
		}
		j.over(end)
		y.turn()
	}()
}

func (j *toyJob) over(end scheduler.End) {
	j.State, j.end, j.ended, j.group = scheduler.Ended, end, time.Now(), 0
}

// of are the jobs that some Jobs name.
func (y *toy) of(list []scheduler.Jobs) (out []*toyJob) {
	for _, j := range y.jobs {
		if slices.ContainsFunc(list, func(s scheduler.Jobs) bool {
			return s.ID == j.Array && (s.Indexes == nil || slices.Contains(s.Indexes, j.Index))
		}) {
			out = append(out, j)
		}
	}
	return out
}

func (y *toy) Queue(context.Context) (rows []scheduler.Entry, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, j := range y.jobs {
		if j.State == scheduler.Ended {
			continue
		}
		if j.HeldBy = ""; j.held {
			j.HeldBy = offer.HeldByUser
		}
		rows = append(rows, j.Entry)
	}
	return rows, nil
}

func (y *toy) Account(_ context.Context, ids []string) (list []scheduler.Record, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, j := range y.jobs {
		if !slices.Contains(ids, j.Array) {
			continue
		}
		l := scheduler.Record{ElementID: j.Entry.ElementID, Name: j.Name, Submit: j.Submit, Start: j.began, Finish: j.ended, Nodes: j.Nodes}
		if j.State == scheduler.Ended {
			l.End = j.end
		}
		if !j.began.IsZero() && !j.ended.IsZero() {
			l.Usage = &offer.Usage{Elapsed: j.ended.Sub(j.began), CPU: -1, MaxRSS: -1}
		}
		list = append(list, l)
	}
	return list, nil
}

// Cluster: it has no name.
func (y *toy) Cluster(context.Context) (string, error) { return "", nil }

func (y *toy) Booted(context.Context) (time.Time, error) { return time.Time{}, nil }

func (y *toy) AtOnce(_ context.Context, array string) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, j := range y.of(scheduler.Whole(array)) {
		return j.most, nil
	}
	return -1, nil
}

func (y *toy) Search(_ context.Context, s scheduler.Submission) (string, offer.Presence, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, j := range y.jobs {
		if j.Name == s.Name {
			return j.Array, offer.Found, nil
		}
	}
	return "", offer.Absent, nil
}

func (y *toy) Cancel(_ context.Context, list []scheduler.Jobs) error {
	return y.cancel(list, func(*toyJob) bool { return true })
}

func (y *toy) CancelWaiting(_ context.Context, name string, list []scheduler.Jobs) error {
	return y.cancel(list, func(j *toyJob) bool { return j.Name == name && j.State == scheduler.Waiting })
}

func (y *toy) cancel(list []scheduler.Jobs, which func(*toyJob) bool) error {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, j := range y.of(list) {
		cancelled := scheduler.End{Outcome: scheduler.Cancelled, Said: "deleted", By: " by yourself"}
		switch {
		case !which(j):
		case j.State == scheduler.Waiting:
			j.over(cancelled)
		case j.State == scheduler.Running:
			j.end = cancelled
			syscall.Kill(-j.group, syscall.SIGTERM)
		}
	}
	y.turn()
	return nil
}

// change changes those of some jobs that wait; that there is none is refused.
func (y *toy) change(list []scheduler.Jobs, to func(*toyJob)) error {
	for _, s := range list {
		if s.Indexes != nil {
			return providers.Errorf(providers.Internal, "toy: invalid request %v", s)
		}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	found, gone := false, true
	for _, j := range y.of(list) {
		gone = gone && j.State == scheduler.Ended
		if j.State == scheduler.Waiting {
			found = true
			to(j)
		}
	}
	y.turn()
	if found {
		return nil
	}
	return &scheduler.Refusal{Err: providers.Errorf(providers.Invalid, "it does not wait"), Gone: gone, Unchangeable: !gone}
}

func (y *toy) Hold(_ context.Context, list []scheduler.Jobs) error {
	return y.change(list, func(j *toyJob) { j.held = true })
}

func (y *toy) Release(_ context.Context, list []scheduler.Jobs) error {
	return y.change(list, func(j *toyJob) { j.held = false })
}

func (y *toy) Change(_ context.Context, list []scheduler.Jobs, to scheduler.Change) error {
	switch to := to.(type) {
	case scheduler.Depend:
		if err := together(to); err != nil {
			return err
		}
		return y.change(list, func(j *toyJob) { j.after = to })
	case scheduler.Throttle:
		return y.change(list, func(j *toyJob) { j.most = int(to) })
	case scheduler.StartIn:
		return nil
	}
	return &scheduler.Refusal{Err: providers.Errorf(providers.Invalid, "it cannot be changed"), Unchangeable: true}
}
