package staging

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A Store is an input that no phase makes, with the known facts of its files at the spots that
// read them.
type Store struct {
	Phase string // that reads it
	In    *lang.RawInput
	Files func(cell int) []result.File
	// Freed receives the cells that waited for files, when these have come or failed; -1-cell
	// is a cell's smoke.
	Freed func(late []int32)

	of     grid.Projection
	copies map[feedAt]*copies
	unread map[int32]*unread // by class
	lacks  map[int32]bool    // by class, as the plan was made
}

// NewStore is an input whose files nobody has looked at.
func NewStore(phase string, in *lang.RawInput, files func(cell int) []result.File, freed func([]int32)) *Store {
	return &Store{Phase: phase, In: in, Files: files, Freed: freed, of: in.Classes(), copies: map[feedAt]*copies{}, unread: map[int32]*unread{}, lacks: map[int32]bool{}}
}

// copies are the files of one class of a store at one spot.
type copies struct {
	fileCopies []*fileCopy
	missing    int
	sent       int       // of those that were missing
	broken     *fileCopy // one that does not come
	parked     []int32
}

// A fileCopy is one file on its way to a spot. Many inputs may wait for it.
type fileCopy struct {
	file   result.File
	phase  string    // that asked for it first
	from   *Endpoint // nil: muster's machine
	path   string    // absolute there
	to     site.Filesystem
	b      *Endpoint // of to
	key    string    // below result.CopiesDir
	tries  int
	away   int // tries in a row that found one of its ends away
	waits  []copyWaiter
	done   bool
	sent   bool   // it was not there already
	stamp  uint64 // of the copy
	failed error
}

type fileCopyKey struct{ key, files string }

// A copyWaiter is who waits for a fileCopy.
type copyWaiter struct {
	st *Store
	k  *copies
}

// Begin has the files that a cell reads digested, and then copied to where it is
// planned, if it is known where that is.
func (ss *stores) Begin(st *Store, cell int32, b *Endpoint, pool string) {
	if v, _ := ss.readings.Digested(st, cell); v == There && b.known(pool) {
		ss.copiesAt(st, cell, b, pool)
	}
}

// Stock sees that the files that a cell reads are where it is to run, once they are Digested.
// It wakes the cell then. Never comes with a reason.
func (ss *stores) Stock(st *Store, cell int32, b *Endpoint, pool string, smoke bool) (v Arrival, why string) {
	if u := st.unread[int32(st.of.Of(int(cell)))]; u != nil && u.missing > 0 && u.broken == nil {
		if smoke {
			cell = -1 - cell
		}
		if u.parked == nil {
			u.parked = map[int32]bool{}
		}
		u.parked[cell] = true
		return Coming, ""
	}
	if from, there := ss.home(st, b, pool); there {
		return There, ""
	} else if from == nil && st.In.Backend != "" {
		return Never, fmt.Sprintf("its input %s is on backend.%s, which is not in this run", st.In.Name, st.In.Backend)
	}
	if !b.known(pool) {
		ss.askAgain(st, cell, b, smoke)
		return Coming, ""
	}
	k := ss.copiesAt(st, cell, b, pool)
	switch {
	case k.broken != nil:
		return Never, fmt.Sprintf("its input %s: %s could not be copied to %s: %v", st.In.Name, k.broken.file.Path, k.broken.to.Name(), k.broken.failed)
	case k.missing > 0:
		if smoke {
			cell = -1 - cell
		}
		if !slices.Contains(k.parked, cell) {
			k.parked = append(k.parked, cell)
		}
		return Coming, ""
	}
	return There, ""
}

// home is where the files of a store are, nil for muster's machine, and whether
// jobs of a pool see them there.
func (ss *stores) home(st *Store, b *Endpoint, pool string) (from *Endpoint, there bool) {
	if st.In.Backend == "" {
		return nil, !b.Can.Remote || ss.Play
	}
	from = ss.Backends.Endpoint(st.In.Backend, "")
	return from, from != nil && from.Filesystem("").Sees(b.Filesystem(pool)) || ss.Play
}

