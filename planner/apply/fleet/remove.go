package fleet

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers"
)

const (
	releaseTime = time.Minute     // for one rental
	removeTime  = 2 * time.Minute // for one call
	removeMax   = 1000            // outputs of one call
)

// A File is to be removed; a pattern stands for what it matches by then.
type File struct {
	Path    string // absolute
	Pattern bool
}

// Remove removes files among those of a place or of one of its hosts, by its
// name, in pieces; then hears how many of the files were in a piece, in order,
// and what became of it.
func (fl *Fleet) Remove(b *Backend, name string, files []File, then func(n int, err error)) {
	for len(files) > 0 {
		some := files[:min(len(files), removeMax)]
		files = files[len(some):]
		var err error
		b.Call(func() { err = fl.remove(b, name, some) }, func() { then(len(some), err) })
	}
}

func (fl *Fleet) remove(b *Backend, name string, files []File) error {
	ctx, cancel := context.WithTimeout(fl.Ctx, removeTime)
	defer cancel()
	r := providers.RemoveRequest{Backend: name, Fence: fl.Fence, Holder: fl.Holder}
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

// Release gives a rental back, where its provider rents.
func (fl *Fleet) Release(b *Backend, id string, then func(error)) {
	rents, ok := b.Provider.(providers.Releaser)
	if !ok {
		return
	}
	var out []providers.Outcome
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(fl.Ctx, releaseTime)
		defer cancel()
		out, err = rents.Release(ctx, b.Name, []string{id})
	}, func() {
		if err == nil && len(out) > 0 && out[0].Err != nil {
			err = out[0].Err
		}
		then(err)
	})
}
