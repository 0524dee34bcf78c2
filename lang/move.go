package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
)

// An addressReader reads blocks that name jobs by address.
type addressReader struct {
	*phases
	backends *backends.Set
}

// moves reads the moved blocks: the old name is gone, the new one is there.
func (ar *addressReader) moves(blocks []*syntax.Block) (out []Moved) {
	from := map[string]hcl.Range{}
	to := map[string]hcl.Range{}
	var targets []*syntax.Block
	for _, b := range blocks {
		f, ok1 := ar.jobAddress(b, "from")
		t, ok2 := ar.jobAddress(b, "to")
		if !ok1 || !ok2 {
			continue
		}
		m := Moved{From: f.String(), To: t.String(), Range: b.Range}
		switch {
		case m.From == m.To:
			ar.Sure.Errorat(b.Range, "Nothing is moved", "from and to are both %s.", m.From)
		case f.Key == "" && t.Key != "" || f.Key != "" && t.Key == "":
			if !ar.keyless(f) && !ar.keyless(t) {
				ar.Sure.Errorat(b.Range, "A phase and a job", "%s and %s differ in kind: move a phase to a phase, or a job to a job.", m.From, m.To)
			}
		}
		if at, twice := from[m.From]; twice {
			ar.Sure.Errorat(b.Range, "Moved twice", "%s is moved already at %s line %d.", m.From, at.Filename, at.Start.Line)
		}
		if at, twice := to[m.To]; twice {
			ar.Sure.Errorat(b.Range, "Two moves to one address", "Something is moved to %s already at %s line %d.", m.To, at.Filename, at.Start.Line)
		}
		from[m.From], to[m.To] = b.Range, b.Range
		if ar.there(f) {
			ar.Perhaps.Errorat(b.Expr("from").Range(), "The old address is still there", "%s is in the campaign, so nothing can have moved away from it. Rename the phase, or take this block out.", m.From)
		}
		out, targets = append(out, m), append(targets, b)
	}
	ar.moveCycles(out)
	all := ar.gone(out)
	for i, m := range out {
		ar.exists(m.To, targets[i].Expr("to").Range(), all)
	}
	return out
}

// gone are the moves whose old address is gone, as it must be.
func (ar *addressReader) gone(moves []Moved) Moves {
	return MovesOf(slices.DeleteFunc(slices.Clone(moves), func(m Moved) bool {
		j, err := addr.Parse(m.From)
		return err != nil || ar.there(j)
	}))
}

// moveCycles reports moves that lead back to where they began.
func (ar *addressReader) moveCycles(moves []Moved) {
	next := map[string]string{}
	for _, m := range moves {
		next[m.From] = m.To
	}
	told := map[string]bool{}
	for _, m := range moves {
		path := []string{m.From}
		for at, ok := next[m.From]; ok && !told[at] && len(path) <= len(next); at, ok = next[at] {
			path = append(path, at)
			if at == m.From && len(path) > 2 {
				ar.Sure.Errorat(m.Range, "Moves in a circle", "%s: nothing could be found at the end. Take one of these blocks out.", strings.Join(path, " → "))
				for _, name := range path {
					told[name] = true
				}
				break
			}
		}
	}
}

// keyless reports whether an address without a key is a whole job: that of a
// phase without a grid.
func (ar *addressReader) keyless(j addr.Job) bool {
	p := ar.byName[j.Phase]
	return j.Key == "" && (p == nil || len(p.Grid.Axes) == 0)
}

// there reports whether an address is in the campaign.
func (ar *addressReader) there(j addr.Job) bool {
	p := ar.byName[j.Phase]
	if p == nil || j.Key == "" {
		return p != nil
	}
	_, ok := p.Index(j.Key)
	return ok && p.ok
}

// exists reports an address that is not in the campaign, and which moved blocks do not lead
// to one that is.
func (ar *addressReader) exists(text string, at hcl.Range, moved Moves) bool {
	end, last := moved.Follow(text)
	if _, on := moved[end]; on {
		return true // a circle, which is reported
	}
	j, err := addr.Parse(end)
	if err != nil {
		return true // it was reported where it is written
	}
	p := ar.byName[j.Phase]
	switch {
	case p == nil:
		ar.unknownPhase(j.Phase, at)
		return false
	case j.Key == "" || !p.ok:
		return true
	}
	if _, ok := p.Index(j.Key); !ok {
		on := ""
		if end != text {
			on = fmt.Sprintf("The block at %s line %d moves it on to %s. ", last.Range.Filename, last.Range.Start.Line, end)
		}
		ar.Perhaps.Errorat(at, "No such job", "%sphase.%s has no job %s; its jobs are %s.", on, j.Phase, end, listJobs(p.Phase, firstCells(min(p.Len(), mostCandidates+1))))
		return false
	}
	return true
}

