package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sdk"
)

var background = context.Background()

func log() hclog.Logger { return sdk.Logger() }

const defaultGrace = 30 * time.Second // between TERM and KILL

func (x *example) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, unlock, err := x.guarded(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make([]providers.Submitted, len(r.Jobs))
	for i, spec := range r.Jobs {
		out[i] = providers.Submitted{Token: spec.Token, Handle: spec.Token, Err: b.take(spec)}
	}
	return out, nil
}

// take keeps a job, once: the same token again is either the same job, which
// is fine, or a mistake.
func (b *backend) take(spec providers.Job) *providers.Error {
	if spec.Workdir == "" {
		spec.Workdir = b.Workdir
	}
	switch {
	case !plainToken.MatchString(spec.Token):
		return providers.Errorf(providers.Invalid, "Token %q is not 8 to 128 letters, digits, - and _", spec.Token)
	case (spec.Shell == "") == (len(spec.Argv) == 0):
		return providers.Errorf(providers.Invalid, "Job %s needs either a command or an argument list", spec.Address)
	}
	text, err := json.Marshal(spec) // has no secrets
	if err != nil {
		return providers.Errorf(providers.Invalid, "Job %s cannot be kept: %v", spec.Address, err)
	}
	if old := b.jobs[spec.Token]; old != nil {
		if bytes.Equal(old.text, text) {
			return nil
		}
		return providers.Errorf(providers.Conflict, "Token %s belongs to another job", spec.Token)
	}
	j, err := keep(filepath.Join(b.dir, "jobs", spec.Token), spec, text)
	if err != nil {
		return providers.Errorf(providers.Internal, "Job %s cannot be kept: %v", spec.Address, err)
	}
	b.add(j)
	return nil
}

func (x *example) Find(_ context.Context, backend string, tokens []string) ([]offer.Observation, error) {
	b, err := x.at(backend)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]offer.Observation, len(tokens))
	for i, t := range tokens {
		out[i] = offer.Observation{Token: t, Presence: offer.Absent}
		if j := b.jobs[t]; j != nil {
			out[i] = j.seen
			if j.seen.Status == offer.Queued && j.has("held") {
				out[i].Reason, out[i].Cause = "held", offer.JobHeld
			}
		}
	}
	return out, nil
}

// Watch reads the log of events from an offset on. Nothing is forgotten, so
// there is nothing to acknowledge.
func (x *example) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := x.at(r.Backend)
	if err != nil {
		return err
	}
	at, _ := strconv.ParseInt(r.Cursor, 10, 64)
	for {
		b.mu.Lock()
		size, bell := b.size, b.bell
		b.mu.Unlock()
		if at < size {
			batch, err := b.read(at, size, r.Handles)
			if err != nil {
				return err
			}
			if err := fn(batch); err != nil {
				return err
			}
			at = size
			continue
		}
		select {
		case <-bell:
		case <-b.halt:
			return providers.Errorf(providers.Unreachable, "Backend %s is configured again", r.Backend)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (b *backend) read(from, to int64, handles []string) (providers.Batch, error) {
	batch := providers.Batch{Cursor: strconv.FormatInt(to, 10)}
	f, err := os.Open(b.log())
	if err != nil {
		return batch, err
	}
	defer f.Close()
	lines := json.NewDecoder(io.NewSectionReader(f, from, to-from))
	for {
		var o offer.Observation
		err := lines.Decode(&o)
		if errors.Is(err, io.EOF) {
			return batch, nil
		}
		if err != nil {
			return batch, err
		}
		if len(handles) == 0 || slices.Contains(handles, o.Handle) {
			batch.Events = append(batch.Events, o)
		}
	}
}

func (x *example) Cancel(_ context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, unlock, err := x.guarded(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make([]providers.Outcome, len(r.Tokens))
	for i, t := range r.Tokens {
		out[i] = providers.Outcome{ID: t}
		j := b.jobs[t]
		switch {
		case j == nil:
			out[i].What = "not found"
		case j.over() || j.has("exit"):
			out[i].What = "ended already"
		default:
			out[i].What = "cancelled"
			if err := b.cancel(j, r.Grace); err != nil {
				out[i].Err = providers.Errorf(providers.Internal, "Job %s cannot be cancelled: %v", t, err)
			}
		}
	}
	return out, nil
}

// cancel takes the claim away from a job that has not started, and ends one
// that has.
func (b *backend) cancel(j *job, grace time.Duration) error {
	if err := replaceFile(j.path("cancel"), nil, 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(j.path("claim"), 0o700); err == nil {
		j.beaten()
		o := j.seen
		o.Status, o.Ended = offer.Cancelled, time.Now()
		return b.record(j, o)
	}
	if grace == 0 {
		grace = max(j.spec.Grace, 0)
	}
	if grace == 0 {
		grace = defaultGrace
	}
	b.wg.Go(func() { b.kill(j, grace) })
	return nil
}

func (b *backend) kill(j *job, grace time.Duration) {
	for !j.has("pid") && !j.has("exit") { // the claim was a moment ago
		select {
		case <-time.After(time.Millisecond):
		case <-b.halt:
			return
		}
	}
	_ = syscall.Kill(-j.pid(), syscall.SIGTERM)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(poll) {
		if j.has("exit") || !running(j.pid()) {
			return
		}
		select {
		case <-b.halt:
			return
		default:
		}
	}
	_ = syscall.Kill(-j.pid(), syscall.SIGKILL)
}

func (x *example) Control(_ context.Context, r providers.ControlRequest) error {
	b, unlock, err := x.guarded(r.Backend, r.Fence, r.Holder)
	if err != nil {
		return err
	}
	defer unlock()
	switch {
	case r.Hold != nil && len(r.Tokens) > 0:
		return b.holdJobs(r.Tokens, *r.Hold)
	case r.Hold != nil:
		b.hold = *r.Hold
	}
	if r.Cap != nil && *r.Cap > 0 {
		b.slots = *r.Cap
	}
	return nil
}

// holdJobs keeps queued jobs from starting, or lets them start. It leaves jobs
// that run or have ended alone.
func (b *backend) holdJobs(tokens []string, hold bool) error {
	for _, t := range tokens {
		j := b.jobs[t]
		if j == nil || j.over() || j.claimed() {
			continue
		}
		if err := j.hold(hold); err != nil {
			return err
		}
	}
	return nil
}

// Logs: stdout and stderr are one file here.
func (x *example) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := x.at(r.Backend)
	if err != nil {
		return err
	}
	b.mu.Lock()
	j := b.jobs[r.Token]
	b.mu.Unlock()
	if j == nil {
		return providers.Errorf(providers.NotFound, "There is no job %s", r.Token)
	}
	if r.Lines > 0 {
		for _, line := range j.tail(r.Lines) {
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return err
			}
		}
		if info, err := os.Stat(j.path("log")); err == nil {
			r.Offset = info.Size()
		}
	}
	for {
		b.mu.Lock()
		last := !r.Follow || j.over()
		b.mu.Unlock()
		n, err := copyFrom(w, j.path("log"), r.Offset)
		r.Offset += n
		if err != nil || last {
			return err
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func copyFrom(w io.Writer, path string, offset int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}
