package launch

import (
	"context"
	"errors"
	"io"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol"
)

var _ providers.Provider = (*remote)(nil)

// renting and cleaning add the optional abilities.
type (
	renting  struct{ *remote }
	cleaning struct{ *remote }
)

// Release implements providers.Renter.
func (r renting) Release(ctx context.Context, backend string, ids []string) (out []providers.Outcome, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Release(ctx, backend, ids); return e })
	return out, err
}

// Rentals implements providers.Renter.
func (r renting) Rentals(ctx context.Context, backend string) (out []offer.Rental, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Rentals(ctx, backend); return e })
	return out, err
}

// Clean implements providers.Cleaner.
func (r cleaning) Clean(ctx context.Context, backend string) (out []string, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Clean(ctx, backend); return e })
	return out, err
}

// abilities dresses the provider with the optional interfaces it has.
func (r *remote) abilities(c *protocol.Client) providers.Provider {
	switch {
	case c.Rents() && c.Cleans():
		return struct {
			*remote
			providers.Renter
			providers.Cleaner
		}{r, renting{r}, cleaning{r}}
	case c.Rents():
		return struct {
			*remote
			providers.Renter
		}{r, renting{r}}
	case c.Cleans():
		return struct {
			*remote
			providers.Cleaner
		}{r, cleaning{r}}
	}
	return r
}

// Schema implements providers.Describer.
func (r *remote) Schema(ctx context.Context) (out offer.Schema, err error) {
	err = r.ask(ctx, "", func(c *protocol.Client) (e error) { out, e = c.Schema(ctx); return e })
	return out, err
}

// Configure implements providers.Describer. Every later process gets the backend, too.
func (r *remote) Configure(ctx context.Context, b providers.Backend) error {
	err := r.launcher.opts.Gate.Reach(b)
	r.mu.Lock()
	r.told[b.Name] = told{b, err}
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return r.ask(ctx, "", func(c *protocol.Client) error {
		if err := c.Configure(ctx, b); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.backends[b.Name] = b
		if r.current != nil && r.current.client == c {
			r.current.mark(b.Name)
		}
		return nil
	})
}

func (i *instance) mark(backend string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.configured[backend] = true
}

// configured is the last configuration of a backend; a name as At gives it means the whole
// backend.
func (r *remote) configured(name string) providers.Backend {
	return r.toldOf(name).backend
}

func (r *remote) toldOf(name string) told {
	name, _ = providers.CutAt(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[name]
}

// Pools implements providers.Describer.
func (r *remote) Pools(ctx context.Context, backend string) (out []offer.Pool, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Pools(ctx, backend); return e })
	return out, err
}

// Quote implements providers.Describer.
func (r *remote) Quote(ctx context.Context, backend string, shapes []offer.Shape) (out []offer.Quote, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Quote(ctx, backend, shapes); return e })
	return out, err
}

// Preflight implements providers.Describer.
func (r *remote) Preflight(ctx context.Context, backend string, checks []providers.Check) (out []providers.Finding, err error) {
	checks = r.launcher.opts.Gate.Checks(r.configured(backend), checks)
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Preflight(ctx, backend, checks); return e })
	return out, err
}

// Submit implements providers.Runner. A submission in doubt is repeated by
// its tokens.
func (r *remote) Submit(ctx context.Context, q providers.SubmitRequest) (out []providers.Submitted, err error) {
	err = r.ask(ctx, q.Backend, func(c *protocol.Client) (e error) { out, e = c.Submit(ctx, q); return e })
	return out, err
}

// Find implements providers.Runner.
func (r *remote) Find(ctx context.Context, backend string, tokens []string) (out []offer.Observation, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.Find(ctx, backend, tokens); return e })
	return out, err
}

