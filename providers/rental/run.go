package rental

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Submit records jobs; they wait for a machine. A job that it acknowledges is on the
// disk. Without jobs it waits until those that it has are on their machines, see settle.
func (p *Provider) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, err := p.led(r.Backend)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.fenced(r.Fence, r.Holder); err != nil {
		return nil, err
	}
	if len(r.Jobs) == 0 {
		return nil, settle(ctx, b)
	}
	out := make([]providers.Submitted, len(r.Jobs))
	for i := range r.Jobs {
		out[i] = b.accept(r, r.Jobs[i])
	}
	b.wake()
	return out, nil
}

// accept records one job.
func (b *backend) accept(r providers.SubmitRequest, spec providers.Job) providers.Submitted {
	out := providers.Submitted{Token: spec.Token, Queue: b.at().identity()}
	if spec.Pool == "" {
		spec.Pool = poolOf(b.settings.want(nil))
	}
	if old := b.jobs.all[spec.Token]; old != nil {
		if !sameSpec(old.Spec, spec) {
			out.Err = providers.Errorf(providers.Conflict, "Token %s belongs to another job, %s", spec.Token, old.Spec.Address)
			return out
		}
		out.Handle, out.Stage = old.Seen.Handle, old.Seen.Stage
		return out
	}
	if _, err := b.demand().wantFor(spec.Pool); err != nil {
		errors.As(err, &out.Err)
		return out
	}
	if !b.runs(spec.Image) {
		out.Err = providers.Errorf(providers.Invalid, "Machines of backend.%s run image %s, and the job asks for %s", b.Name, b.Image, spec.Image)
		return out
	}
	if err := b.depot.begin(&spec); err != nil {
		out.Err = providers.Errorf(providers.Internal, "%v", err)
		return out
	}
	j := &job{Spec: spec, Secrets: spec.Secrets, At: b.now()}
	j.Most, _ = b.limit(spec.Pool)
	j.Seen = offer.Observation{Token: spec.Token, Handle: spec.Token, Presence: offer.Found, Status: offer.Queued, Attempt: 1, Pool: spec.Pool, Stage: offer.Accepted}
	if err := b.jobs.put(j); err != nil {
		out.Err = providers.Errorf(providers.Internal, "%v", err)
		return out
	}
	out.Handle, out.Stage = j.Seen.Handle, offer.Accepted
	return out
}

// identity is the name of the backend's queue: its folder of records.
func (f folder) identity() string { return "rental:" + string(f) }

// fenced refuses a muster that another has replaced. The lock is held.
func (b *backend) fenced(n uint64, holder string) error {
	next, changed, err := b.fence.Admit(n, holder)
	if err != nil || !changed {
		return err
	}
	b.fence = next
	return writeJSON(b.at().fence(), next)
}

// led is a backend that this process leads.
func (p *Provider) led(name string) (*backend, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	return b, b.lead()
}

// records are a backend's jobs: those of this process where it leads, else those on
// the disk.
func (b *backend) records() (*jobs, error) {
	if b.lock != nil {
		return b.jobs, nil
	}
	return readJobs(filepath.Join(b.dir, "jobs"))
}

// recalled are all jobs with a record. The lock is held.
func recalled(b *backend, js *jobs) (out []offer.Observation) {
	fence := b.fence.N
	if b.lock == nil { // another process may have been given a higher one
		var f providers.Fence
		if readJSON(b.at().fence(), &f) == nil {
			fence = max(fence, f.N)
		}
	}
	for _, j := range js.all {
		o := b.shown(j)
		o.Record = &offer.JobRecord{Address: j.Spec.Address, Smoke: j.Spec.Smoke, Result: j.Spec.ResultHash, First: max(j.Spec.Attempt, 1), Fence: fence}
		out = append(out, o)
	}
	return out
}

// Find returns the records of tokens.
func (p *Provider) Find(_ context.Context, name string, tokens []string) ([]offer.Observation, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	rentals, err := b.recorded()
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lock == nil { // another process may lead the machines
		b.rentals = rentals
	}
	js, err := b.records()
	if err != nil {
		return nil, providers.Errorf(providers.Internal, "The records of backend.%s cannot be read: %v", b.Name, err)
	}
	if len(tokens) == 0 {
		if len(js.all) == 0 {
			return nil, providers.Errorf(providers.NotFound, "There is no record of this campaign in %s", b.dir)
		}
		return recalled(b, js), nil
	}
	out := make([]offer.Observation, len(tokens))
	for i, token := range tokens {
		if j := js.all[token]; j != nil {
			out[i] = b.shown(j)
			continue
		}
		out[i] = offer.Observation{Token: token, Presence: offer.Absent, Reason: "no job of this token was submitted to backend." + b.Name, Queues: []string{b.at().identity()}}
	}
	return out, nil
}

