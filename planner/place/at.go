package place

// At is the charge of a group on a pool where it was placed before; ok is false
// where the pool is unknown, as when its backend cannot be asked.
func (in Input) At(backend, pool string, g Group) (d Decision, ok bool) {
	d = Decision{Backend: backend, Pool: pool, Shape: g.Shape, Segments: 1}
	for _, o := range in.options(g, []string{backend}, indexQuotes(in.Quotes)) {
		if o.pool.Name == pool {
			d.Shape, d.Price, d.WholeNode, d.Wait, d.Waited, d.Boot, d.Hold, d.Limits = o.shape, o.price, o.pool.WholeNode, o.wait, o.waited, o.boot, o.hold, o.limits
			return d, true
		}
	}
	return d, false
}