// askAgain has a place say where its files are, and a cell look again.
func (ss *stores) askAgain(st *Store, cell int32, b *Endpoint, smoke bool) {
	ss.Backends.Lost(b, errors.New("the place of its files is not known yet"))
	ss.Backends.Ask(b)
	ss.asking++
	if smoke {
		cell = -1 - cell
	}
	ss.Later(connection.BackoffMin*5, func() {
		ss.asking--
		st.Freed([]int32{cell})
	})
}

// copiesAt are those of a cell's class at a spot, which are copied from when they
// are first asked for. Files without a digest are reported when a job is built.
func (ss *stores) copiesAt(st *Store, cell int32, b *Endpoint, pool string) *copies {
	to := b.Filesystem(pool)
	key := feedAt{int32(st.of.Of(int(cell))), to.Files()}
	k := st.copies[key]
	if k != nil {
		return k
	}
	from, there := ss.home(st, b, pool)
	if there || from == nil && st.In.Backend != "" {
		return &copies{}
	}
	k = &copies{}
	st.copies[key] = k
	for _, f := range st.Files(int(cell)) {
		if f.Digest == "" {
			continue
		}
		c := ss.copyOf(f, st.Phase, from, b, to)
		k.fileCopies = append(k.fileCopies, c)
		switch {
		case c.done:
		case c.failed != nil:
			k.broken = c
		default:
			c.waits = append(c.waits, copyWaiter{st, k})
			k.missing++
		}
	}
	return k
}

// copyOf is the one fileCopy of a file to a spot.
func (ss *stores) copyOf(f result.File, phase string, from, b *Endpoint, to site.Filesystem) *fileCopy {
	key := fileCopyKey{f.Copy(), to.Files()}
	c := ss.fileCopies[key]
	if c == nil {
		c = &fileCopy{file: f, phase: phase, from: from, to: to, b: b, key: key.key}
		if from == nil {
			c.path = site.RawPaths(ss.Campaign.Dir, []result.File{f})[0]
		} else {
			c.path = site.RawThere(f.Path, from.Filesystem(""), from.Offers, "")
		}
		ss.fileCopies[key] = c
		ss.enqueue(c)
	}
	return c
}

func (ss *stores) enqueue(c *fileCopy) {
	var from site.Filesystem
	if c.from != nil {
		from = c.from.Filesystem("")
	}
	ss.queue(from, c.to, func(l *route) { ss.carry(l, c) })
}

// carry moves one file.
func (ss *stores) carry(l *route, c *fileCopy) {
	if c.b.Provider == nil || c.from != nil && c.from.Provider == nil {
		ss.enqueueLater(c)
		return
	}
	recorded := providers.Recorded{Digest: c.file.Digest, Stamp: c.file.Stamp}
	here := Here{Recorded: recorded}
	from := Side{Files: here, Workdir: "/"}
	charge := Charge{Phase: c.phase, Address: c.file.Path, Output: "input", Digest: c.file.Digest, Backend: backends.Local, To: c.to.Files(), Bytes: c.file.Size}
	if c.from != nil {
		at := c.from.Filesystem("")
		from = Side{Files: c.from.Provider, Backend: at.Name(), Workdir: at.Workdir}
		charge.Backend = c.from.Name
	}
	to := Side{Files: c.b.Provider, Backend: c.to.Name(), Workdir: c.to.Workdir}
	load := Load{Output: state.Output{Name: "input", Path: c.path, Digest: c.file.Digest, Size: c.file.Size}, From: c.path, To: path.Join(result.CopiesDir, c.key),
		Kind: lang.File, Fence: ss.Fence, Holder: ss.Holder, Aside: path.Join(".muster", "replaced", "inputs", path.Dir(c.key))}
	m := move{"", "copying " + c.file.Path, "to " + c.to.Name()}
	load.Progress = ss.watch(c.file.Size, m, c.from, c.b)
	l.moving[load.Progress] = m
	move := func() {
		copied, err := Move(ss.Ctx, from, to, load)
		final := false
		if err != nil && c.from == nil {
			if changed := here.Check(ss.Ctx, c.path); changed != nil {
				err, final = changed, true
			}
		}
		ss.Post(func() {
			delete(l.moving, load.Progress)
			if err != nil {
				ss.notCarried(c, err, final)
				return
			}
			ss.answered(c.from, c.b)
			c.done, c.sent, c.stamp = true, copied.Sent, copied.Stamp
			ss.settle(c)
		})
	}
	ss.covered(charge, to, load, move, func(err error) {
		delete(l.moving, load.Progress)
		c.failed = err
		ss.settle(c)
	})
}

