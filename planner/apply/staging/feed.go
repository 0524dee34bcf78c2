package staging

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An Edge is an input of a phase, with the known facts of its files.
type Edge struct {
	cells.Groups
	// Freed receives the cells that waited for files, when these have come or failed; -1-cell
	// is a cell's smoke.
	Freed func(late []int32)
	facts map[feedAt]*fed
	bytes map[int32]string // by group: the digest of the files read
}

// NewEdge is an input whose files nobody has looked at.
func NewEdge(gs cells.Groups, freed func([]int32)) Edge {
	return Edge{Groups: gs, Freed: freed, facts: map[feedAt]*fed{}}
}

// A group of an edge at one spot.
type feedAt struct {
	group int32
	files string
}

// fed is the known part of one group of an edge at one spot: worked out once and shared by all
// its consumers.
type fed struct {
	at      site.Filesystem
	b       *Endpoint
	paths   []string
	known   bool                 // paths are
	records []providers.Recorded // nil: to be worked out
	here    bool                 // its files are
	missing int                  // deliveries that have yet to arrive
	broken  *delivery            // one that does not
	asking  bool
	parked  []int32 // cells that wait; -1-cell for a smoke
}

// keepPaths is the least number of producers from which a group's paths are
// kept: below it they are cheaper to work out again than to hold.
const keepPaths = 2

// Paths are the absolute paths of the files that a cell reads through an edge
// where it runs, in key order.
func (ou *outputs) Paths(ed *Edge, cell int32, b *Endpoint, at site.Filesystem) []string {
	g := ed.In.GroupOf(int(cell))
	k := ed.facts[feedAt{int32(g), at.Files()}]
	if k != nil && k.known {
		return k.paths
	}
	members := ed.Members(g)
	paths := make([]string, 0, len(members))
	for _, m := range members {
		paths = append(paths, ou.outputPath(ed, int32(m), at))
	}
	if len(members) >= keepPaths && !ou.SubmitsAhead {
		if k == nil {
			k = feed(ed, int32(g), b, at)
		}
		k.paths, k.known = paths, true
	}
	return paths
}

func feed(ed *Edge, g int32, b *Endpoint, at site.Filesystem) *fed {
	key := feedAt{g, at.Files()}
	k := ed.facts[key]
	if k == nil {
		k = &fed{at: at, b: b}
		ed.facts[key] = k
	}
	return k
}

// outputPath is where a producer's output is for jobs at a spot: as
// recorded, else as declared.
func (ou *outputs) outputPath(ed *Edge, producer int32, at site.Filesystem) string {
	if rec := ou.State.Jobs[ed.In.From.Address(int(producer))]; rec != nil && rec.Status == state.Completed {
		if o := OutputNamed(rec, ed.In.Output); o != nil {
			if p, ok := ou.pathAt(rec, o, at); ok {
				return p
			}
		}
	}
	return Absolute(at.Workdir, ed.In.From.OutputPath(int(producer), ed.In.Output, lang.Run))
}

// Recorded is the record of the files that a cell reads through an edge, at their place where
// it runs. A file of an unfinished job is named by that job's token.
func (ou *outputs) Recorded(ed *Edge, cell int32, b *Endpoint, at site.Filesystem) []providers.Recorded {
	g := ed.In.GroupOf(int(cell))
	members := ed.Members(g)
	keep := len(members) >= keepPaths && !ou.SubmitsAhead
	if keep {
		if k := ed.facts[feedAt{int32(g), at.Files()}]; k != nil && k.records != nil {
			return k.records
		}
	}
	kind := lang.File
	if out := jobspec.OutputOf(ed.In.From, ed.In.Output, -1); out != nil {
		kind = out.Kind
	}
	records := make([]providers.Recorded, 0, len(members))
	for _, m := range members {
		r := ou.recorded(ed, int32(m), at)
		if kind != lang.File {
			r.Kind = string(kind)
		}
		if kind != lang.Glob {
			r.Workdir, r.Path = "", "" // the path is in the list
		}
		records = append(records, r)
	}
	if keep {
		feed(ed, int32(g), b, at).records = records
	}
	return records
}

func (ou *outputs) recorded(ed *Edge, producer int32, at site.Filesystem) (r providers.Recorded) {
	rec := ou.State.Jobs[ed.In.From.Address(int(producer))]
	if rec == nil {
		return r
	}
	if rec.Status != state.Completed {
		if a := rec.Last(); a != nil {
			r.Token, r.Output = connection.Stem(a.Token), ed.In.Output
		}
		return r
	}
	o := OutputNamed(rec, ed.In.Output)
	if o == nil || o.Digest == "" {
		return r
	}
	r.Digest, r.Workdir, r.Path = o.Digest, at.Workdir, o.Path
	for _, s := range ou.origins(rec, o) {
		if s.spot.Sees(at) {
			r.Stamp, r.Workdir, r.Path = s.stamp, s.workdir, s.path
			break
		}
	}
	return r
}

// OutputNamed is an output of a record, nil if it has none of that name.
func OutputNamed(rec *state.Job, name string) *state.Output {
	for i := range rec.Outputs {
		if rec.Outputs[i].Name == name {
			return &rec.Outputs[i]
		}
	}
	return nil
}

