package freight

import (
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Together reports whether all that this run may look at has the same files:
// the common case, in which nothing is ever moved.
func (fr *Freight) Together() bool {
	if fr.oneSpot != nil {
		return *fr.oneSpot
	}
	one, first := true, ""
	for b := range fr.Places() {
		if b.Splits() { // a host of it that is away is not among its pools
			one = false
			break
		}
		pools := b.Offers
		if len(pools) == 0 {
			pools = []offer.Pool{{}} // it cannot be asked
		}
		for i := range pools {
			files := b.Spot(pools[i].Name).Files()
			one = one && (first == "" || first == files)
			first = files
		}
	}
	fr.oneSpot = &one
	return one
}

// An origin is a place to read an output from.
type origin struct {
	b       *Berth
	pool    string
	spot    site.Spot
	workdir string
	path    string
	stamp   uint64 // of its files there
}

// away reports whether the host that has it has not said yet what it is: where
// its files lie is known when it has.
func (s *origin) away() bool {
	_, known := s.b.Pools[s.pool]
	return s.b.Splits() && !known
}

func (s *origin) end() haul.End {
	return haul.End{Files: s.b.Provider, Backend: s.spot.Name(), Workdir: s.workdir}
}

// origins are where an output lies, as recorded: first where it was made,
// then its copies. Backends that are not in this run are left out.
func (fr *Freight) origins(rec *state.Job, o *state.Output) (out []origin) {
	pool := ""
	if a := rec.Last(); a != nil && a.Backend == o.Backend {
		pool = a.Pool
	}
	if b := fr.At(o.Backend, pool); b != nil && !o.Missing {
		s := origin{b: b, pool: pool, spot: b.Spot(pool), workdir: site.AtHome(o.Workdir, b.Offers, pool), path: o.Path,
			stamp: offer.Stamp(o.Inode, o.Size, o.MTime, o.CTime)}
		if o.Workdir == "" {
			s.workdir = s.spot.Workdir
		}
		out = append(out, s)
	}
	for i := range o.Copies {
		c := &o.Copies[i]
		name, pool := providers.CutAt(c.Backend)
		if b := fr.At(name, pool); b != nil && c.Digest == o.Digest {
			spot := b.Spot(pool)
			out = append(out, origin{b: b, pool: pool, spot: spot, workdir: spot.Workdir, path: c.Path, stamp: c.Stamp})
		}
	}
	return out
}

// pathAt is the path of an output as jobs at a spot see it, if it lies there.
func (fr *Freight) pathAt(rec *state.Job, o *state.Output, at site.Spot) (string, bool) {
	for _, s := range fr.origins(rec, o) {
		switch {
		case !s.spot.Sees(at):
		case s.workdir == s.spot.Workdir && s.spot.Backend != at.Backend && !s.b.Here():
			return haul.Absolute(at.Workdir, s.path), true // a shared filesystem may be mounted elsewhere there
		default:
			return haul.Absolute(s.workdir, s.path), true
		}
	}
	return "", false
}
