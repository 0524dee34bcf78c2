package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/cells"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// moves reads the moved blocks: the old name is gone, the new one is there.
func (l *loader) moves() {
	from := map[string]hcl.Range{}
	to := map[string]hcl.Range{}
	for _, b := range l.top.All("moved") {
		f, ok1 := l.jobAddress(b, "from")
		t, ok2 := l.jobAddress(b, "to")
		if !ok1 || !ok2 {
			continue
		}
		m := Moved{From: f.String(), To: t.String(), Range: b.Range}
		switch {
		case m.From == m.To:
			l.Sure.Errorat(b.Range, "Nothing is moved", "from and to are both %s.", m.From)
		case f.Key == "" && t.Key != "" || f.Key != "" && t.Key == "":
			if !l.keyless(f) && !l.keyless(t) {
				l.Sure.Errorat(b.Range, "A phase and a job", "%s and %s differ in kind: move a phase to a phase, or a job to a job.", m.From, m.To)
			}
		}
		if at, twice := from[m.From]; twice {
			l.Sure.Errorat(b.Range, "Moved twice", "%s is moved already at %s line %d.", m.From, at.Filename, at.Start.Line)
		}
		if at, twice := to[m.To]; twice {
			l.Sure.Errorat(b.Range, "Two moves to one address", "Something is moved to %s already at %s line %d.", m.To, at.Filename, at.Start.Line)
		}
		from[m.From], to[m.To] = b.Range, b.Range
		if l.there(f) {
			l.Perhaps.Errorat(b.Expr("from").Range(), "The old address is still there", "%s is in the campaign, so nothing can have moved away from it. Rename the phase, or take this block out.", m.From)
		}
		l.exists(t, b.Expr("to").Range(), m.To)
		l.c.Moved = append(l.c.Moved, m)
	}
	l.moveCycles()
}

// moveCycles tells moves that lead back to where they began.
func (l *loader) moveCycles() {
	next := map[string]string{}
	for _, m := range l.c.Moved {
		next[m.From] = m.To
	}
	told := map[string]bool{}
	for _, m := range l.c.Moved {
		path := []string{m.From}
		for at, ok := next[m.From]; ok && !told[at] && len(path) <= len(next); at, ok = next[at] {
			path = append(path, at)
			if at == m.From && len(path) > 2 {
				l.Sure.Errorat(m.Range, "Moves in a circle", "%s: nothing could be found at the end. Take one of these blocks out.", strings.Join(path, " → "))
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
func (l *loader) keyless(j addr.Job) bool {
	p := l.phases[j.Phase]
	return j.Key == "" && (p == nil || len(p.Grid.Axes) == 0)
}

// there reports whether an address is in the campaign.
func (l *loader) there(j addr.Job) bool {
	p := l.phases[j.Phase]
	if p == nil || j.Key == "" {
		return p != nil
	}
	_, ok := p.Index(j.Key)
	return ok && p.ok
}

// exists tells an address that is not in the campaign.
func (l *loader) exists(j addr.Job, at hcl.Range, text string) bool {
	p := l.phases[j.Phase]
	if p == nil {
		// A chain of moves ends at a phase that is there.
		chained := slices.ContainsFunc(l.top.All("moved"), func(b *syntax.Block) bool {
			f, ok := l.peekAddress(b)
			return ok && f.Phase == j.Phase
		})
		if !chained {
			l.unknownPhase(j.Phase, at)
		}
		return chained
	}
	if j.Key == "" || !p.ok {
		return true
	}
	if _, ok := p.Index(j.Key); !ok {
		l.Perhaps.Errorat(at, "No such job", "phase.%s has no job %s; its jobs are %s.", j.Phase, text, listJobs(p.Phase, cells.All(min(p.Len(), mostCandidates+1))))
		return false
	}
	return true
}

func (l *loader) peekAddress(b *syntax.Block) (addr.Job, bool) {
	e := b.Expr("from")
	if e == nil {
		return addr.Job{}, false
	}
	t, hds := hcl.AbsTraversalForExpr(e)
	if hds.HasErrors() {
		return addr.Job{}, false
	}
	return addressOf(t)
}

// jobAddress reads phase.NAME or phase.NAME["key"].
func (l *loader) jobAddress(b *syntax.Block, name string) (addr.Job, bool) {
	e := b.Expr(name)
	if e == nil {
		return addr.Job{}, false
	}
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() && t.RootName() == "phase" {
		if j, ok := addressOf(t); ok {
			return j, true
		}
	} else if v, ok := l.Eval(e); ok {
		if text, err := value.Text(v); err == nil {
			if j, err := addr.Parse(text); err == nil {
				return j, true
			}
		}
	} else {
		return addr.Job{}, false
	}
	l.Wrong(e, name, "An address is phase.NAME or phase.NAME[\"axis=value,…\"].")
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

// imports reads the import blocks.
func (l *loader) imports() {
	seen := map[string]hcl.Range{}
	for _, b := range l.top.All("import") {
		to, ok := l.jobAddress(b, "to")
		x := Import{To: to.String(), ID: l.Text(b, "id"), Range: b.Range}
		if e := b.Expr("id"); e != nil && strings.TrimSpace(x.ID) == "" {
			if v, known := l.Peek(e, nil); known && !v.IsNull() {
				l.Wrong(e, "id", "The id is empty: write the backend's own id of the job, such as \"1234567_3\".")
			}
		}
		if e := b.Expr("backend"); e != nil && l.backends.Exist(e, "backend") {
			if v, known := l.Eval(e, l.backends.Values()); known {
				text, err := value.Text(v)
				x.Backend = strings.TrimPrefix(text, "backend.")
				if err != nil || !slices.Contains(l.backends.Names, x.Backend) {
					l.Perhaps.Errorat(e.Range(), "Unknown backend", "There is no backend %q%s Declared: %s.", wording.Clip(text), wording.DidYouMean(text, l.backends.Names), strings.Join(l.backends.Names, ", "))
				}
			}
		}
		if !ok || !l.exists(to, b.Expr("to").Range(), x.To) {
			continue
		}
		if p := l.phases[to.Phase]; to.Key == "" && p != nil && len(p.Grid.Axes) > 0 {
			l.Wrong(b.Expr("to"), "to", "phase.%s has %d jobs; name one: %s.", to.Phase, p.Len(), listJobs(p.Phase, cells.All(min(p.Len(), 1))))
		}
		if at, twice := seen[x.To]; twice {
			l.Sure.Errorat(b.Range, "Imported twice", "%s is imported already at %s line %d.", x.To, at.Filename, at.Start.Line)
		}
		seen[x.To] = b.Range
		l.c.Imports = append(l.c.Imports, x)
	}
}
