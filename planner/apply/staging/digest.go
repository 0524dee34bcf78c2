package staging

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
)

const (
	// mostTogether is how many small files one request of a reader has, and
	// bytesTogether how many bytes they hold at most.
	mostTogether  = 1000
	bytesTogether = 64 << 20
)

// ErrChanged is why a file is not digested that is another than the plan saw.
var ErrChanged = errors.New("changed after the plan was made. Plan again when it is written")

// A reader digests files of inputs that the plan did not read, on one machine, one
// request after another.
type reader struct {
	from    *Endpoint // nil: muster's machine
	waiting []*reading
	busy    *Progress // nil: nothing is read
	told    bool
}

// A reading is one file whose digest is taken. Many inputs may wait for it.
type reading struct {
	file   result.File
	abs    string
	tries  int
	away   int
	waits  []unreadAt
	failed error
}

type readingKey struct{ backend, path string }

// unread are the files of one class of a store that are not digested yet.
type unread struct {
	missing int
	broken  *reading
	parked  map[int32]bool // cells; -1-cell for a smoke
}

type unreadAt struct {
	st *Store
	u  *unread
	i  int // of files
	of []result.File
}

// Lacks reports whether a file that a cell reads has no digest in the plan.
func (st *Store) Lacks(cell int32) bool {
	class := int32(st.of.Of(int(cell)))
	lacks, known := st.lacks[class]
	if !known {
		lacks = slices.ContainsFunc(st.Files(int(cell)), func(f result.File) bool { return f.Digest == "" })
		st.lacks[class] = lacks
	}
	return lacks
}

// NewDigests reports whether digests came since it was last asked.
func (rs *readings) NewDigests() bool {
	fresh := rs.fresh
	rs.fresh = false
	return fresh
}

// Digested sees that the files that a cell reads have digests. It reads those that the plan
// did not read in their place, and wakes the cell then. Never comes with a reason.
func (rs *readings) Digested(st *Store, cell int32) (v Arrival, why error) {
	if rs.Digests == nil {
		return There, nil
	}
	class := int32(st.of.Of(int(cell)))
	u := st.unread[class]
	if u == nil {
		u = rs.digest(st, cell)
		st.unread[class] = u
	}
	switch {
	case u.broken != nil:
		return Never, fmt.Errorf("%s %w", u.broken.file.Path, u.broken.failed)
	case u.missing > 0:
		return Coming, nil
	}
	return There, nil
}

// digest begins to read the files of a cell that have no digest.
func (rs *readings) digest(st *Store, cell int32) *unread {
	u := &unread{}
	files := st.Files(int(cell))
	for i, f := range files {
		if f.Digest != "" {
			continue
		}
		r := rs.readingOf(st, f)
		switch {
		case r == nil:
			return &unread{broken: &reading{file: f, failed: fmt.Errorf("is on backend.%s, which is not in this run", st.In.Backend)}}
		case r.failed != nil:
			u.broken = r
		case r.file.Digest != "":
			files[i] = r.file
		default:
			r.waits = append(r.waits, unreadAt{st, u, i, files})
			u.missing++
		}
	}
	return u
}

// readingOf is the one reading of a file; nil where its backend is not in this run.
func (rs *readings) readingOf(st *Store, f result.File) *reading {
	key := readingKey{st.In.Backend, f.Path}
	if r := rs.readings[key]; r != nil {
		return r
	}
	var from *Endpoint
	if st.In.Backend != "" {
		if from = rs.Backends.Endpoint(st.In.Backend, ""); from == nil {
			return nil
		}
	}
	r := &reading{file: f}
	rs.readings[key] = r
	rd := rs.readers[st.In.Backend]
	if rd == nil {
		rd = &reader{from: from}
		rs.readers[st.In.Backend] = rd
	}
	rd.waiting = append(rd.waiting, r)
	return r
}

// read begins the next request of a reader.
func (rs *readings) read(rd *reader) {
	if rd.from != nil && rd.from.Provider == nil {
		rs.rest(rd, rd.waiting, 0)
		rd.waiting = nil
		return
	}
	rs.tellReader(rd)
	slices.SortStableFunc(rd.waiting, func(a, b *reading) int { return cmp.Compare(a.file.Size, b.file.Size) })
	n, bytes := 0, int64(0)
	for n < len(rd.waiting) && n < mostTogether && (n == 0 || bytes+rd.waiting[n].file.Size <= bytesTogether) {
		bytes += rd.waiting[n].file.Size
		n++
	}
	part := slices.Clone(rd.waiting[:n])
	rd.waiting = rd.waiting[n:]
	rd.busy = rs.watch(bytes, move{})
	took, errs := make([]digests.Taken, n), make([]error, n)
	work := func() error { return rs.readHere(part, rd.busy, took, errs) }
	if rd.from != nil {
		at := rd.from.Filesystem("")
		for _, r := range part {
			r.abs = site.RawThere(r.file.Path, at, rd.from.Offers, "")
		}
		v := rd.from.Provider
		work = func() error { return rs.readThere(rd.from.Name, v, at, part, took, errs) }
	}
	rs.Spawn(func() {
		err := work()
		rs.Post(func() {
			rd.busy = nil
			rs.wasRead(rd, part, took, errs, err)
		})
	})
}

// tellReader reports once which files a machine reads.
func (rs *readings) tellReader(rd *reader) {
	if rd.told {
		return
	}
	rd.told = true
	bytes := int64(0)
	for _, r := range rd.waiting {
		bytes += r.file.Size
	}
	them := "it"
	if len(rd.waiting) > 1 {
		them = "them"
	}
	rs.Note("", fmt.Sprintf("digesting %s of inputs%s, %s; jobs that read %s wait", units.Count(len(rd.waiting), "file"), rd.on(), units.FormatSize(bytes), them), false)
}

