package rental

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Keeper leads the rentals of one campaign at one cloud through their lives.
// Only one may work in a folder at a time.
type Keeper struct {
	cloud Cloud
	terms Terms
	book  *book
	tag   string
	check Check
	key   func() (string, error)
	now   func() time.Time
	saw   func([]Rental)
	taken map[string]taken // offers that were gone, and when that was seen
}

// A Check compares a running machine with its offer, and returns its measurements: an Unfit if
// they differ, another error if it does not answer.
type Check func(context.Context, Machine, Offer) (Found, error)

// ErrHolds says of a machine that cannot be asked that results on it are nowhere else:
// it is not given up.
var ErrHolds = errors.New("it has results that are nowhere else")

// Config is the configuration of a Keeper.
type Config struct {
	Cloud   Cloud
	Terms   Terms
	Dir     string // where its records are
	Lineage string // of the campaign: begins the labels of its machines
	Check   Check
	Key     func() (public string, err error) // the ssh key that machines let in; nil = those of the account
	Now     func() time.Time
	// Saw hears of all rentals when one has changed, before the cloud hears of it; nil =
	// nobody does.
	Saw func([]Rental)
}

// Open reads the records of a folder.
func Open(c Config) (*Keeper, error) {
	b, err := openBook(c.Dir)
	if err != nil {
		return nil, err
	}
	return &Keeper{cloud: c.Cloud, terms: c.Terms, book: b, tag: tagOf(c.Lineage), check: c.Check, key: c.Key, now: c.Now, saw: c.Saw, taken: map[string]taken{}}, nil
}

// tagOf begins the labels of a campaign's machines.
func tagOf(lineage string) string { return "muster-" + lineage + "-" }

// Rent records that a machine is wanted; Turn rents it.
func (k *Keeper) Rent(w Want) (token string, err error) {
	r := &Rental{Token: newToken(), Want: w, Box: 1, Step: Planned}
	return r.Token, k.put(r)
}

// Release records that a machine is to be given up, and why; Turn does it. Who
// calls it has seen to the results on it. A rental that is over stays as it is.
func (k *Keeper) Release(token, why string) error {
	r := k.book.all[token]
	if r == nil {
		return fmt.Errorf("no rental %s", token)
	}
	switch r.Step {
	case Gone, Failed, Releasing:
		return nil
	case Planned:
		r.Step = Failed
	case Asked:
		r.Unwanted = true // there may be one
	default:
		r.Step = Releasing
	}
	r.Why, r.Left = why, time.Time{}
	return k.put(r)
}

// Stop records that a machine is to be stopped, and why; Turn does it. Its disk stays,
// and is billed. One that has no jobs to lose is Ready or Preempted; others stay as
// they are.
func (k *Keeper) Stop(token, why string) error {
	r := k.book.all[token]
	if r == nil || r.Step != Ready && r.Step != Preempted {
		return nil
	}
	r.Step, r.Starts, r.Why, r.Left = Parked, false, why, time.Time{}
	return k.put(r)
}

// Start records that a stopped machine is to run again; Turn asks for it until it runs.
func (k *Keeper) Start(token string) error {
	r := k.book.all[token]
	switch {
	case r == nil || r.Starts || r.Step != Parked && r.Step != Preempted:
		return nil
	case r.Step == Parked:
		r.Step, r.Lost, r.Why = Preempted, k.now(), "it was stopped, and waits for its GPU"
	}
	r.Starts, r.Left = true, time.Time{}
	return k.put(r)
}

// put records a rental and tells who listens.
func (k *Keeper) put(r *Rental) error {
	err := k.book.put(r)
	if err == nil && k.saw != nil {
		k.saw(k.Rentals())
	}
	return err
}

// Rentals are all of them, by token, as values.
func (k *Keeper) Rentals() (out []Rental) {
	for _, r := range k.book.sorted() {
		out = append(out, *r)
	}
	return out
}

// A Turned is the result of a turn.
type Turned struct {
	// Orphans are machines with a label of this campaign that no rental knows. They
	// are billed, and a person decides about them.
	Orphans []Machine
	// Errs are why something could not be done; it is tried again in the next turn.
	Errs []error
}

