package rental

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A backend is one configured place. The process that leads it has the lock of its
// records; others read them.
type backend struct {
	providers.Backend
	*market
	dialer Dialer
	beat   time.Duration
	dir    string
	traces traces
	depot  depot

	kick chan struct{} // the leader is to look at once

	mu      sync.Mutex
	lock    *os.File // nil while this process does not lead
	end     context.CancelFunc
	ended   chan struct{}
	jobs    *jobs
	rentals []Rental // as they are recorded
	// reported are those that notes were made of.
	reported []Rental
	boxes    map[string]*box
	release  map[string]string // tokens that are to be given up, and why
	held     bool
	fence    providers.Fence // of the muster that was heard last
	notes    []string        // findings of this process about machines
	trouble  string          // why the last turn did not do all
	strange  bool            // the key is not that of the account which rents the machines
	looked   time.Time       // when the cloud last answered
	begun    int             // turns of this process
	turned   int             // of them, those that are over
	changed  chan struct{}   // closed with the next change of a job or a rental
}

// lead makes this process the one that leads the backend's machines.
func (b *backend) lead() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lock != nil {
		return nil
	}
	l, busy, err := lock(b.dir)
	if err != nil {
		return providers.Errorf(providers.Internal, "The records of backend.%s cannot be used: %v", b.Name, err)
	}
	if busy {
		return busyError(b.Name, b.dir)
	}
	providers.KeepFromGit(filepath.Join(b.Dir, ".muster"))
	k, err := Open(Config{Cloud: b.account, Terms: b.platform.Facts().Terms, Dir: filepath.Join(b.dir, "machines"), Lineage: b.Lineage, Check: b.check, Now: b.now, Saw: b.see,
		Key: func() (string, error) {
			if err := b.dialer.Able(); err != nil { // nothing is rented in vain
				return "", err
			}
			return b.dialer.Key(b.dir)
		}})
	if err == nil {
		b.jobs, err = readJobs(filepath.Join(b.dir, "jobs"))
	}
	if err == nil {
		err = errors.Join(readJSON(b.at().held(), &b.held), readJSON(b.at().fence(), &b.fence))
	}
	if err != nil {
		l.Close()
		return providers.Errorf(providers.Internal, "The records of backend.%s cannot be read: %v", b.Name, err)
	}
	ctx, end := context.WithCancel(context.Background())
	b.lock, b.end, b.ended, b.release = l, end, make(chan struct{}), map[string]string{}
	go b.loop(ctx, k)
	return nil
}

// A folder has the records of a backend.
type folder string

func (b *backend) at() folder { return folder(b.dir) }

func (f folder) held() string { return filepath.Join(string(f), "held.json") }

func (f folder) fence() string { return filepath.Join(string(f), "fence.json") }

func (b *backend) close() error {
	b.mu.Lock()
	l, end, ended := b.lock, b.end, b.ended
	b.mu.Unlock()
	if l == nil {
		return nil
	}
	end()
	<-ended
	b.mu.Lock()
	boxes := b.reached()
	b.boxes, b.lock = map[string]*box{}, nil
	b.mu.Unlock()
	var errs []error
	for _, x := range boxes { // their ends come with the lock free
		errs = append(errs, x.close())
	}
	return errors.Join(append(errs, unlock(l))...)
}