// shown is a job as others see it, with its machine.
func (b *backend) shown(j *job) offer.Observation {
	o := j.Seen
	o.Queues = []string{b.at().identity()}
	if r := b.rental(j.Box); r != nil {
		o.Rental = seen(*r, b.platform.Facts().Granularity)
	}
	if o.Status == offer.Queued && j.Box == "" {
		o.Reason = b.why(j)
		if j.Held {
			o.Cause = offer.JobHeld
		}
	}
	if r := b.rental(j.Box); r != nil && r.Step == Preempted && !ended(o.Status) {
		when := "after " + units.FormatDuration(patient)
		if b.demand().late(*r) {
			when = "by the next `muster apply`"
		}
		o.Reason = fmt.Sprintf("its machine was taken away: %s; another machine is rented %s; its disk costs $%s/h until it is released", r.Why, when, r.Offer.StoppedUSDPerHour.StringFixed(4))
		o.Cause = offer.MachineAway
	}
	return o
}

// why says what a job waits for.
func (b *backend) why(j *job) string {
	switch {
	case b.held:
		return "held"
	case j.Held:
		return "held"
	case b.strange:
		return "waits for a machine: " + b.trouble
	}
	for _, r := range b.rentals {
		if r.Over() || r.Step == Releasing || r.Step == Parked || poolOf(r.Want) != j.Spec.Pool {
			continue
		}
		if r.Step == Ready {
			return "waits for room on machine " + r.ID
		}
		text := "a machine is " + r.Step.words()
		if r.ID != "" {
			text = "machine " + r.ID + " is " + r.Step.words()
		}
		if b.trouble != "" && r.Step == Planned {
			text += ": " + b.trouble
		}
		return text + b.unfit(r)
	}
	if b.trouble != "" {
		return "waits for a machine: " + b.trouble
	}
	return "waits for a machine"
}

// unfit says why the machine in whose place another came was given back, "" for the
// first.
func (b *backend) unfit(r Rental) string {
	for _, old := range b.rentals {
		if old.Next == r.Token {
			return fmt.Sprintf("; machine %s was given back: %s", old.ID, old.Why)
		}
	}
	return ""
}

// Watch tells every change of jobs. A cursor is the number of a change.
func (p *Provider) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	b, err := p.led(r.Backend)
	if err != nil {
		return err
	}
	cursor, _ := strconv.Atoi(r.Cursor) // "" is from the beginning
	told, noted := "", 0
	rented := map[string]offer.Rental{}
	reasons := map[string]string{}
	for {
		b.mu.Lock()
		var batch providers.Batch
		for _, j := range b.jobs.sorted() {
			o := b.shown(j)
			if j.Seq <= cursor && reasons[j.Spec.Token] == o.Reason || len(r.Handles) > 0 && !slices.Contains(r.Handles, o.Handle) {
				continue
			}
			if j.Seq <= cursor && (ended(o.Status) || o.Reason == "") {
				continue
			}
			reasons[j.Spec.Token] = o.Reason
			batch.Events = append(batch.Events, o)
		}
		for _, r := range b.rentals {
			if m := seen(r, b.platform.Facts().Granularity); rented[r.Token] != *m && (m.Status != offer.RentalReleased || rented[r.Token] != offer.Rental{} || m.Billed != "") {
				rented[r.Token] = *m
				batch.Rentals = append(batch.Rentals, *m)
			}
		}
		if b.trouble != told {
			if told = b.trouble; told != "" {
				batch.Notes = append(batch.Notes, providers.Note{Kind: "info", Text: told})
			}
		}
		for _, text := range b.notes[noted:] {
			batch.Notes = append(batch.Notes, providers.Note{Kind: "info", Text: text})
		}
		noted = len(b.notes)
		cursor = max(cursor, b.jobs.seq)
		batch.Cursor = strconv.Itoa(cursor)
		changed := b.changed
		b.mu.Unlock()
		if len(batch.Events)+len(batch.Notes)+len(batch.Rentals) > 0 {
			if err := fn(batch); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Cancel ends jobs: those that wait here, and those on machines by their queues.
func (p *Provider) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, err := p.led(r.Backend)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	err = b.fenced(r.Fence, r.Holder)
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(r.Tokens))
	for i, token := range r.Tokens {
		out[i] = b.cancel(ctx, r, token)
	}
	return out, nil
}