// Turn asks the cloud for its list once, and leads every rental as far as that
// allows. Machines of others in the account are not looked at. Without a list, or
// with that of another account, nothing is known, and nothing changes.
func (k *Keeper) Turn(ctx context.Context) (t Turned, err error) {
	at := k.now() // the machine that muster runs on may sleep at any moment: a list is as old as its question
	list, err := k.cloud.Machines(ctx)
	if err != nil {
		return t, err
	}
	if err := k.owns(ctx, list); err != nil {
		return t, err
	}
	ours := slices.DeleteFunc(list, func(m Machine) bool { return !strings.HasPrefix(m.Label, k.tag) })
	for _, r := range k.book.sorted() {
		if err := k.step(ctx, r, ours, at); err != nil {
			t.Errs = append(t.Errs, err)
		}
	}
	for _, m := range ours {
		if !slices.ContainsFunc(k.book.sorted(), func(r *Rental) bool { return k.claims(r, m) }) {
			t.Orphans = append(t.Orphans, m)
		}
	}
	return t, nil
}

// claims reports whether a machine is, or may be, the one of a rental.
func (k *Keeper) claims(r *Rental, m Machine) bool {
	return r.ID == m.ID || r.ID == "" && r.Step == Asked && m.Label == k.label(r)
}

// label is the name of the machine of a rental's last try.
func (k *Keeper) label(r *Rental) string { return k.tag + r.Token + "-" + strconv.Itoa(r.Try) }

// step leads one rental on, by a list that was asked for at a time.
func (k *Keeper) step(ctx context.Context, r *Rental, list []Machine, at time.Time) error {
	if err := k.replaced(r); err != nil {
		return err
	}
	if r.Over() {
		return k.settle(ctx, r)
	}
	if r.Step == Planned {
		return k.rent(ctx, r)
	}
	m, listed := k.find(r, list)
	if !listed && at.Sub(r.Asked) < k.terms.Lag {
		return nil // the list may lag
	}
	if listed {
		r.Machine = m
		if err := k.runs(r, m); err != nil {
			return err
		}
	}
	switch {
	case r.Step == Asked && listed:
		return k.found(r, m.ID)
	case r.Step == Asked:
		return k.unanswered(r)
	case !listed:
		return k.ended(ctx, r)
	case r.Step == Boots:
		return k.boots(r, m, at)
	case r.Step == Checking:
		return k.checks(ctx, r, m, at)
	case r.Step == Ready && (m.Status == Stopped || m.Status == Broken):
		r.Step, r.Why, r.Lost = Preempted, m.Why, k.now()
		return k.put(r)
	case r.Step == Preempted && m.Status == Running && m.Host != "":
		r.Step, r.Up, r.Why, r.Starts = Checking, k.now(), "", false
		return k.put(r)
	case r.Step == Preempted && r.Starts:
		return k.again(ctx, r, "start")
	case r.Step == Parked && m.Status != Stopped:
		return k.again(ctx, r, "stop")
	case r.Step == Releasing:
		return k.again(ctx, r, "release")
	}
	return nil
}

func (k *Keeper) find(r *Rental, list []Machine) (Machine, bool) {
	for _, m := range list { // of two with one label the other is an orphan
		if m.ID == r.ID || r.ID == "" && m.Label == k.label(r) {
			return m, true
		}
	}
	return Machine{}, false
}

// rent accepts the best offer. The record says so before the cloud hears of it.
func (k *Keeper) rent(ctx context.Context, r *Rental) error {
	o, err := k.choose(ctx, r)
	if err != nil {
		return err
	}
	key := ""
	if k.key != nil {
		if key, err = k.key(); err != nil {
			return fmt.Errorf("make the ssh key of machines: %w", err)
		}
	}
	if r.Account, err = k.cloud.Account(ctx); err != nil {
		return err
	}
	r.Step, r.Try, r.Offer, r.Asked, r.Why = Asked, r.Try+1, o, k.now(), ""
	if err := k.put(r); err != nil {
		return err
	}
	id, err := k.cloud.Rent(ctx, o, Order{Label: k.label(r), Disk: r.Want.Disk, Image: r.Want.Image, Bid: r.Want.Bid, Key: key})
	var refused *Refused
	var leftover *Leftover
	switch {
	case err == nil:
		return k.found(r, id)
	case errors.As(err, &leftover):
		r.ID = leftover.ID
		return k.bad(r, leftover.Error())
	case errors.As(err, &refused):
		r.Step, r.Why, r.Ended = Failed, err.Error(), k.now()
		return k.put(r)
	case errors.Is(err, ErrTaken), errors.Is(err, ErrLater):
		if errors.Is(err, ErrTaken) {
			k.taken[o.ID] = taken{k.now(), err}
		}
		r.Step, r.Why = Planned, err.Error()
		return errors.Join(k.put(r), err)
	}
	return fmt.Errorf("rent offer %s: the answer is lost: %w", o.ID, err) // the list will say
}