// jobAddress reads phase.NAME or phase.NAME["key"].
func (ar *addressReader) jobAddress(b *syntax.Block, name string) (addr.Job, bool) {
	e := b.Expr(name)
	if e == nil {
		return addr.Job{}, false
	}
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() && t.RootName() == "phase" {
		if j, ok := addressOf(t); ok {
			return j, true
		}
	} else if v, ok := ar.Eval(e); ok {
		if text, err := value.Text(v); err == nil {
			if j, err := addr.Parse(text); err == nil {
				return j, true
			}
		}
	} else {
		return addr.Job{}, false
	}
	ar.Wrong(e, name, "An address is phase.NAME or phase.NAME[\"axis=value,…\"].")
	return addr.Job{}, false
}

func addressOf(t hcl.Traversal) (addr.Job, bool) {
	parts := value.Names(t)
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "phase" {
		return addr.Job{}, false
	}
	j := addr.Job{Phase: parts[1]}
	if len(parts) == 3 {
		pairs, err := addr.ParseKey(parts[2])
		if err != nil {
			return addr.Job{}, false
		}
		slices.SortFunc(pairs, func(a, b addr.Pair) int { return strings.Compare(a.Axis, b.Axis) })
		j.Key = addr.JoinKey(pairs)
	}
	return j, true
}

// importable reports an import that cannot adopt its target: whole says that it names several
// jobs.
func (ar *addressReader) importable(b *syntax.Block, p *phaseBuild, whole bool) {
	if b.Expr("id") != nil {
		if b.Expr("backend") == nil {
			ar.Sure.Errorat(b.Range, "An import without its backend", "The id of a job means nothing without the backend that gave it: write backend = backend.TYPE.NAME.")
		}
		if whole {
			ar.Wrong(b.Expr("to"), "to", "phase.%s has %d jobs; name one: %s.", p.Name, p.Len(), listJobs(p.Phase, firstCells(min(p.Len(), 1))))
		}
		return
	}
	if len(p.Outputs) == 0 {
		ar.Sure.Errorat(b.Range, "An import without files", "phase.%s declares no output, so there are no files to adopt: declare what its jobs leave behind.", p.Name)
	}
	for _, o := range p.Outputs {
		if o.Shared {
			ar.Sure.Errorat(b.Range, "An import of a shared file", "Several jobs of phase.%s write its output %s, so muster cannot assign the file to one of them.", p.Name, o.Name)
		}
	}
}

// imports reads the import blocks.
func (ar *addressReader) imports(blocks []*syntax.Block, moves []Moved) (out []Import) {
	moved := ar.gone(moves)
	seen := map[string]hcl.Range{}
	for _, b := range blocks {
		to, ok := ar.jobAddress(b, "to")
		x := Import{To: to.String(), ID: ar.Text(b, "id"), Range: b.Range}
		if e := b.Expr("id"); e != nil && strings.TrimSpace(x.ID) == "" {
			if v, known := ar.Peek(e, nil); known && !v.IsNull() {
				ar.Wrong(e, "id", "The id is empty: write the backend's own id of the job, such as \"1234567_3\".")
			}
		}
		x.Backend = ar.backends.Place(b, "backend")
		if !ok || !ar.exists(x.To, b.Expr("to").Range(), moved) {
			continue
		}
		if p := ar.byName[to.Phase]; p != nil && p.ok {
			ar.importable(b, p, to.Key == "" && len(p.Grid.Axes) > 0)
		}
		if at, twice := seen[x.To]; twice {
			ar.Sure.Errorat(b.Range, "Imported twice", "%s is imported already at %s line %d.", x.To, at.Filename, at.Start.Line)
		}
		seen[x.To] = b.Range
		out = append(out, x)
	}
	return out
}