// Bytes is the digest of the bytes that a cell reads through an edge, "" if
// it is not known.
func (ou *outputs) Bytes(ed *Edge, cell int32) string {
	g := ed.In.GroupOf(int(cell))
	text, ok := ed.bytes[int32(g)]
	if !ok {
		text = ou.groupBytes(ed, g)
		if len(ed.Members(g)) >= keepPaths && !ou.SubmitsAhead {
			if ed.bytes == nil {
				ed.bytes = map[int32]string{}
			}
			ed.bytes[int32(g)] = text
		}
	}
	return text
}

func (ou *outputs) groupBytes(ed *Edge, g int) string {
	members := ed.Members(g)
	digests := make([]string, len(members))
	for i, m := range members {
		if rec := ou.State.Jobs[ed.In.From.Address(m)]; rec != nil {
			if o := OutputNamed(rec, ed.In.Output); o != nil {
				digests[i] = o.Digest
			}
		}
	}
	return offer.InputBytes(digests)
}

// Found reports whether all that a cell reads through an edge is known to be
// where it runs.
func (ou *outputs) Found(ed *Edge, cell int32, at site.Filesystem) bool {
	g := ed.In.GroupOf(int(cell))
	glob := ed.globs()
	if !glob && ou.Together() || ed.Need[g] > 0 {
		return true
	}
	k := ed.facts[feedAt{int32(g), at.Files()}]
	return k != nil && k.here && (!glob || k.known)
}

// A Arrival says whether a job's inputs are where it is to run.
type Arrival int

// The verdicts.
const (
	There  Arrival = iota
	Coming         // Freed wakes the waiting cells
	Never          // it cannot come
)

// Bring sees that the inputs of a cell through an edge are where it is to run, and that their
// paths are known. It moves files from elsewhere, expands globs in their place, and wakes the
// cell then. Never comes with a reason.
func (ou *outputs) Bring(ed *Edge, cell int32, b *Endpoint, pool string, smoke bool) (v Arrival, why string) {
	glob := ed.globs()
	if !glob && ou.Together() {
		return There, ""
	}
	g := int32(ed.In.GroupOf(int(cell)))
	if ed.Need[g] > 0 {
		return There, "" // queued behind them, on one queue
	}
	k := feed(ed, g, b, b.Filesystem(pool))
	if !b.known(pool) {
		k.park(cell, smoke)
		ou.askPlace(ed, k)
		return Coming, ""
	}
	if !k.here && !ou.fetch(ed, g, k) {
		if k.broken != nil {
			return Never, k.undelivered(ed)
		}
		k.park(cell, smoke)
		return Coming, ""
	}
	if glob && !k.known {
		k.park(cell, smoke)
		ou.askGlob(ed, g, k)
		return Coming, ""
	}
	return There, ""
}

func (ed *Edge) globs() bool {
	out := jobspec.OutputOf(ed.In.From, ed.In.Output, -1)
	return out != nil && out.Kind == lang.Glob
}

func (k *fed) park(cell int32, smoke bool) {
	if smoke {
		cell = -1 - cell
	}
	if !slices.Contains(k.parked, cell) {
		k.parked = append(k.parked, cell)
	}
}

// askPlace has a place say where its files are, and its cells look again.
func (ou *outputs) askPlace(ed *Edge, k *fed) {
	if k.asking {
		return
	}
	k.asking = true
	ou.asking++
	ou.Backends.Lost(k.b, errors.New("the place of its files is not known yet"))
	ou.Backends.Ask(k.b)
	ou.Later(connection.BackoffMin*5, func() {
		k.asking = false
		ou.asking--
		ed.unpark(k)
	})
}

// askGlob resolves the patterns of one group where they are read.
func (ou *outputs) askGlob(ed *Edge, g int32, k *fed) {
	if k.asking {
		return
	}
	k.asking = true
	ou.asking++
	answered := func() { k.asking = false; ou.asking-- }
	var patterns []string
	for _, m := range ed.Members(int(g)) {
		patterns = append(patterns, ou.outputPath(ed, int32(m), k.at))
	}
	var files []providers.FileInfo
	var err error
	b := k.b
	b.Call(func() {
		ctx, cancel := context.WithTimeout(ou.Ctx, connection.AskTimeout)
		defer cancel()
		files, err = b.Provider.List(ctx, k.at.Name(), patterns)
	}, func() {
		if err != nil {
			if connection.ClassOf(err) != "" {
				ou.Backends.Lost(b, err)
				ou.Later(connection.BackoffMin*5, func() { answered(); ou.askGlob(ed, g, k) })
			}
			return
		}
		answered()
		ou.Backends.Answered(b)
		k.paths = k.paths[:0]
		for _, f := range files {
			if !f.Dir {
				k.paths = append(k.paths, f.Path)
			}
		}
		inKeyOrder(k.paths, patterns)
		k.known = true
		ed.unpark(k)
	})
}

// inKeyOrder sorts files by the pattern that each matches, and by their paths. Where patterns
// begin with ~, the backend's order remains.
func inKeyOrder(files, patterns []string) {
	of, at := make(map[string]int, len(files)), 0
	for _, f := range files {
		found := false
		for k := range patterns { // most have the pattern of the one before
			i := (at + k) % len(patterns)
			if found, _ = doublestar.Match(patterns[i], f); found {
				at = i
				break
			}
		}
		if !found {
			return
		}
		of[f] = at
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(of[a], of[b]), strings.Compare(a, b)) })
}

func (ed *Edge) unpark(k *fed) {
	late := k.parked
	k.parked = nil
	ed.Freed(late)
}
