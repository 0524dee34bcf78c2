package rental

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A lease is a machine that may be billed, and whose it is.
type lease struct {
	id string
	by offer.Account
}

// errStranger marks the error of a key that does not see the campaign's machines.
var errStranger = errors.New("machines of another account")

// stranger is an error where an account rents some of the machines whose key is not in
// use: that a list lacks them says nothing. A machine that the list has proves that its
// account is the present one, also where the cloud does not name accounts.
func stranger(ctx context.Context, cloud Cloud, leases []lease, list func() ([]Machine, error)) error {
	if len(leases) == 0 {
		return nil
	}
	uses, err := cloud.Account(ctx)
	if err != nil {
		return err
	}
	leases = slices.DeleteFunc(leases, func(l lease) bool { return l.by.Same(uses) })
	if len(leases) == 0 {
		return nil
	}
	listed, err := list()
	if err != nil {
		return err
	}
	proven := map[offer.Account]bool{}
	for _, l := range leases {
		if slices.ContainsFunc(listed, func(m Machine) bool { return m.ID == l.id }) {
			proven[l.by] = true
		}
	}
	for _, l := range leases {
		if !proven[l.by] {
			return notOurs(l, uses)
		}
	}
	return nil
}

func notOurs(l lease, uses offer.Account) error {
	e := providers.Errorf(providers.Conflict, "The API key belongs to %s, and %s rented machine %s", uses, l.by, l.id)
	e.Hint = fmt.Sprintf("Use a key of %s again", l.by)
	if l.by.ID == "" || uses.ID == "" {
		e.Summary = fmt.Sprintf("Key %s rented machine %s, and key %s, in use now, does not see it", l.by.Key, l.id, uses.Key)
		e.Hint = "Use the key that rented it again: the cloud does not say which keys belong to one account"
	}
	e.Detail = "the machine may run and be billed, so muster gives nothing back and rents nothing in its place."
	return &strangers{e}
}

// strangers is the error, as one that errors.Is finds.
type strangers struct{ told *providers.Error }

func (s *strangers) Error() string        { return s.told.Error() }
func (s *strangers) Unwrap() error        { return s.told }
func (s *strangers) Is(target error) bool { return target == errStranger }

// owned is an error where this backend's key is not that of the account which rents its
// machines, by muster's records or by the campaign's state.
func (b *backend) owned(ctx context.Context) error {
	rentals, err := b.recorded()
	if err != nil {
		return err
	}
	recorded := map[string]bool{}
	for _, r := range rentals {
		recorded[r.ID], recorded[r.Token] = true, true
	}
	leases := leasesOf(rentals)
	for _, m := range b.Rented {
		if !recorded[m.ID] {
			leases = append(leases, lease{m.ID, m.Account})
		}
	}
	return stranger(ctx, b.account, leases, func() ([]Machine, error) { return b.account.Machines(ctx) })
}

// owns is an error where the list is not of the account that rents this keeper's machines.
// Those that it proves to be of the present account are recorded so.
func (k *Keeper) owns(ctx context.Context, list []Machine) error {
	leases := leasesOf(k.Rentals())
	if err := stranger(ctx, k.cloud, leases, func() ([]Machine, error) { return list, nil }); err != nil || len(leases) == 0 {
		return err
	}
	uses, err := k.cloud.Account(ctx)
	if err != nil {
		return err
	}
	for _, r := range k.book.sorted() {
		if r.Billed() && !r.Account.Same(uses) {
			r.Account = uses
			if err := k.put(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func leasesOf(rentals []Rental) (out []lease) {
	for _, r := range rentals {
		if !r.Billed() {
			continue
		}
		id := r.ID
		if id == "" {
			id = r.Token
		}
		out = append(out, lease{id, r.Account})
	}
	return out
}