// Watch implements providers.Runner. After a crash it continues from the last cursor for which
// fn returned nil, and acknowledges no more than before.
func (r *remote) Watch(ctx context.Context, q providers.WatchRequest, fn func(providers.Batch) error) error {
	var told error // by fn
	moved := false
	err := r.do(ctx, q.Backend, func(c *protocol.Client) error {
		return c.Watch(ctx, q, func(b providers.Batch) error {
			if told = fn(b); told != nil {
				return told
			}
			moved = true
			if b.Cursor != "" {
				q.Cursor = b.Cursor
			}
			return nil
		})
	}, func() bool {
		was := moved
		moved = false
		return was && told == nil
	})
	if told != nil {
		return told
	}
	return err
}

// Cancel implements providers.Runner.
func (r *remote) Cancel(ctx context.Context, q providers.CancelRequest) (out []providers.Outcome, err error) {
	err = r.ask(ctx, q.Backend, func(c *protocol.Client) (e error) { out, e = c.Cancel(ctx, q); return e })
	return out, err
}

// Control implements providers.Runner.
func (r *remote) Control(ctx context.Context, q providers.ControlRequest) error {
	return r.ask(ctx, q.Backend, func(c *protocol.Client) error { return c.Control(ctx, q) })
}

// counting counts the bytes written and distinguishes the writer's own errors.
type counting struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

var errCut = &providers.Error{
	Class: providers.Unreachable, Summary: "The log was cut off", Detail: "Its provider crashed while the last lines were read.", Hint: "Ask again.",
}

// Logs implements providers.Runner. After a crash it continues where it stopped; the last n
// lines of a log have no such place once begun.
func (r *remote) Logs(ctx context.Context, q providers.LogRequest, w io.Writer) error {
	from, out, seen := q.Offset, &counting{w: w}, int64(0)
	return r.do(ctx, q.Backend, func(c *protocol.Client) error {
		if q.Lines > 0 && out.n > 0 {
			return errCut
		}
		q.Offset = from + out.n
		return own(out, c.Logs(ctx, q, out))
	}, out.further(&seen))
}

// Pull implements providers.Files.
func (r *remote) Pull(ctx context.Context, backend, path string, offset int64, w io.Writer) error {
	out, seen := &counting{w: w}, int64(0)
	return r.do(ctx, backend, func(c *protocol.Client) error {
		return own(out, c.Pull(ctx, backend, path, offset+out.n, out))
	}, out.further(&seen))
}

// own keeps an error of the caller's writer from looking like a crash.
func own(c *counting, err error) error {
	if c.err != nil && errors.Is(c.err, protocol.ErrBroken) {
		return errors.New(c.err.Error())
	}
	return err
}

func (c *counting) further(seen *int64) func() bool {
	return func() bool {
		moved := c.n > *seen
		*seen = c.n
		return moved
	}
}

// Push implements providers.Files.
func (r *remote) Push(ctx context.Context, backend, path string, size int64, digest string, from io.ReadSeeker) error {
	return r.ask(ctx, backend, func(c *protocol.Client) error { return c.Push(ctx, backend, path, size, digest, from) })
}

// Verify implements providers.Files.
func (r *remote) Verify(ctx context.Context, q providers.VerifyRequest) (out []offer.Output, err error) {
	if q, err = r.launcher.opts.Gate.Verify(r.configured(q.Backend), q); err != nil {
		return nil, err
	}
	err = r.ask(ctx, q.Backend, func(c *protocol.Client) (e error) { out, e = c.Verify(ctx, q); return e })
	return out, err
}

// List implements providers.Files.
func (r *remote) List(ctx context.Context, backend string, patterns []string) (out []providers.FileInfo, err error) {
	err = r.ask(ctx, backend, func(c *protocol.Client) (e error) { out, e = c.List(ctx, backend, patterns); return e })
	return out, err
}

// Remove implements providers.Files.
func (r *remote) Remove(ctx context.Context, q providers.RemoveRequest) error {
	return r.ask(ctx, q.Backend, func(c *protocol.Client) error { return c.Remove(ctx, q) })
}
