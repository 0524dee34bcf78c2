package refresh

import (
	"context"
	"slices"

	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// confirm looks at the copies of outputs that are not there any more where they
// were made: while one of them is whole, nothing is missing. A copy whose place
// cannot be asked is believed.
func (o *outputs) confirm(ctx context.Context, asks []*ask) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	type place struct {
		a  *ask
		at [2]string // see bySpot
	}
	by, copies := map[string]*ask{}, map[place][]recorded{}
	for _, a := range asks {
		by[a.name] = a
	}
	for _, a := range asks {
		for _, r := range a.outputs {
			if len(r.out.Copies) == 0 || !o.broken(r) {
				continue
			}
			o.uncopied(r, true)
			for _, c := range r.out.Copies {
				name, pool := providers.CutAt(c.Backend)
				at := by[name]
				if at == nil || !o.canLook(at, pool) {
					o.uncopied(r, false)
					continue
				}
				out := *r.out
				out.Path, out.Digest = c.Path, c.Digest
				spot := site.FilesystemOf(at.conf, at.offers, pool)
				key := place{at, [2]string{spot.Name(), spot.Workdir}}
				copies[key] = append(copies[key], recorded{address: r.address, out: &out, pool: pool, spec: r.spec})
			}
		}
	}
	for p, all := range copies {
		for rs := range slices.Chunk(all, verifyMax) {
			got, err := p.a.p.Verify(ctx, request(p.at, rs, true))
			for i, r := range rs {
				if err != nil || i < len(got) && got[i].OK && (r.out.Digest == "" || got[i].Digest == r.out.Digest) {
					o.uncopied(r, false)
				}
			}
		}
	}
}

// broken reports whether an output was seen not to be there, or not whole.
func (o *outputs) broken(r recorded) bool {
	return slices.ContainsFunc(o.answers.Observed.Outputs[r.address], func(got offer.Output) bool { return got.Name == r.out.Name && !got.OK })
}

// canLook reports whether the files of a pool can be looked at now.
func (o *outputs) canLook(a *ask, pool string) bool {
	if o.answers.away(a.name) || a.p == nil {
		return false
	}
	return pool == "" || slices.ContainsFunc(a.offers, func(p offer.Pool) bool { return p.Name == pool })
}

// uncopied notes whether no copy of an output is known to be whole.
func (o *outputs) uncopied(r recorded, is bool) {
	names := slices.DeleteFunc(o.answers.Observed.Uncopied[r.address], func(name string) bool { return name == r.out.Name })
	if is {
		names = append(names, r.out.Name)
	}
	o.answers.Observed.Uncopied[r.address] = names
}
