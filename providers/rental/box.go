package rental

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A box is a machine that runs jobs, while this process leads it.
type box struct {
	*backend
	token string
	host  Host
	dir   string
	end   context.CancelFunc
	work  sync.WaitGroup
	kick  chan struct{}
	idle  time.Time        // since when it has no work; also in its idleFile
	has   map[string]bool  // files brought to it
	saved map[string]saved // checkpoints that are here, by token
	mute  bool             // it did not answer last
	met   time.Time        // when this process began to serve it
	// saving is held while a checkpoint is copied: one copy at a time writes a file here.
	saving sync.Mutex
}

// boxFolder keeps the record of a machine.
func (f folder) box(token string) string { return filepath.Join(string(f), "boxes", token) }

// check looks at a machine before work goes there.
//
// A machine that was stopped may come back without its GPU. If results on it are nowhere
// else, it is kept until they are here, and no job starts there.
func (b *backend) check(ctx context.Context, m Machine, o Offer) (f Found, err error) {
	holds := b.holds(m.ID)
	defer func() {
		if err != nil && holds {
			err = fmt.Errorf("machine %s: %w: %w", m.ID, ErrHolds, err)
		}
	}()
	folder := b.at().box("check-" + m.ID)
	h, err := b.dialer.Dial(b.Backend, m, folder)
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(folder)
	defer h.Close()
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	run := func(ctx context.Context, _ Machine, command string) (string, int, error) { return h.Run(ctx, command) }
	f, err = Inspect(run, b.demand().need(), b.now)(ctx, m, o)
	var unfit *Unfit
	if holds && errors.As(err, &unfit) {
		f.Unfit, err = unfit.Why, nil
	}
	if err != nil {
		return f, err
	}
	if err := b.fuse(ctx, h); err != nil {
		return f, err
	}
	if p, ok := b.platform.(SelfProver); ok && b.OnHold != "keep" {
		if _, exit, err := h.Run(ctx, p.ProveItself()); err != nil {
			return f, err
		} else if exit != 0 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("its own key does not work, so it cannot end itself: no ceiling while muster is off: $%s/h", o.USDPerHour.StringFixed(4)))
		}
	}
	return f, nil
}

// holds reports whether a machine has results that are nowhere else.
func (b *backend) holds(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rentals {
		if r.ID == id {
			return len(b.demand().unsafe(r.Token)) > 0
		}
	}
	return false
}

// need is the needs of muster and the jobs on a machine.
func (b demand) need() Need {
	n := Need{CUDA: b.CUDA, Folder: b.depot.there(b.Workdir), Free: b.Disk / 2, Programs: []string{"setsid"}} // an image takes its part of the disk
	if _, ends := b.platform.(SelfEnder); ends && b.OnHold != "keep" {
		n.Programs = append(n.Programs, "curl|python3")
	}
	return n
}

// checkTime is how long a machine may take to answer the check.
const checkTime = time.Minute

// serve begins to serve machines that became ready, and ends with those that are not.
func (b *backend) serve() {
	ready := map[string]bool{}
	for _, r := range b.rentals {
		if r.Step != Ready || r.Machine.Host == "" {
			continue
		}
		ready[r.Token] = true
		if b.boxes[r.Token] != nil {
			continue
		}
		folder := b.at().box(r.Token)
		m := r.Machine
		m.Up = r.Up
		h, err := b.dialer.Dial(b.Backend, m, folder)
		if err != nil {
			b.note(err)
			continue
		}
		b.note(errors.Join(os.MkdirAll(folder, 0o700), writeJSON(machineFile(folder), m)))
		x := &box{backend: b, token: r.Token, host: h, dir: folder, kick: make(chan struct{}, 1), has: map[string]bool{}, saved: map[string]saved{}, met: b.now()}
		b.note(errors.Join(readJSON(x.hasFile(), &x.has), readJSON(x.idleFile(), &x.idle)))
		ctx, end := context.WithCancel(context.Background())
		x.end = end
		x.work.Go(func() { x.hand(ctx) })
		x.work.Go(func() { x.follow(ctx) })
		x.work.Go(func() { x.attend(ctx) })
		b.boxes[r.Token] = x
	}
	for token, x := range b.boxes {
		if r := b.rental(token); !ready[token] && (r == nil || r.Step != Ready) {
			delete(b.boxes, token)
			go x.close()
		}
	}
}