func (b *backend) cancel(ctx context.Context, r providers.CancelRequest, token string) providers.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.jobs.all[token]
	switch {
	case j == nil:
		return providers.Outcome{ID: token, What: "not found"}
	case j.ended():
		return providers.Outcome{ID: token, What: "ended already"}
	case j.Box == "":
		o := j.Seen
		o.Status, o.Ended = offer.Cancelled, b.now()
		b.saw(j, o)
		return providers.Outcome{ID: token, What: "cancelled"}
	}
	x := b.boxes[j.Box]
	if x == nil {
		return providers.Outcome{ID: token, Err: providers.Errorf(providers.Unreachable, "The machine of %s cannot be asked", j.Spec.Address)}
	}
	b.mu.Unlock()
	got, err := x.host.Cancel(ctx, providers.CancelRequest{Backend: b.Name, Fence: r.Fence, Holder: r.Holder, Tokens: []string{token}, Grace: r.Grace})
	b.mu.Lock()
	if err != nil {
		e := providers.Errorf(providers.Unreachable, "%v", err)
		errors.As(err, &e)
		return providers.Outcome{ID: token, Err: e}
	}
	if len(got) == 1 && got[0].What == "not found" { // it was not submitted yet
		o := j.Seen
		o.Status, o.Ended = offer.Cancelled, b.now()
		b.saw(j, o)
		return providers.Outcome{ID: token, What: "cancelled"}
	}
	return got[0]
}

// Control holds jobs, and lets them start.
func (p *Provider) Control(ctx context.Context, r providers.ControlRequest) error {
	b, err := p.led(r.Backend)
	if err != nil {
		return err
	}
	b.mu.Lock()
	if err := b.fenced(r.Fence, r.Holder); err != nil {
		b.mu.Unlock()
		return err
	}
	if r.Hold != nil && len(r.Tokens) == 0 {
		b.held = *r.Hold
		err = writeJSON(b.at().held(), b.held)
	}
	for _, token := range r.Tokens {
		if j := b.jobs.all[token]; j != nil && r.Hold != nil && !j.ended() && j.Held != *r.Hold {
			j.Held = *r.Hold
			err = errors.Join(err, b.jobs.put(j))
		}
	}
	boxes := b.reached()
	b.mu.Unlock()
	for _, x := range boxes {
		err = errors.Join(err, x.host.Control(ctx, r))
	}
	b.wake()
	return err
}

// reached are the machines that run jobs now. The lock is held.
func (b *backend) reached() (out []*box) {
	for _, token := range sortedKeys(b.boxes) {
		out = append(out, b.boxes[token])
	}
	return out
}

// followPause is the time between two looks at a job that waits for its machine.
const followPause = time.Second

// Logs writes a job's log: the machine's while it is there, else the copy here. To follow a
// job that waits for its machine is to wait, too.
func (p *Provider) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := p.backend(r.Backend)
	if err != nil {
		return err
	}
	for {
		j, x, err := p.jobOn(b, r.Token)
		switch {
		case err != nil:
			return err
		case !j.ended() && !j.Handed && !r.Follow:
			return nil // it has no log yet
		case !j.ended() && j.Handed:
			h, end, err := p.hostOf(b, j, x)
			if err != nil {
				return err
			}
			if h != nil {
				defer end()
				return h.Logs(ctx, r, w)
			}
		}
		if j.ended() || !r.Follow {
			return copiedLog(b.at().log(r.Token, r.Stderr), j, r, w)
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// jobOn is a job of a backend and its machine, nil while it has none.
func (p *Provider) jobOn(b *backend, token string) (*job, *box, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	js, err := b.records()
	if err != nil {
		return nil, nil, err
	}
	j := js.all[token]
	if j == nil {
		return nil, nil, providers.Errorf(providers.NotFound, "backend.%s knows no job %s", b.Name, token)
	}
	seen := *j
	return &seen, b.boxes[j.Box], nil
}

// hostOf is the machine of a job: through the process that leads it, or else by a connection
// of its own, to the machine's last address, which the caller ends. It is nil before there is one.
func (p *Provider) hostOf(b *backend, j *job, x *box) (h Host, end func(), err error) {
	if x != nil {
		return x.host, func() {}, nil
	}
	folder := b.at().box(j.Box)
	var m Machine
	if err = readJSON(machineFile(folder), &m); err != nil || m.Host == "" {
		return nil, nil, err
	}
	if h, err = b.dialer.Dial(b.Backend, m, folder); err != nil {
		return nil, nil, err
	}
	return h, func() { h.Close() }, nil
}

// copiedLog writes the copy of a job's log that is here.
func copiedLog(path string, j *job, r providers.LogRequest, w io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return providers.Errorf(providers.NotFound, "There is no log of %s yet", j.Spec.Address)
	}
	defer f.Close()
	return copyLog(w, f, r)
}
