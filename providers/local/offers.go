package local

import (
	"context"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// devices reads the GPUs; a pool's notes report a driver that does not answer.
func (l *Local) devices() gpu.Reader {
	r, err := l.reader()
	if err != nil {
		return gpu.Unreadable{Err: err}
	}
	return r
}

// Pools is this machine: one pool. It starts no queue.
func (l *Local) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := l.backend(name)
	if err != nil {
		return nil, err
	}
	pool, err := l.pool(ctx, b)
	return []offer.Pool{pool}, err
}

func (l *Local) pool(ctx context.Context, b *backend) (offer.Pool, error) {
	busy, unknown := b.client.Busy(ctx)
	pool, err := machine.Pool(ctx, b.place, l.devices(), busy)
	pool.Price, pool.Queue = price(b.Price), b.client.Identity()
	if unknown != nil {
		pool.Notes = append(pool.Notes, unknown.Error())
	}
	return pool, err
}

// price is the machine's price in the campaign; none by default.
func price(p offer.Price) offer.Price {
	p.Known = true
	return p
}

// Quote says which shapes this machine can run. Its price is known: zero
// unless configured.
func (l *Local) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := l.backend(name)
	if err != nil {
		return nil, err
	}
	pool, err := l.pool(ctx, b)
	if err != nil {
		return nil, err
	}
	list, _ := l.devices().Devices(ctx)
	var out []offer.Quote
	for i, s := range shapes {
		q := offer.Quote{Backend: name, Shape: i, Price: pool.Price, Wait: 0}
		q.Fits, q.Why, q.Would = b.place.Fit(s, pool, list)
		if q.Fits && s.GPUs > 0 && pool.Idle < s.GPUs {
			q.Wait = -1 // other work, whose end is unknown
		}
		out = append(out, q)
	}
	return out, nil
}

// Preflight checks, for free, that jobs could run here.
func (l *Local) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	b, err := l.backend(name)
	if err != nil {
		return nil, err
	}
	var list []gpu.Device
	if slices.ContainsFunc(checks, func(c providers.Check) bool { return c.Shape.GPUs > 0 }) { // asking takes a second
		list, err = l.devices().Devices(ctx)
	}
	return machine.Preflight(ctx, machine.Site{Tenant: b.place, Spool: b.client.Spool, Environ: b.environ, Devices: list, DevicesErr: err}, checks), nil
}