// choose is the best offer within the limits, of a host that is not avoided. A cloud
// may show an offer that it has just refused: others are tried meanwhile.
func (k *Keeper) choose(ctx context.Context, r *Rental) (Offer, error) {
	offers, err := k.cloud.Offers(ctx, r.Want)
	if err != nil {
		return Offer{}, err
	}
	var last taken
	shunned := 0
	for _, o := range offers {
		if !r.Want.fits(o, k.now()) {
			continue
		}
		if k.avoided(o.Machine) {
			shunned++
			continue
		}
		t := k.taken[o.ID]
		if k.now().Sub(t.at) >= patience {
			return o, nil
		}
		if t.at.After(last.at) {
			last = t
		}
	}
	if last.err != nil { // all of them were refused: the fault may be in the request
		return Offer{}, fmt.Errorf("each of the offers that fit was refused a moment ago; the last: %w", last.err)
	}
	none := fmt.Errorf("none of %d offers fits within $%s/h", len(offers), r.Want.MostUSDPerHour)
	if shunned > 0 {
		return Offer{}, fmt.Errorf("%w, but %d of hosts that are avoided, since a machine of theirs was unfit (`muster backends` names them)", none, shunned)
	}
	return Offer{}, none
}

// A taken offer is one that could not be had.
type taken struct {
	at  time.Time
	err error
}

// fits reports whether an offer meets a want.
func (w Want) fits(o Offer, now time.Time) bool {
	return o.GPUs == w.GPUs && o.GPUMemory >= w.GPUMemory && w.Allows(o.GPU) && (w.CUDA == "" || o.CUDA == "" || !older(o.CUDA, w.CUDA)) &&
		o.Reliability >= w.Reliability && !o.USDPerHour.GreaterThan(w.MostUSDPerHour) && (o.Until.IsZero() || !o.Until.Before(now.Add(w.Lasts)))
}

// avoided reports whether a host is avoided; "" is one that a cloud does not name.
func (k *Keeper) avoided(machine string) bool {
	if machine == "" {
		return false
	}
	for _, r := range k.book.all {
		if r.Bad && machine != "" && r.Offer.Machine == machine {
			return true
		}
	}
	return false
}

// found is when it is known that there is a machine.
func (k *Keeper) found(r *Rental, id string) error {
	r.ID, r.Step = id, Boots
	if r.Unwanted {
		r.Step = Releasing
	}
	return k.put(r)
}

// unanswered is when the list shows, late enough, that the last try came to nothing.
func (k *Keeper) unanswered(r *Rental) error {
	r.Step = Planned
	if r.Unwanted {
		r.Step = Failed
	}
	return k.put(r)
}

// boots waits until a machine runs, which it did not yet at a time.
func (k *Keeper) boots(r *Rental, m Machine, at time.Time) error {
	if r.Since.IsZero() {
		r.Since = k.since(r, m)
	}
	began := r.Asked
	if r.Since.After(began) { // the order went out later: this machine slept
		began = r.Since
	}
	late := at.Sub(began) > k.terms.Boot
	switch {
	case m.USDPerHour.GreaterThan(r.Want.MostUSDPerHour):
		return k.bad(r, fmt.Sprintf("it is billed $%s/h, and the limit is $%s/h", m.USDPerHour, r.Want.MostUSDPerHour))
	case m.Status == Running && m.Host != "":
		r.Step, r.Up = Checking, k.now()
		if r.Since.IsZero() { // its cloud does not tell
			r.Since = r.Up
		}
		return k.put(r)
	case m.Status == Broken, m.Status == Stopped, m.Status == Away:
		return k.bad(r, fmt.Sprintf("it did not boot: %s %s", m.Status, m.Why))
	case late:
		return k.bad(r, fmt.Sprintf("it did not boot in %s", k.terms.Boot))
	}
	return nil
}

// since is when a machine began. No machine begins before its order, nor after it was seen: where
// the cloud says so, its clock and the one here differ, and the machine counts from its order,
// by the one here, as its end does. Clouds tell whole seconds.
func (k *Keeper) since(r *Rental, m Machine) time.Time {
	if !m.Since.IsZero() && (m.Since.Before(r.Asked.Add(-time.Second)) || m.Since.After(k.now().Add(time.Second))) {
		return r.Asked
	}
	return m.Since
}