// machineFile tells other processes where the machine of a folder was last reached.
func machineFile(folder string) string { return filepath.Join(folder, "machine.json") }

func (x *box) close() error {
	x.end()
	err := x.host.Close()
	x.work.Wait()
	return err
}

func (x *box) hasFile() string { return filepath.Join(x.dir, "has.json") }

// idleFile keeps since when the machine is idle, for muster processes that stay for a
// moment only.
func (x *box) idleFile() string { return filepath.Join(x.dir, "idle.json") }

// rests records since when the machine is idle; zero: it has work. The lock is held.
func (x *box) rests(since time.Time) {
	if !since.Equal(x.idle) {
		x.idle = since
		x.note(writeJSON(x.idleFile(), since))
	}
}

// assign gives waiting jobs to machines with room. The record names the machine
// before the machine hears of the job.
func (b *backend) assign() {
	if b.held {
		return
	}
	busy := b.demand().busy()
	for _, j := range b.jobs.sorted() {
		if j.ended() || j.Box != "" || j.Held {
			continue
		}
		for token, x := range b.boxes {
			if !x.takes(j, busy[token]) {
				continue
			}
			j.Box = token
			if err := b.jobs.put(j); err != nil {
				j.Box = ""
				b.note(err)
				return
			}
			busy[token] += max(1, j.Spec.Shape.GPUs)
			x.rests(time.Time{})
			x.wake()
			break
		}
	}
}

// takes reports whether the machine has room for a job beside those on busy GPUs.
func (x *box) takes(j *job, busy int) bool {
	r := x.rental(x.token)
	return r != nil && r.Found.Unfit == "" && poolOf(r.Want) == j.Spec.Pool && busy+max(1, j.Spec.Shape.GPUs) <= x.GPUs
}

func (x *box) wake() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// pause is between two tries to reach a machine.
const pause = 3 * time.Second

