package rental

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// seen is a rental as others see it, billed by a unit.
func seen(r Rental, unit time.Duration) *offer.Rental {
	o := &offer.Rental{ID: r.ID, Order: r.Token, Kind: poolOf(r.Want), Since: r.Since, Rate: r.Offer.USDPerHour.String(), Status: offer.RentalRunning}
	if r.ID == "" {
		o.ID, o.Order = r.Token, ""
	}
	if r.Since.IsZero() {
		o.Since = r.Asked
	}
	o.Began, o.Ended, o.Billed, o.Account = r.Since, r.Ended, r.USD, r.Account
	o.Metered, o.Spent, o.Unit = r.metered(unit)
	n := len(r.Runs)
	stopped := n > 0 && !r.Runs[n-1].To.IsZero() && !r.Over()
	switch r.Step {
	case Asked:
		o.Status = offer.RentalAsked
	case Boots:
		o.Status = offer.RentalBooting
	case Checking:
		o.Status = offer.RentalChecking
	case Preempted, Parked:
		if r.Step == Parked && n > 0 && !stopped {
			break // its stop was asked for: it is billed as it was until then
		}
		o.Status, stopped = offer.RentalStopped, true
	case Releasing:
		o.Status = offer.RentalDeleting
	case Gone, Failed, Planned:
		o.Status = offer.RentalReleased
	}
	if stopped {
		o.Rate = r.Offer.StoppedUSDPerHour.String()
		if n == 0 || r.Runs[n-1].To.IsZero() { // no list has shown it stopped: since when is not known
			o.Metered, o.Spent, o.Unit = time.Time{}, "", 0
		}
	}
	return o
}

// Release gives machines up, and waits until the cloud does not list them any more.
// A machine with results that are nowhere else is not given up.
func (p *Provider) Release(ctx context.Context, name string, ids []string) ([]providers.Outcome, error) {
	b, err := p.led(name)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, providers.ReleaseTime)
	defer stop()
	if err := b.owned(ctx); err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(ids))
	tokens := make([]string, len(ids))
	if err := b.aTurn(ctx); err != nil {
		return nil, err
	}
	for i, id := range ids {
		out[i].ID = id
		tokens[i], out[i].Err = b.giveUp(id)
	}
	b.wake()
	for i, token := range tokens {
		switch {
		case out[i].Err != nil:
		case token == "":
			out[i].What, out[i].Err = b.releaseOrphan(ctx, ids[i])
		default:
			out[i].What, out[i].Err = "released", b.awaitGone(ctx, token)
		}
	}
	return out, nil
}

// aTurn waits until the leader has looked at the cloud.
func (b *backend) aTurn(ctx context.Context) error {
	for {
		b.mu.Lock()
		looked, changed := !b.looked.IsZero(), b.changed
		b.mu.Unlock()
		if looked {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return providers.Errorf(providers.Unreachable, "%s did not answer", b.platform.Facts().Name)
		}
	}
}

// giveUp marks a machine to be released; token "" is one that no record knows.
func (b *backend) giveUp(id string) (token string, fault *providers.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rentals {
		if r.ID != id && r.Token != id || id == "" {
			continue
		}
		if left := b.demand().unsafe(r.Token); len(left) > 0 && !r.Over() {
			return r.Token, &providers.Error{Class: providers.Conflict, Summary: fmt.Sprintf("Machine %s is kept: %s has no result here yet", id, left[0].Spec.Address),
				Detail: units.Count(len(left), "job") + " of it would lose all that they did.", Hint: "Cancel them first, or wait until they are done."}
		}
		b.release[r.Token] = "released by request"
		return r.Token, nil
	}
	return "", nil
}

// awaitGone waits until a rental is over.
func (b *backend) awaitGone(ctx context.Context, token string) *providers.Error {
	for {
		b.mu.Lock()
		r := b.rental(token)
		over, changed, trouble := r == nil || r.Over(), b.changed, b.trouble
		b.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			e := providers.Errorf(providers.Unreachable, "Machine %s is still there, and billed $%s/h", r.ID, r.Offer.USDPerHour)
			e.Detail = trouble
			return e
		}
	}
}

// releaseOrphan gives up a machine with this campaign's label that no record knows,
// by a person's word.
func (b *backend) releaseOrphan(ctx context.Context, id string) (what string, fault *providers.Error) {
	for asked := false; ; {
		list, err := b.account.Machines(ctx)
		there := slices.ContainsFunc(list, func(m Machine) bool { return m.ID == id && b.traces.ours(m) })
		switch {
		case err == nil && !there && asked:
			return "released", nil
		case err == nil && !there:
			return "not found", nil
		case err == nil && !asked:
			err = b.account.Release(ctx, id)
			if asked = !errors.Is(err, ErrLater); asked && err != nil {
				return "", providers.Errorf(providers.Unreachable, "release machine %s: %v", id, err)
			}
		}
		select {
		case <-ctx.Done():
			return "", providers.Errorf(providers.Unreachable, "Machine %s is still there, and billed", id)
		case <-time.After(b.beat):
		}
	}
}

// billsTake is how long bills are asked for that no process of muster was there to ask for.
const billsTake = 10 * time.Second

// Rentals are the machines of the campaign that may be billed, those that ended, and
// those that no record knows. It asks the cloud and changes nothing.
func (p *Provider) Rentals(ctx context.Context, name string) ([]offer.Rental, error) {
	b, err := p.backend(name)
	if err != nil {
		return nil, err
	}
	if err := b.owned(ctx); err != nil {
		return nil, err
	}
	list, err := b.account.Machines(ctx)
	if err != nil {
		return nil, err
	}
	rentals, err := b.recorded()
	if err != nil {
		return nil, err
	}
	var out []offer.Rental
	known := map[string]bool{}
	asking, stop := context.WithTimeout(ctx, billsTake)
	defer stop()
	for _, r := range rentals {
		known[r.ID] = true
		if usd, err := bill(asking, b.account, b.platform.Facts().Terms, &r, b.now()); err == nil { // else it is asked again
			r.USD = usd
		}
		if r.Step != Planned && (r.Step != Failed || r.ID != "") {
			out = append(out, *seen(r, b.platform.Facts().Granularity))
		}
	}
	for _, m := range list {
		maybe := slices.ContainsFunc(rentals, func(r Rental) bool { return r.ID == "" && strings.HasPrefix(m.Label, tagOf(b.Lineage)+r.Token) })
		if b.traces.ours(m) && !known[m.ID] && !maybe {
			out = append(out, orphan(m))
		}
	}
	return out, nil
}

// recorded are the backend's rentals: as this process last saw them where it leads, else
// as they are on the disk.
func (b *backend) recorded() ([]Rental, error) {
	b.mu.Lock()
	rentals, leads := slices.Clone(b.rentals), b.lock != nil && !b.looked.IsZero()
	b.mu.Unlock()
	if leads {
		return rentals, nil
	}
	k, err := readBook(filepath.Join(b.dir, "machines"))
	if err != nil {
		return nil, providers.Errorf(providers.Internal, "The records of backend.%s cannot be read: %v", b.Name, err)
	}
	rentals = nil
	for _, r := range k.sorted() {
		rentals = append(rentals, *r)
	}
	return rentals, nil
}

// orphan is a machine with the campaign's label that no record knows.
func orphan(m Machine) offer.Rental {
	return offer.Rental{ID: m.ID, Kind: "machine without a record", Since: m.Since, Rate: m.USDPerHour.String(), Status: offer.RentalRunning, Began: m.Since, Orphan: true}
}