func (ss *stores) enqueueLater(c *fileCopy) {
	ss.delayed++
	ss.Later(connection.Backoff(c.tries+c.away+3), func() { ss.delayed--; ss.enqueue(c) })
}

// notCarried tries again: for ever while a backend cannot be reached, which is said
// once, else a number of times; a final error, such as a file that changed, is the end.
func (ss *stores) notCarried(c *fileCopy, err error, final bool) {
	if ss.Ctx.Err() != nil {
		return
	}
	class := connection.ClassOf(err)
	if final {
		class = providers.Invalid
	}
	if c.away == 0 || class != providers.Unreachable {
		ss.Note("", fmt.Sprintf("%s was not copied to %s: %v", c.file.Path, c.to.Name(), err), true)
	}
	c.away++
	if class != providers.Unreachable {
		c.away = 0
		c.tries++
		if final || c.tries >= transferTries || class == providers.NotFound {
			c.failed = err
			ss.settle(c)
			return
		}
	}
	ss.enqueueLater(c)
}

// settle tells those who wait for a fileCopy its result.
func (ss *stores) settle(c *fileCopy) {
	waits := c.waits
	c.waits = nil
	for _, a := range waits {
		a.k.missing--
		switch {
		case c.failed != nil:
			a.k.broken = c
		case c.sent:
			a.k.sent++
		}
		if a.k.missing == 0 && a.k.sent > 0 {
			ss.Note("", fmt.Sprintf("copied %s of the input %s to %s", units.Count(a.k.sent, "file"), a.st.In.Name, c.to.Name()), false)
		}
		if a.k.missing == 0 || c.failed != nil {
			late := a.k.parked
			a.k.parked = nil
			a.st.Freed(late)
		}
	}
}

// ForgetBroken lets failed files be asked for again.
func (st *Store) ForgetBroken() {
	st.forgetUnread()
	for key, k := range st.copies {
		if k.broken != nil {
			delete(st.copies, key)
		}
	}
}

// Stocked reports whether the files that a cell reads are known to be where it
// runs.
func (ss *stores) Stocked(st *Store, cell int32, b *Endpoint, pool string) bool {
	if _, there := ss.home(st, b, pool); there {
		return true
	}
	k := st.copies[feedAt{int32(st.of.Of(int(cell))), b.Filesystem(pool).Files()}]
	return k != nil && k.missing == 0 && k.broken == nil
}

// Stored are the paths of the files that a cell reads where it runs, and their record there.
func (ss *stores) Stored(st *Store, cell int32, b *Endpoint, pool string) (paths []string, records []providers.Recorded) {
	files := st.Files(int(cell))
	paths, records = make([]string, len(files)), make([]providers.Recorded, len(files))
	from, there := ss.home(st, b, pool)
	at := b.Filesystem(pool)
	var k *copies
	if !there {
		k = st.copies[feedAt{int32(st.of.Of(int(cell))), at.Files()}]
	}
	for i, f := range files {
		records[i] = providers.Recorded{Digest: f.Digest}
		switch {
		case !there:
			paths[i] = path.Join(at.Workdir, result.CopiesDir, f.Copy())
			if k != nil && i < len(k.fileCopies) {
				records[i].Stamp = k.fileCopies[i].stamp
			}
		case from != nil:
			paths[i], records[i].Stamp = site.RawThere(f.Path, at, b.Offers, pool), f.Stamp
		default:
			paths[i], records[i].Stamp = site.RawPaths(ss.Campaign.Dir, files[i:i+1])[0], f.Stamp
		}
	}
	return paths, records
}