// loop looks at the cloud and leads machines and jobs, until ctx ends.
func (b *backend) loop(ctx context.Context, k *Keeper) {
	defer close(b.ended)
	tick := time.NewTicker(b.beat)
	defer tick.Stop()
	for ctx.Err() == nil {
		b.turn(ctx, k)
		select {
		case <-b.kick:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// see hears of a change of rentals while a turn goes on: those who watch know of an order
// before the cloud does.
func (b *backend) see(rentals []Rental) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rentals = rentals
	b.traces.leave(rentals)
	b.tell()
}

// now wakes the leader.
func (b *backend) wake() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// turn is one look at the cloud, and what follows from it.
func (b *backend) turn(ctx context.Context, k *Keeper) {
	b.mu.Lock()
	b.begun++
	b.mu.Unlock()
	err := b.owned(ctx)
	if err == nil {
		err = b.ask(k)
	}
	if err == nil {
		var t Turned
		t, err = k.Turn(ctx)
		err = errors.Join(append(t.Errs, err)...)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turned = b.begun
	if b.trouble = ""; err != nil {
		b.trouble = providers.Reason(err)
	}
	b.rentals = k.Rentals()
	b.looked = b.now()
	if b.strange = errors.Is(err, errStranger); b.strange { // jobs and machines stay as they are known
		b.tell()
		return
	}
	if b.trouble == "" {
		b.trouble = b.demand().refusal()
	}
	b.report()
	b.settleLost()
	b.settleUnfit()
	b.serve()
	b.assign()
	b.tell()
}

// ask records with the keeper which machines are wanted, and which are not.
func (b *backend) ask(k *Keeper) error {
	if err := b.endIdle(k); err != nil {
		return err
	}
	b.mu.Lock()
	starts := b.demand().starts(k.Rentals())
	b.mu.Unlock()
	for _, token := range starts {
		if err := k.Start(token); err != nil {
			return err
		}
	}
	b.mu.Lock()
	wants := b.demand().wants(k.Rentals())
	b.mu.Unlock()
	for _, w := range wants {
		if _, err := k.Rent(w); err != nil {
			return err
		}
	}
	return nil
}

// endIdle has machines released or stopped that nobody waits for.
func (b *backend) endIdle(k *Keeper) error {
	b.mu.Lock()
	release, all := b.release, k.Rentals()
	b.release = map[string]string{}
	idle, lost, stuck, needless := b.demand().idle(all), b.demand().lost(all), b.demand().stuck(all), b.demand().needless(all)
	b.mu.Unlock()
	end := k.Release
	if b.OnHold == "stop" {
		end = k.Stop
	}
	for token, why := range release {
		if err := k.Release(token, why); err != nil {
			return err
		}
	}
	for _, token := range idle {
		if err := end(token, "its jobs are done"); err != nil {
			return err
		}
	}
	for _, token := range needless {
		if err := k.Release(token, "its jobs are gone"); err != nil {
			return err
		}
	}
	for _, token := range lost {
		if err := k.Release(token, "it was taken away, and did not come back"); err != nil {
			return err
		}
	}
	for _, token := range stuck {
		if err := k.Stop(token, "its GPU is rented to somebody else"); err != nil {
			return err
		}
	}
	return nil
}

// A demand decides, from a backend's jobs, which machines are rented, kept, stopped,
// started and given up. It changes nothing but since when they are idle. The caller holds the lock.
type demand struct{ *backend }

func (b *backend) demand() demand { return demand{b} }

// wants are the machines that the waiting jobs lack.
func (b demand) wants(rentals []Rental) (out []Want) {
	have, back := map[string]int{}, map[string]bool{}
	for _, r := range rentals {
		if r.Step == Preempted && !r.Starts && !b.late(r) { // it may come back, to its own jobs
			back[r.Token] = true
			have[""]++
		}
		if !r.Over() && r.Step != Releasing && r.Step != Parked && (r.Step != Preempted || r.Starts && !b.late(r)) {
			have[""]++
			if r.Found.Unfit == "" {
				have[poolOf(r.Want)]++
			}
		}
	}
	if b.held || b.refusal() != "" {
		return nil
	}
	need := map[string]int{} // slots
	for _, j := range b.jobs.sorted() {
		if !j.ended() && !j.Held && (j.Box == "" || j.Handed && !back[j.Box]) {
			need[j.Spec.Pool] += max(1, j.Spec.Shape.GPUs)
		}
	}
	for pool, devices := range need {
		w, err := b.wantFor(pool)
		if err != nil {
			continue
		}
		boxes := (devices + b.GPUs - 1) / b.GPUs
		for have[pool] < boxes && have[""] < b.MaxBoxes {
			out = append(out, w)
			have[pool]++
			have[""]++
		}
	}
	return out
}

// idle are ready machines without work that have been kept long enough.
func (b demand) idle(rentals []Rental) (out []string) {
	for _, r := range rentals {
		x := b.boxes[r.Token]
		if r.Step != Ready || x == nil {
			continue
		}
		if !b.workless(r) {
			x.rests(time.Time{})
			continue
		}
		if x.idle.IsZero() {
			x.rests(b.now())
		}
		if b.expired(r) {
			out = append(out, r.Token)
		}
	}
	return out
}

// workless reports whether a machine that this process serves has no work, and none waits for it.
func (b demand) workless(r Rental) bool {
	return r.Step == Ready && b.boxes[r.Token] != nil && len(b.jobs.on(r.Token)) == 0 && (!b.waiting(poolOf(r.Want)) || r.Found.Unfit != "")
}

// expired reports whether the hold of a machine without work is over.
func (b demand) expired(r Rental) bool {
	return b.OnHold != "keep" && (r.Found.Unfit != "" || b.now().Sub(b.boxes[r.Token].idle) >= b.Hold) && b.unsafe(r.Token) == nil
}

// needless are machines that are wanted still, for jobs that are gone: none is rented for
// a campaign that was cancelled.
func (b demand) needless(rentals []Rental) (out []string) {
	for _, r := range rentals {
		if r.Step == Planned && !b.waiting(poolOf(r.Want)) {
			out = append(out, r.Token)
		}
	}
	return out
}

// patient is how long a machine that was taken away may take to come back.
const patient = 10 * time.Minute

// lost are machines that were taken away or stopped, and have nothing that is wanted.
func (b demand) lost(rentals []Rental) (out []string) {
	for _, r := range rentals {
		if r.Step == Preempted && b.OnHold == "release" && len(b.unsafe(r.Token)) == 0 {
			out = append(out, r.Token)
		}
	}
	return out
}

// late reports whether a machine that was taken away is not waited for any more. Its
// jobs ended with it.
func (b demand) late(r Rental) bool { return r.Step == Preempted && b.now().Sub(r.Lost) > patient }

// stuck are machines whose start was asked for, and which got no GPU. A cloud would
// start them whenever there is one, and bill them.
func (b demand) stuck(rentals []Rental) (out []string) {
	for _, r := range rentals {
		if r.Starts && b.late(r) && b.OnHold != "release" {
			out = append(out, r.Token)
		}
	}
	return out
}

// retryStart is how long after a start without a GPU the next one may be tried.
const retryStart = time.Hour

// starts are the stopped machines that have results which are nowhere else, or for
// which jobs wait.
func (b demand) starts(rentals []Rental) (out []string) {
	if !b.platform.Facts().Stops {
		return nil
	}
	for _, r := range rentals {
		parked := r.Step == Parked && b.waiting(poolOf(r.Want)) && !b.held && (r.Lost.IsZero() || b.now().Sub(r.Lost) > retryStart)
		if parked || r.Step == Preempted && !r.Starts && !r.Want.Spot && len(b.unsafe(r.Token)) > 0 {
			out = append(out, r.Token)
		}
	}
	return out
}

// waiting reports whether jobs of a pool wait for a machine.
func (b demand) waiting(pool string) bool {
	return slices.ContainsFunc(b.jobs.sorted(), func(j *job) bool { return !j.ended() && j.Box == "" && !j.Held && j.Spec.Pool == pool })
}

// unsafe are the jobs whose results are on a machine only, or would be.
func (b demand) unsafe(box string) (out []*job) {
	for _, j := range b.jobs.sorted() {
		if j.Box == box && (!j.ended() || j.Seen.Status == offer.Completed && !j.Safe) {
			out = append(out, j)
		}
	}
	return out
}

// settleLost ends the jobs of machines that are gone. They did not fail: a machine
// was taken away.
func (b *backend) settleLost() {
	for _, r := range b.rentals {
		if r.Step != Gone && r.Step != Failed && r.Step != Releasing && !b.demand().late(r) {
			continue
		}
		for _, j := range b.jobs.on(r.Token) {
			if !j.Handed { // it never ran there
				j.Box = ""
				b.note(b.jobs.put(j))
				continue
			}
			o := j.Seen
			o.Status, o.Ended, o.Class = offer.Failed, b.now(), "node_failure"
			o.Reason = "its machine " + r.ID + " is gone (" + r.Why + ")"
			b.saw(j, b.withMachine(j, o))
		}
	}
}

// withMachine is the end of a job whose machine failed, with the lost work. A machine that may
// be taken away was: its processes end before the cloud says so.
func (b *backend) withMachine(j *job, o offer.Observation) offer.Observation {
	r := b.rental(j.Box)
	if r != nil && (r.Want.Spot || r.Step == Preempted) {
		o.Class = "preempted"
	}
	o.Reason += "; " + b.depot.lostWork(j, r)
	return o
}

// settleUnfit ends the jobs that wait for a machine where as many were tried as may be.
// Jobs that are submitted after that try again.
func (b *backend) settleUnfit() {
	for _, last := range b.rentals {
		pool := poolOf(last.Want)
		if !last.Bad || last.Next != "" || last.Unwanted || b.demand().hasMachine(pool) {
			continue
		}
		for _, j := range b.jobs.sorted() {
			if j.ended() || j.Box != "" || j.Spec.Pool != pool || j.At.After(last.Judged) {
				continue
			}
			o := j.Seen
			o.Status, o.Ended, o.Class = offer.Failed, b.now(), "refused"
			o.Reason = fmt.Sprintf("%s in a row were unfit; the last, %s: %s", units.Count(last.Box, "machine"), last.ID, last.Why)
			b.saw(j, o)
		}
	}
}

// asksAgain is how long after a cloud refused to rent it is asked again.
const asksAgain = 2 * time.Minute

// refusal is why the cloud rents nothing, for as long as it is not asked again.
func (b demand) refusal() string {
	for _, r := range b.rentals {
		if r.Step == Failed && r.ID == "" && !r.Unwanted && !r.Ended.IsZero() && b.now().Sub(r.Ended) < asksAgain {
			return r.Why
		}
	}
	return ""
}

// hasMachine reports whether a pool has a machine that runs jobs, or may.
func (b demand) hasMachine(pool string) bool {
	return slices.ContainsFunc(b.rentals, func(r Rental) bool {
		return poolOf(r.Want) == pool && !r.Over() && r.Step != Releasing && r.Step != Parked
	})
}

// report keeps, for watchers, a turn's findings about machines.
func (b *backend) report() {
	was, before := map[string]Rental{}, b.reported
	for _, r := range before {
		was[r.Token] = r
	}
	b.reported = b.rentals
	for _, r := range b.rentals {
		old, known := was[r.Token]
		switch {
		case !known && before == nil: // of an earlier process
		case r.Bad && !old.Bad:
			b.notes = append(b.notes, fmt.Sprintf("machine %s (host %s) is given back, and its host avoided: %s", r.ID, r.Offer.Machine, r.Why))
		case r.Step == Ready && old.Step == Checking:
			b.notes = append(b.notes, fmt.Sprintf("machine %s is checked: %s", r.ID, r.Found))
		}
	}
}

// saw records the observation of a job.
func (b *backend) saw(j *job, o offer.Observation) {
	o.Pool, o.Presence = j.Spec.Pool, offer.Found
	o.Token, o.Attempt = j.Spec.Token, max(o.Attempt, 1)
	j.Seen = o
	if j.ended() {
		j.Secrets = nil
	}
	b.note(b.jobs.put(j))
	b.tell()
}

// note keeps an error of the records for whoever asks.
func (b *backend) note(err error) {
	if err != nil {
		b.trouble = err.Error()
	}
}

// tell wakes those who wait for a change. The lock is held.
func (b *backend) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// rental is a machine by the token of its rental.
func (b *backend) rental(token string) *Rental {
	for i := range b.rentals {
		if b.rentals[i].Token == token {
			return &b.rentals[i]
		}
	}
	return nil
}

// poolName is a pool as people name it: "1x RTX 4090".
func poolName(gpus int, model string) string { return strconv.Itoa(gpus) + "x " + model }

func poolOf(w Want) string {
	if len(w.Models) != 1 {
		return ""
	}
	return poolName(w.GPUs, w.Models[0])
}

// wantFor is the machine to rent for the jobs of a pool.
func (b demand) wantFor(pool string) (Want, error) {
	if pool == "" && poolOf(b.settings.want(nil)) == "" { // any model that the backend allows
		return b.settings.want(nil), nil
	}
	_, model, ok := strings.Cut(pool, "x ")
	w := b.settings.want([]string{model})
	if !ok || poolOf(w) != pool || !b.settings.want(nil).Allows(model) {
		return w, providers.Errorf(providers.Invalid, "backend.%s rents no %q", b.Name, pool)
	}
	w.MostUSDPerHour = b.mostFor(pool)
	return w, nil
}

// mostFor is the dearest hour that may be rented for the waiting jobs of a pool: the quote of
// each at its submission, whatever the market asks now.
func (b demand) mostFor(pool string) decimal.Decimal {
	most, ok := b.limit(pool)
	if !ok {
		most = b.MostUSD
	}
	for _, j := range b.jobs.sorted() {
		if j.Spec.Pool == pool && !j.ended() && j.Most.IsPositive() {
			most = decimal.Min(most, j.Most)
		}
	}
	return most
}