// checks looks at a machine before any work goes there, which ran at a time.
func (k *Keeper) checks(ctx context.Context, r *Rental, m Machine, at time.Time) error {
	found, err := k.check(ctx, m, r.Offer)
	r.Found = found
	var unfit *Unfit
	switch {
	case err == nil:
		r.Step = Ready
		return k.put(r)
	case errors.As(err, &unfit):
		return k.bad(r, unfit.Why)
	case at.Sub(r.Up) > k.terms.Boot && !errors.Is(err, ErrHolds):
		return k.bad(r, fmt.Sprintf("it runs, and cannot be reached in %s: %v", k.terms.Boot, err))
	}
	return err
}

// bad gives a machine up whose host is avoided from now on, and wants another in
// its place, as often as the want allows.
func (k *Keeper) bad(r *Rental, why string) error {
	r.Step, r.Bad, r.Why, r.Judged = Releasing, true, why, k.now()
	most := r.Want.MostBoxes
	if most == 0 {
		most = mostBoxes
	}
	if r.Box < most && !r.Unwanted {
		r.Next = newToken()
	}
	return errors.Join(k.put(r), k.replaced(r))
}

// replaced sees to it that the rental in the place of another is on record: muster
// may have been killed between the two.
func (k *Keeper) replaced(r *Rental) error {
	if r.Next == "" || k.book.all[r.Next] != nil {
		return nil
	}
	return k.put(&Rental{Token: r.Next, Want: r.Want, Box: r.Box + 1, Step: Planned})
}

// patience is how long after a release, a stop or a start was asked for it may be asked
// for again, while the list shows that it has not happened.
const patience = time.Minute

// again asks that a machine be released, stopped or started. The list has just shown
// that it is not yet.
func (k *Keeper) again(ctx context.Context, r *Rental, what string) error {
	if !r.Left.IsZero() && k.now().Sub(r.Left) < patience {
		return nil
	}
	r.Left = k.now()
	if err := k.put(r); err != nil {
		return err
	}
	err := fmt.Errorf("this cloud cannot %s machines", what)
	stops, ok := k.cloud.(Stopper)
	switch {
	case what == "release":
		err = k.cloud.Release(ctx, r.ID)
	case ok && what == "stop":
		err = stops.Stop(ctx, r.ID)
	case ok && what == "start":
		err = stops.Start(ctx, r.ID)
	}
	if err != nil {
		return fmt.Errorf("%s machine %s: %w", what, r.ID, err)
	}
	return nil
}

// ended is when the list does not have a machine any more.
func (k *Keeper) ended(ctx context.Context, r *Rental) error {
	if r.Step != Releasing {
		r.Why = "the cloud ended it"
	}
	r.Step, r.Ended = Gone, k.now()
	if _, bills := k.cloud.(Biller); !bills {
		r.USD = r.cost(k.terms.Unit)
	}
	if err := k.put(r); err != nil {
		return err
	}
	return k.settle(ctx, r)
}

// settle records the cost of a machine that is gone, once its cloud tells it.
func (k *Keeper) settle(ctx context.Context, r *Rental) error {
	usd, err := bill(ctx, k.cloud, k.terms, r, k.now())
	if err != nil || usd == r.USD {
		return err
	}
	r.USD = usd
	return k.put(r)
}

// bill is the cost of a machine that is gone: as recorded, else as its cloud tells it; ""
// where that is unknown, or not known yet.
func bill(ctx context.Context, cloud Cloud, terms Terms, r *Rental, now time.Time) (usd string, err error) {
	bills, ok := cloud.(Biller)
	if !ok || r.USD != "" || r.Step != Gone || now.Sub(r.Ended) < terms.Settles {
		return r.USD, nil
	}
	if uses, err := cloud.Account(ctx); err != nil || !r.Account.Same(uses) {
		return "", err // another account's key has no bill of it
	}
	sum, err := bills.Bill(ctx, r.ID, r.Asked, now)
	if err != nil {
		return "", fmt.Errorf("bill of machine %s: %w", r.ID, err)
	}
	return sum.String(), nil
}

func newToken() string {
	var b [8]byte          // labels hold it beside the lineage, in the 64 characters that clouds allow
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