// on is " on backend.NAME", "" for muster's machine.
func (rd *reader) on() string {
	if rd.from == nil {
		return ""
	}
	return " on backend." + rd.from.Name
}

func (rs *readings) readHere(part []*reading, p *Progress, took []digests.Taken, errs []error) error {
	for i, r := range part {
		took[i], errs[i] = rs.readOne(r, p)
		if err := rs.Ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// readOne reads one file of muster's machine, unless its digest is kept.
func (rs *readings) readOne(r *reading, p *Progress) (digests.Taken, error) {
	r.abs = site.RawPaths(rs.Campaign.Dir, []result.File{r.file})[0]
	root, _, err := digests.Locate(rs.Campaign.Dir, r.abs, "", rs.Reads)
	if err != nil {
		return digests.Taken{}, digests.Unread(err)
	}
	now := digests.Look(root, r.abs)
	switch {
	case !now.OK:
		return digests.Taken{}, errors.New(now.Verdict)
	case !r.is(now.Stamp()):
		return digests.Taken{}, ErrChanged
	}
	if d := rs.Digests.Get(digests.Key("", r.abs), now.Stamp()); d != "" {
		return digests.Taken{Digest: d, Size: now.Size, Stamp: now.Stamp()}, nil
	}
	t, err := digests.Here(rs.Ctx, root, r.abs, func(n int64) { p.Came(r.file.Path, n) })
	if now = digests.Look(root, r.abs); err == nil && !r.is(now.Stamp()) {
		err = ErrChanged
	}
	if err == nil && t.Stamp != 0 {
		rs.Digests.Put(digests.Key("", r.abs), t)
	}
	return t, err
}

// is reports whether a file with a stamp is the one that the plan saw.
func (r *reading) is(stamp uint64) bool { return r.file.Stamp == 0 || r.file.Stamp == stamp }

// readThere has a backend read files of its own, unless their digests are kept.
func (rs *readings) readThere(backend string, v providers.Provider, at site.Filesystem, part []*reading, took []digests.Taken, errs []error) error {
	paths := make([]string, len(part))
	for i, r := range part {
		paths[i] = r.abs
	}
	seen, err := digests.LookThere(rs.Ctx, v, at, paths)
	if err != nil {
		return err
	}
	var ask []int
	paths = paths[:0]
	for i, r := range part {
		switch now := &seen[i]; {
		case !now.OK:
			errs[i] = errors.New(now.Verdict)
		case !r.is(now.Stamp()):
			errs[i] = ErrChanged
		default:
			took[i] = digests.Taken{Digest: rs.Digests.Get(digests.Key(backend, r.abs), now.Stamp()), Size: now.Size, Stamp: now.Stamp()}
			if took[i].Digest == "" {
				ask, paths = append(ask, i), append(paths, r.abs)
			}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	got, wrong, err := digests.There(rs.Ctx, v, at, paths)
	if err != nil {
		return err
	}
	for k, i := range ask {
		took[i], errs[i] = got[k], wrong[k]
		if errs[i] == nil && !part[i].is(got[k].Stamp) {
			errs[i] = ErrChanged
		}
		if errs[i] == nil {
			rs.Digests.Put(digests.Key(backend, part[i].abs), got[k])
		}
	}
	return nil
}

// wasRead takes up the digests of one request; err is why none came.
func (rs *readings) wasRead(rd *reader, part []*reading, took []digests.Taken, errs []error, err error) {
	if rs.Ctx.Err() != nil {
		return
	}
	if err != nil {
		rs.notRead(rd, part, err)
		return
	}
	rs.answered(rd.from)
	if len(rd.waiting) == 0 {
		rs.Digests.Save()
	}
	for i, r := range part {
		if r.failed = errs[i]; r.failed == nil {
			r.file.Digest, r.file.Stamp, r.file.Size = took[i].Digest, took[i].Stamp, took[i].Size
		}
		rs.settled(r)
	}
}

// notRead tries again: for ever while a backend cannot be reached, which is said
// once, else a number of times.
func (rs *readings) notRead(rd *reader, part []*reading, err error) {
	first := part[0]
	away := connection.ClassOf(err) == providers.Unreachable
	if first.away == 0 || !away {
		rs.Note("", fmt.Sprintf("inputs%s could not be digested: %v", rd.on(), err), true)
	}
	if first.away++; !away {
		first.away = 0
		first.tries++
	}
	if first.tries < transferTries {
		rs.rest(rd, part, first.tries+first.away)
		return
	}
	for _, r := range part {
		r.failed = err
		rs.settled(r)
	}
}

// rest has files read later.
func (rs *readings) rest(rd *reader, part []*reading, tries int) {
	rs.delayed++
	rs.Later(connection.Backoff(tries+3), func() {
		rs.delayed--
		rd.waiting = append(slices.Clone(part), rd.waiting...)
	})
}

// settled tells those who wait for a file its result.
func (rs *readings) settled(r *reading) {
	waits := r.waits
	r.waits = nil
	for _, w := range waits {
		w.u.missing--
		if w.of[w.i] = r.file; r.failed != nil {
			w.u.broken = r
		}
		if w.u.missing == 0 || r.failed != nil {
			late := slices.Sorted(maps.Keys(w.u.parked))
			w.u.parked = nil
			rs.fresh = true
			w.st.Freed(late)
		}
	}
}

// forgetUnread lets files be read again that could not be.
func (st *Store) forgetUnread() {
	for class, u := range st.unread {
		if u.broken != nil {
			delete(st.unread, class)
		}
	}
}
