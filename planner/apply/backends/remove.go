package backends

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// files removes outputs, and releases rentals.
type files struct{ *core }

const (
	rentalsTime = time.Minute // for a list of rentals
	releaseTime = providers.ReleaseTime + rentalsTime
	removeTime  = 2 * time.Minute // for one call
	removeMax   = 1000            // outputs of one call
)

// A File is to be removed; a pattern names the files that it matches by then.
type File struct {
	Path    string // absolute
	Pattern bool
}

// FilesOf names whose files the jobs of a pool leave theirs among; see
// providers.At.
func (fs *files) FilesOf(backend, pool string) string {
	if c := fs.Contacts[backend]; c != nil {
		return c.Filesystem(pool).Name()
	}
	return backend
}

// Remove removes files among those of a place or of one of its hosts, by its
// name, in pieces; then hears how many of the files were in a piece, in order,
// and what became of it. False: the place cannot be reached, and then hears nothing.
func (fs *files) Remove(name string, files []File, then func(n int, err error)) bool {
	b := fs.At(providers.CutAt(name))
	if b == nil || b.Provider == nil {
		return false
	}
	for len(files) > 0 {
		some := files[:min(len(files), removeMax)]
		files = files[len(some):]
		var err error
		b.Call(func() { err = fs.remove(b, name, some) }, func() { then(len(some), err) })
	}
	return true
}

func (fs *files) remove(b *Backend, name string, files []File) error {
	ctx, cancel := context.WithTimeout(fs.Ctx, removeTime)
	defer cancel()
	r := providers.RemoveRequest{Backend: name, Fence: fs.Fence, Holder: fs.Holder}
	for _, f := range files {
		if !f.Pattern {
			r.Paths = append(r.Paths, f.Path)
			continue
		}
		found, err := b.Provider.List(ctx, name, []string{f.Path})
		if err != nil {
			return err
		}
		for _, g := range found {
			r.Paths = append(r.Paths, g.Path)
		}
	}
	if len(r.Paths) == 0 {
		return nil
	}
	return b.Provider.Remove(ctx, r)
}

// Reaches reports whether a backend is in this run, and answered.
func (fs *files) Reaches(backend string) bool {
	b := fs.At(backend, "")
	return b != nil && b.Provider != nil
}

// KeepsFiles reports whether a backend's files outlive the machines that it rents.
func (fs *files) KeepsFiles(backend string) bool {
	b := fs.At(backend, "")
	return b != nil && b.Can.KeepsFiles
}

// Release gives rentals back, where their provider rents; then hears of each why it did
// not, nil if it did.
func (fs *files) Release(backend string, ids []string, then func(id string, err error)) {
	b := fs.At(backend, "")
	rents, ok := b.Provider.(providers.Renter)
	if !ok {
		return
	}
	var out []providers.Outcome
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(fs.Ctx, releaseTime)
		defer cancel()
		out, err = rents.Release(ctx, b.Name, ids)
	}, func() {
		for _, id := range ids {
			failed := err
			i := slices.IndexFunc(out, func(o providers.Outcome) bool { return o.ID == id })
			switch {
			case err != nil:
			case i < 0:
				failed = errors.New("its provider did not say what became of it")
			case out[i].Err != nil:
				failed = out[i].Err
			}
			then(id, failed)
		}
	})
}

// Rentals asks a backend's provider, where it rents, for the campaign's machines.
func (fs *files) Rentals(backend string, then func([]offer.Rental, error)) {
	b := fs.At(backend, "")
	rents, ok := b.Provider.(providers.Renter)
	if !ok {
		return
	}
	var list []offer.Rental
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(fs.Ctx, rentalsTime)
		defer cancel()
		list, err = rents.Rentals(ctx, b.Name)
	}, func() { then(list, err) })
}
