package apply

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// fed is what is known of one group of an edge on one backend: worked out
// once and shared by all its consumers.
type fed struct {
	backend *backend
	paths   []string
	bytes   string
	asking  bool
	known   bool
	parked  []int32
}

// keepPaths is the least number of producers from which a group's paths are
// kept: below it they are cheaper to work out again than to hold.
const keepPaths = 2

// inputPaths are the absolute paths of an input's files where the job runs,
// in key order.
func (e *engine) inputPaths(f *flight, name string) []string {
	for _, ed := range f.p.inputs {
		if ed.in.Name != name {
			continue
		}
		g := ed.in.GroupOf(int(f.cell))
		if k := ed.facts[int32(g)]; k != nil && k.known && k.backend == f.b {
			return k.paths
		}
		members := ed.in.Members(g)
		paths := make([]string, 0, len(members))
		for _, m := range members {
			paths = append(paths, e.outputPath(ed, int32(m), f.b))
		}
		if len(members) >= keepPaths && !e.handingOver() {
			ed.facts[int32(g)] = &fed{backend: f.b, paths: paths, known: true}
		}
		return paths
	}
	return nil
}

// outputPath is where a producer's output lies on a backend: as recorded,
// else as declared.
func (e *engine) outputPath(ed *edge, producer int32, b *backend) string {
	if rec := e.st.Jobs[ed.from.Address(int(producer))]; rec != nil {
		if o := outputNamed(rec, ed.in.Output); o != nil && rec.Status == state.Completed {
			if p, ok := placeOf(o, b); ok {
				return p
			}
		}
	}
	return absolute(b.conf.Workdir, ed.from.OutputPath(int(producer), ed.in.Output, lang.Run))
}

// placeOf is the path of an output on a backend, where it or a verified copy
// lies there.
func placeOf(o *state.Output, b *backend) (string, bool) {
	if o.Backend == b.name {
		workdir := o.Workdir
		if workdir == "" {
			workdir = b.conf.Workdir
		}
		return absolute(workdir, o.Path), true
	}
	for i := range o.Copies {
		if c := &o.Copies[i]; c.Backend == b.name && c.Digest == o.Digest {
			return absolute(b.conf.Workdir, c.Path), true
		}
	}
	return "", false
}

func outputNamed(rec *state.Job, name string) *state.Output {
	for i := range rec.Outputs {
		if rec.Outputs[i].Name == name {
			return &rec.Outputs[i]
		}
	}
	return nil
}

func absolute(workdir, p string) string {
	if path.IsAbs(p) || strings.HasPrefix(p, "~") {
		return p
	}
	return path.Join(workdir, p)
}

// inputBytes are, by input, the digests of the bytes that a job reads.
func (e *engine) inputBytes(p *phase, cell int32) map[string]string {
	out := make(map[string]string, len(p.inputs))
	for _, ed := range p.inputs {
		g := ed.in.GroupOf(int(cell))
		k := ed.facts[int32(g)]
		if k != nil && k.bytes != "" {
			out[ed.in.Name] = k.bytes
			continue
		}
		members := ed.in.Members(g)
		digests := make([]string, len(members))
		for i, m := range members {
			if rec := e.st.Jobs[ed.from.Address(m)]; rec != nil {
				if o := outputNamed(rec, ed.in.Output); o != nil {
					digests[i] = o.Digest
				}
			}
		}
		text := planner.InputBytes(digests)
		if text == "" {
			continue
		}
		out[ed.in.Name] = text
		if k != nil {
			k.bytes = text
		}
	}
	return out
}

// inputsReady reports whether a cell's producers are all there.
func (e *engine) inputsReady(f *flight) bool { return f.p.waits[f.cell] == 0 || e.handingOver() }

// inputsKnown reports whether the paths of a cell's inputs are known. Globs
// have to be looked up where they lie; the cell is parked meanwhile.
func (e *engine) inputsKnown(p *phase, cell int32, b *backend, smoke bool) bool {
	known := true
	for _, ed := range p.inputs {
		out := ed.from.output(ed.in.Output, -1)
		if out == nil || out.Kind != lang.Glob {
			continue
		}
		g := int32(ed.in.GroupOf(int(cell)))
		k := ed.facts[g]
		if k != nil && k.known && k.backend == b {
			continue
		}
		known = false
		if k == nil || k.backend != b {
			k = &fed{backend: b}
			ed.facts[g] = k
		}
		if smoke {
			k.parked = append(k.parked, -1-cell)
		} else {
			k.parked = append(k.parked, cell)
		}
		if !k.asking {
			k.asking = true
			e.askGlob(ed, g, k)
		}
		break
	}
	return known
}

// askGlob resolves the patterns of one group on the backend that reads them.
func (e *engine) askGlob(ed *edge, g int32, k *fed) {
	var patterns []string
	for _, m := range ed.in.Members(int(g)) {
		patterns = append(patterns, e.outputPath(ed, int32(m), k.backend))
	}
	var files []providers.FileInfo
	var err error
	b := k.backend
	e.call(b, func() {
		ctx, cancel := context.WithTimeout(e.ctx, askTimeout)
		defer cancel()
		files, err = b.p.List(ctx, b.name, patterns)
	}, func() {
		k.asking = false
		if err != nil {
			if classOf(err) != "" {
				e.unreachable(b, err)
				e.later(backoffMin*5, func() { k.asking = true; e.askGlob(ed, g, k) })
			}
			return
		}
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
	for _, c := range k.parked {
		if c < 0 {
			p.gate.retry(-1 - c)
		} else if p.at[c] == pending {
			e.makeReady(p, c)
		}
	}
	k.parked = nil
}

// asking reports whether some cell waits for an answer about its inputs.
func (e *engine) asking() bool {
	for _, p := range e.phases {
		for _, ed := range p.inputs {
			for _, k := range ed.facts {
				if k.asking || len(k.parked) > 0 {
					return true
				}
			}
		}
	}
	return false
}
