package apply

import (
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func (f *flight) spot() site.Spot { return f.b.Spot(f.pool) }

// goesTo is where a decision puts a job's files.
func (e *engine) goesTo(d *place.Decision) (site.Spot, bool) {
	b := e.contacts[d.Backend]
	if b == nil {
		return site.Spot{}, false
	}
	return b.Spot(d.Pool), true
}

// together reports whether all that this run may look at has the same files:
// the common case, in which nothing is ever moved.
func (e *engine) together() bool {
	if e.oneSpot != nil {
		return *e.oneSpot
	}
	one, first := true, ""
	for _, b := range e.contacts {
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
	e.oneSpot = &one
	return one
}

// An origin is a place to read an output from.
type origin struct {
	b       *backend
	spot    site.Spot
	workdir string
	path    string
}

func (s *origin) end() haul.End {
	return haul.End{Files: s.b.Provider, Backend: s.spot.Name(), Workdir: s.workdir}
}

// origins are where an output lies, as recorded: first where it was made,
// then its copies. Backends that are not in this run are left out.
func (e *engine) origins(rec *state.Job, o *state.Output) (out []origin) {
	if e.contacts[o.Backend] != nil && !o.Missing {
		pool := ""
		if a := rec.Last(); a != nil && a.Backend == o.Backend {
			pool = a.Pool
		}
		b := e.at(o.Backend, pool)
		s := origin{b: b, spot: b.Spot(pool), workdir: site.AtHome(o.Workdir, b.Offers, pool), path: o.Path}
		if o.Workdir == "" {
			s.workdir = s.spot.Workdir
		}
		out = append(out, s)
	}
	for i := range o.Copies {
		c := &o.Copies[i]
		name, pool := providers.CutAt(c.Backend)
		if b := e.at(name, pool); b != nil && c.Digest == o.Digest {
			spot := b.Spot(pool)
			out = append(out, origin{b: b, spot: spot, workdir: spot.Workdir, path: c.Path})
		}
	}
	return out
}

// pathAt is the path of an output as jobs at a spot see it, if it lies there.
func (e *engine) pathAt(rec *state.Job, o *state.Output, at site.Spot) (string, bool) {
	for _, s := range e.origins(rec, o) {
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
