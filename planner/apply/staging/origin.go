package staging

import (
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Together reports whether all that this run may look at has the same files:
// the common case, in which nothing is ever moved.
func (co *core) Together() bool {
	if co.oneFilesystem != nil {
		return *co.oneFilesystem
	}
	one, first := true, ""
	for b := range co.Backends.Places() {
		if b.Splits() { // a host of it that is away is not among its pools
			one = false
			break
		}
		pools := b.Offers
		if len(pools) == 0 {
			pools = []offer.Pool{{}} // it cannot be asked
		}
		for i := range pools {
			files := b.Filesystem(pools[i].Name).Files()
			one = one && (first == "" || first == files)
			first = files
		}
	}
	co.oneFilesystem = &one
	return one
}

// An origin is a place to read an output from.
type origin struct {
	b       *Endpoint
	pool    string
	spot    site.Filesystem
	workdir string
	path    string
	stamp   uint64 // of its files there
}

// away reports whether the host of a job's files is still unknown: its answer gives the place
// of the files.
func (s *origin) away() bool {
	_, known := s.b.Pools[s.pool]
	return s.b.Splits() && !known
}

func (s *origin) end() Side {
	return Side{Files: s.b.Provider, Backend: s.spot.Name(), Workdir: s.workdir}
}

// origins are where an output is, as recorded: first where it was made,
// then its copies. Backends that are not in this run are left out.
func (co *core) origins(rec *state.Job, o *state.Output) (out []origin) {
	pool := ""
	if a := rec.Last(); a != nil && a.Backend == o.Backend {
		pool = a.Pool
	}
	if b := co.Backends.Endpoint(o.Backend, pool); b != nil && !o.Missing {
		s := origin{b: b, pool: pool, spot: b.Filesystem(pool), workdir: site.AtHome(o.Workdir, b.Offers, pool), path: o.Path,
			stamp: offer.Stamp(o.Inode, o.Size, o.MTime, o.CTime)}
		if o.Workdir == "" {
			s.workdir = s.spot.Workdir
		}
		out = append(out, s)
	}
	for i := range o.Copies {
		c := &o.Copies[i]
		name, pool := providers.CutAt(c.Backend)
		if b := co.Backends.Endpoint(name, pool); b != nil && c.Digest == o.Digest {
			spot := b.Filesystem(pool)
			out = append(out, origin{b: b, pool: pool, spot: spot, workdir: spot.Workdir, path: c.Path, stamp: c.Stamp})
		}
	}
	return out
}

// pathAt is the path of an output as jobs at a spot see it, if it is there.
func (co *core) pathAt(rec *state.Job, o *state.Output, at site.Filesystem) (string, bool) {
	for _, s := range co.origins(rec, o) {
		switch {
		case !s.spot.Sees(at):
		case s.workdir == s.spot.Workdir && s.spot.Backend != at.Backend && !s.b.Here():
			return Absolute(at.Workdir, s.path), true // a shared filesystem may be mounted elsewhere there
		default:
			return Absolute(s.workdir, s.path), true
		}
	}
	return "", false
}

// queue puts a move between two spots behind those that wait.
func (co *core) queue(from, to site.Filesystem, begin func(*route)) {
	key := from.Files() + " → " + to.Files()
	l := co.routes[key]
	if l == nil {
		l = &route{moving: map[*Progress]move{}}
		co.routes[key] = l
	}
	l.waiting = append(l.waiting, begin)
}

// Transferring reports whether files move or are digested, or will be.
func (co *core) Transferring() bool {
	for _, l := range co.routes {
		if len(l.moving) > 0 || len(l.waiting) > 0 && !co.Stopped() {
			return true
		}
	}
	for _, rd := range co.readers {
		if rd.busy != nil || len(rd.waiting) > 0 && !co.Stopped() {
			return true
		}
	}
	return co.delayed > 0 && !co.Stopped()
}

// covered begins a move once its cost is counted; refused gets the reason when no account
// covers it.
func (co *core) covered(charge Charge, to Side, load Load, move func(), refused func(error)) {
	if charge.Backend == "" || !co.Ledger.Billed(charge) {
		co.Spawn(move)
		return
	}
	co.Spawn(func() { // existing files stay
		inPlace := InPlace(co.Ctx, to, load)
		co.Post(func() {
			if !inPlace {
				if err := co.Ledger.Pay(charge); err != nil {
					refused(err)
					return
				}
			}
			co.Spawn(move)
		})
	})
}

// Met notes that a place listed its pools again.
func (co *core) Met() { co.oneFilesystem = nil }

// Asking reports whether some cell waits for an answer about its inputs.
func (co *core) Asking() bool { return co.asking > 0 }