// hand gives the machine's queue the jobs that are assigned to it.
func (x *box) hand(ctx context.Context) {
	for ctx.Err() == nil {
		x.mu.Lock()
		var next *job
		for _, j := range x.jobs.on(x.token) {
			if !j.Handed {
				next = j
				break
			}
		}
		x.mu.Unlock()
		wait := time.Duration(0)
		if next != nil {
			err := x.give(ctx, next)
			if err == nil {
				continue
			}
			wait = pause
			x.mu.Lock()
			next.Seen.Reason = "it could not be submitted to its machine yet: " + providers.Reason(err)
			x.mute = true
			x.tell()
			x.mu.Unlock()
		}
		if wait == 0 {
			wait = time.Hour // until it is woken
		}
		select {
		case <-x.kick:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// give hands one job over, with its files.
func (x *box) give(ctx context.Context, j *job) error {
	if err := x.heard(ctx, false); err != nil {
		return err
	}
	if err := x.sync(ctx, j); err != nil {
		return err
	}
	spec := j.Spec
	spec.Pool, spec.Secrets, spec.Guard = "", j.Secrets, x.depot.replacing(&j.Spec)
	if !x.platform.Facts().Whole {
		spec.Image = "" // the machine is the image
	}
	x.mu.Lock()
	fence := x.fence
	x.mu.Unlock()
	out, err := x.host.Submit(ctx, providers.SubmitRequest{Backend: x.Name, Fence: fence.N, Holder: fence.Holder, Batch: spec.Token, Jobs: []providers.Job{spec}})
	if err == nil && len(out) == 1 && out[0].Err != nil {
		err = out[0].Err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var said *providers.Error
	if errors.As(err, &said) && said.Class != providers.Unreachable && said.Class != providers.Auth && said.Class != providers.Internal {
		o := j.Seen
		o.Status, o.Ended, o.Class, o.Reason = offer.Failed, x.now(), "refused", said.Error()
		x.saw(j, o)
		return nil
	}
	if err != nil {
		return err
	}
	if j.ended() { // it was cancelled meanwhile
		go x.withdraw(ctx, j.Spec.Token, fence)
		return nil
	}
	x.mute = false
	j.Handed, j.Secrets, j.current = true, nil, true
	o := j.Seen
	o.Handle, o.Stage, o.Reason = out[0].Handle, offer.Released, ""
	x.saw(j, o)
	return nil
}

// withdraw cancels a job in the machine's queue.
func (x *box) withdraw(ctx context.Context, token string, fence providers.Fence) {
	_, err := x.host.Cancel(ctx, providers.CancelRequest{Backend: x.Name, Fence: fence.N, Holder: fence.Holder, Tokens: []string{token}})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note(err)
}

// sync brings the files of a job to the machine that it lacks.
func (x *box) sync(ctx context.Context, j *job) error {
	all, err := x.depot.pushes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := x.bring(ctx, p); err != nil {
			return err
		}
	}
	var more []string
	for _, in := range j.Spec.Inputs {
		more = append(more, in.Paths...)
	}
	if c := j.Spec.Checkpoint.Path; c != "" {
		more = append(more, c)
	}
	for _, path := range more {
		found, err := x.depot.list([]string{path})
		if err != nil {
			return err
		}
		// The oldest first: which checkpoint is the newest follows from the times on the machine.
		slices.SortStableFunc(found, func(a, b providers.FileInfo) int { return cmp.Compare(a.MTime, b.MTime) })
		for _, f := range found {
			if err := x.bring(ctx, pushed{Path: f.Path, Size: f.Size}); err != nil {
				return err
			}
		}
	}
	return nil
}

// bring pushes one file of the depot, unless the machine has it.
func (x *box) bring(ctx context.Context, p pushed) error {
	here := x.depot.origin(p.Path)
	fi, err := os.Stat(here)
	if err != nil {
		return err
	}
	mark := hasMark(x.depot.there(p.Path), fi, p.Digest)
	x.mu.Lock()
	has := x.has[mark]
	x.mu.Unlock()
	if has {
		return nil
	}
	f, err := os.Open(here)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := x.host.Push(ctx, x.Name, x.depot.there(p.Path), fi.Size(), p.Digest, f); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.has[mark] = true
	return writeJSON(x.hasFile(), x.has)
}

// hasMark names one content of a path of the machine, by the file here that has it.
func hasMark(there string, here fs.FileInfo, digest string) string {
	return fmt.Sprintf("%s %d %d %s", there, here.Size(), here.ModTime().UnixNano(), digest)
}

// follow records what happens to the machine's jobs.
func (x *box) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := x.host.Watch(ctx, providers.WatchRequest{Backend: x.Name}, func(batch providers.Batch) error {
			for i := range batch.Events {
				if err := x.happened(ctx, batch.Events[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && ctx.Err() == nil {
			id := x.machineID()
			x.mu.Lock()
			x.note(fmt.Errorf("machine %s: %w", id, err))
			x.mute = true
			x.tell()
			x.mu.Unlock()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// happened is an event of the machine's queue. A job is completed when its outputs
// are here.
func (x *box) happened(ctx context.Context, o offer.Observation) error {
	x.mu.Lock()
	j := x.jobs.all[o.Token]
	known := j != nil && j.Box == x.token && !j.ended()
	handle := ""
	if known {
		handle, j.heard = j.Seen.Handle, true
	}
	x.mu.Unlock()
	if !known {
		return nil
	}
	o.Node = x.machineID()
	if ended(o.Status) {
		x.keepLog(ctx, o.Token, handle)
	}
	safe := false
	if o.Status == offer.Completed {
		outputs, err := x.collect(ctx, j, o)
		if err != nil {
			return err
		}
		o.Outputs, safe = outputs, true
	} else if ended(o.Status) && j.Spec.Checkpoint.Path != "" {
		x.saveNow(ctx, j) // its next launch may be on another machine
	}
	if ended(o.Status) {
		x.last(ctx, j)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	j.Safe, x.mute = safe, false
	j.Handed, j.Secrets, j.current = true, nil, true // also where the answer to the submission is still on its way
	if len(o.GPUs) == 0 {
		o.GPUs = j.Seen.GPUs
	}
	if o.Status == offer.Failed && o.Class == "node_failure" {
		o = x.withMachine(j, o)
	}
	x.saw(j, o)
	if ended(o.Status) {
		x.backend.wake()
	}
	return nil
}

// last marks a machine as safe to be given up, if a job that has just ended was the
// last one with something on it. muster may end as soon as it knows of that end.
func (x *box) last(ctx context.Context, j *job) {
	x.mu.Lock()
	left := x.demand().unsafe(x.token)
	x.mu.Unlock()
	if len(left) == 0 || len(left) == 1 && left[0] == j {
		_ = x.heard(ctx, true)
	}
}

func (x *box) machineID() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.rental(x.token); r != nil {
		return r.ID
	}
	return ""
}

// collect copies the outputs of a completed job here, and opens them here.
func (x *box) collect(ctx context.Context, j *job, o offer.Observation) ([]offer.Output, error) {
	var out []offer.Output
	for _, spec := range j.Spec.Outputs {
		path := spec.Path
		if !filepath.IsAbs(path) && path != "" && path[0] != '~' {
			path = filepath.Join(x.depot.there(j.Spec.Workdir), path)
		}
		files, err := x.host.List(ctx, x.Name, []string{path})
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if f.Dir {
				continue
			}
			if err := x.fetch(ctx, f); err != nil {
				return nil, err
			}
		}
	}
	here, err := x.depot.verify(ctx, providers.VerifyRequest{Backend: x.Name, Workdir: j.Spec.Workdir, Outputs: j.Spec.Outputs, Open: true})
	if err != nil {
		return nil, err
	}
	for _, there := range o.Outputs {
		for _, h := range here {
			if h.Name != there.Name {
				continue
			}
			if h.Digest != there.Digest || !h.OK {
				return nil, providers.Errorf(providers.Unreachable, "output %q of %s did not arrive whole: %s", h.Name, j.Spec.Address, h.Verdict)
			}
			h.Metrics = there.Metrics
			out = append(out, h)
		}
	}
	return out, nil
}

// fetch copies a file of the machine into the depot.
func (x *box) fetch(ctx context.Context, f providers.FileInfo) error {
	if err := x.fetchPart(ctx, f); err != nil {
		return err
	}
	return x.place(f)
}

// fetchPart copies a file beside its place in the depot.
func (x *box) fetchPart(ctx context.Context, f providers.FileInfo) error {
	here := x.depot.here(f.Path)
	if err := os.MkdirAll(filepath.Dir(here), 0o777); err != nil {
		return err
	}
	w, err := os.OpenFile(here+partSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := x.host.Pull(ctx, x.Name, f.Path, 0, w); err != nil {
		return err
	}
	n, err := w.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if n != f.Size {
		return providers.Errorf(providers.Unreachable, "%s ended after %s of %s", f.Path, units.FormatSize(n), units.FormatSize(f.Size))
	}
	return errors.Join(w.Sync(), os.Chtimes(here+partSuffix, time.Time{}, time.Unix(0, f.MTime)))
}

const partSuffix = ".muster-part"

// place puts a file that was copied whole in its place.
func (x *box) place(f providers.FileInfo) error {
	here := x.depot.here(f.Path)
	return os.Rename(here+partSuffix, here)
}

// logFile keeps a job's log, so that it outlives the machine.
func (f folder) log(token string, stderr bool) string {
	name := token + ".out"
	if stderr {
		name = token + ".err"
	}
	return filepath.Join(string(f), "logs", name)
}

// keepLog copies a job's log here. One that cannot be copied is not waited for.
func (x *box) keepLog(ctx context.Context, token, handle string) {
	for _, stderr := range []bool{false, true} {
		path := x.at().log(token, stderr)
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
			return
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return
		}
		_ = x.host.Logs(ctx, providers.LogRequest{Backend: x.Name, Token: token, Handle: handle, Stderr: stderr}, f)
		f.Close()
	}
}
