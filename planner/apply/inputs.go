package apply

import (
	"context"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/planner/apply/site"
	hashes "github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A group of an edge at one spot.
type feedAt struct {
	group int32
	files string
}

// fed is what is known of one group of an edge at one spot: worked out once
// and shared by all its consumers.
type fed struct {
	at      site.Spot
	b       *backend
	paths   []string
	known   bool   // paths are
	here    bool   // its files are
	missing int    // cargoes that have yet to arrive
	broken  *cargo // one that does not
	asking  bool
	parked  []int32 // cells that wait; -1-cell for a smoke
}

// keepPaths is the least number of producers from which a group's paths are
// kept: below it they are cheaper to work out again than to hold.
const keepPaths = 2

// inputPaths are the absolute paths of an input's files where the job runs,
// in key order.
func (e *engine) inputPaths(f *flight, name string) []string {
	for _, ed := range f.p.inputs {
		if ed.In.Name != name {
			continue
		}
		at := f.spot()
		g := ed.In.GroupOf(int(f.cell))
		k := ed.facts[feedAt{int32(g), at.Files()}]
		if k != nil && k.known {
			return k.paths
		}
		members := ed.In.Members(g)
		paths := make([]string, 0, len(members))
		for _, m := range members {
			paths = append(paths, e.outputPath(ed, int32(m), at))
		}
		if len(members) >= keepPaths && !e.handingOver() {
			if k == nil {
				k = e.feed(ed, int32(g), f.b, at)
			}
			k.paths, k.known = paths, true
		}
		return paths
	}
	return nil
}

func (e *engine) feed(ed *edge, g int32, b *backend, at site.Spot) *fed {
	key := feedAt{g, at.Files()}
	k := ed.facts[key]
	if k == nil {
		k = &fed{at: at, b: b}
		ed.facts[key] = k
	}
	return k
}

// outputPath is where a producer's output lies for jobs at a spot: as
// recorded, else as declared.
func (e *engine) outputPath(ed *edge, producer int32, at site.Spot) string {
	if rec := e.st.Jobs[ed.from.Address(int(producer))]; rec != nil && rec.Status == state.Completed {
		if o := outputNamed(rec, ed.In.Output); o != nil {
			if p, ok := e.pathAt(rec, o, at); ok {
				return p
			}
		}
	}
	return haul.Absolute(at.Workdir, ed.from.OutputPath(int(producer), ed.In.Output, lang.Run))
}

func outputNamed(rec *state.Job, name string) *state.Output {
	for i := range rec.Outputs {
		if rec.Outputs[i].Name == name {
			return &rec.Outputs[i]
		}
	}
	return nil
}

// inputBytes are, by input, the digests of the bytes that a job reads.
func (e *engine) inputBytes(p *phase, cell int32) map[string]string {
	out := make(map[string]string, len(p.inputs))
	for _, ed := range p.inputs {
		g := ed.In.GroupOf(int(cell))
		text, ok := ed.bytes[int32(g)]
		if !ok {
			text = e.groupBytes(ed, g)
			if len(ed.In.Members(g)) >= keepPaths && !e.handingOver() {
				if ed.bytes == nil {
					ed.bytes = map[int32]string{}
				}
				ed.bytes[int32(g)] = text
			}
		}
		if text != "" {
			out[ed.In.Name] = text
		}
	}
	return out
}

func (e *engine) groupBytes(ed *edge, g int) string {
	members := ed.In.Members(g)
	digests := make([]string, len(members))
	for i, m := range members {
		if rec := e.st.Jobs[ed.from.Address(m)]; rec != nil {
			if o := outputNamed(rec, ed.In.Output); o != nil {
				digests[i] = o.Digest
			}
		}
	}
	return hashes.InputBytes(digests)
}

// inputsReady reports whether a cell's producers are all there.
func (e *engine) inputsReady(f *flight) bool { return f.p.Waits[f.cell] == 0 || e.handingOver() }

// inputsFound reports whether all that a flight reads is known to be where it
// runs.
func (e *engine) inputsFound(f *flight) bool {
	for _, ed := range f.p.inputs {
		glob := ed.globs()
		if !glob && e.together() || ed.Need[ed.In.GroupOf(int(f.cell))] > 0 {
			continue
		}
		k := ed.facts[feedAt{int32(ed.In.GroupOf(int(f.cell))), f.spot().Files()}]
		if k == nil || !k.here || glob && !k.known {
			return false
		}
	}
	return true
}

// inputsHere says whether a cell's inputs are where it is to run, and their
// paths known: started when they are. What lies elsewhere is moved, globs are
// looked up where they lie; the cell is parked meanwhile, and refused when
// they do not come.
func (e *engine) inputsHere(p *phase, cell int32, b *backend, pool string, smoke bool) verdict {
	for _, ed := range p.inputs {
		glob := ed.globs()
		if !glob && e.together() {
			continue
		}
		g := int32(ed.In.GroupOf(int(cell)))
		if ed.Need[g] > 0 {
			continue // handed over to come after them, on one queue
		}
		k := e.feed(ed, g, b, b.Spot(pool))
		if !k.here && !e.fetch(ed, g, k) {
			if k.broken != nil {
				e.refuseCell(p, cell, smoke, k.undelivered(ed))
				return refused
			}
			k.park(cell, smoke)
			return parked
		}
		if glob && !k.known {
			k.park(cell, smoke)
			e.askGlob(ed, g, k)
			return parked
		}
	}
	return started
}

// refuseCell holds a cell, or its smoke, that lacks what it needs.
func (e *engine) refuseCell(p *phase, cell int32, smoke bool, why string) {
	if !smoke {
		e.holdJob(p, cell, why)
		return
	}
	p.gate.Mark(cell, cells.Held)
	e.report.note(e, p.Address(int(cell)), "the smoke of "+p.Address(int(cell))+" is held: "+why, true)
}

func (ed *edge) globs() bool {
	out := sheet.OutputOf(ed.from.Phase, ed.In.Output, -1)
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

// askGlob resolves the patterns of one group where they are read.
func (e *engine) askGlob(ed *edge, g int32, k *fed) {
	if k.asking {
		return
	}
	k.asking = true
	var patterns []string
	for _, m := range ed.In.Members(int(g)) {
		patterns = append(patterns, e.outputPath(ed, int32(m), k.at))
	}
	var files []providers.FileInfo
	var err error
	b := k.b
	b.Call(func() {
		ctx, cancel := context.WithTimeout(e.ctx, line.AskTimeout)
		defer cancel()
		files, err = b.Provider.List(ctx, k.at.Name(), patterns)
	}, func() {
		if err != nil {
			if line.ClassOf(err) != "" {
				e.unreachable(b, err)
				e.later(line.BackoffMin*5, func() { k.asking = false; e.askGlob(ed, g, k) })
			}
			return
		}
		k.asking = false
		e.reachable(b)
		k.paths = k.paths[:0]
		for _, f := range files {
			if !f.Dir {
				k.paths = append(k.paths, f.Path)
			}
		}
		slices.Sort(k.paths)
		k.known = true
		e.unpark(ed.to, k)
	})
}

func (e *engine) unpark(p *phase, k *fed) {
	late := k.parked
	k.parked = nil
	for _, c := range late {
		if c < 0 {
			p.gate.Retry(-1 - c)
		} else if p.At[c] == cells.Pending {
			e.makeReady(p, c)
		}
	}
}

// asking reports whether some cell waits for an answer about its inputs.
func (e *engine) asking() bool {
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for _, k := range ed.facts {
				if k.asking {
					return true
				}
			}
		}
	}
	return false
}
