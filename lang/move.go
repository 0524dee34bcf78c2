package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
)

// moves reads the moved blocks: the old name is gone, the new one is there.
func (l *loader) moves() {
	from := map[string]hcl.Range{}
	to := map[string]hcl.Range{}
	for _, b := range l.top.all("moved") {
		f, ok1 := l.jobAddress(b, "from")
		t, ok2 := l.jobAddress(b, "to")
		if !ok1 || !ok2 {
			continue
		}
		m := Moved{From: f.String(), To: t.String(), Range: b.rng}
		switch {
		case m.From == m.To:
			l.sure.Errorat(b.rng, "Nothing is moved", "from and to are both %s.", m.From)
		case f.Key == "" && t.Key != "" || f.Key != "" && t.Key == "":
			if !l.keyless(f) && !l.keyless(t) {
				l.sure.Errorat(b.rng, "A phase and a job", "%s and %s differ in kind: move a phase to a phase, or a job to a job.", m.From, m.To)
			}
		}
		if at, twice := from[m.From]; twice {
			l.sure.Errorat(b.rng, "Moved twice", "%s is moved already at %s line %d.", m.From, at.Filename, at.Start.Line)
		}
		if at, twice := to[m.To]; twice {
			l.sure.Errorat(b.rng, "Two moves to one address", "Something is moved to %s already at %s line %d.", m.To, at.Filename, at.Start.Line)
		}
		from[m.From], to[m.To] = b.rng, b.rng
		if l.there(f) {
			l.ds.Errorat(b.expr("from").Range(), "The old address is still there", "%s is in the campaign, so nothing can have moved away from it. Rename the phase, or take this block out.", m.From)
		}
		l.exists(t, b.expr("to").Range(), m.To)
		l.c.Moved = append(l.c.Moved, m)
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
		chained := slices.ContainsFunc(l.top.all("moved"), func(b *block) bool {
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
		l.ds.Errorat(at, "No such job", "phase.%s has no job %s; its jobs are %s.", j.Phase, text, listJobs(p.Phase, upTo(min(p.Len(), mostCandidates+1))))
		return false
	}
	return true
}

func (l *loader) peekAddress(b *block) (addr.Job, bool) {
	e := b.expr("from")
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
func (l *loader) jobAddress(b *block, name string) (addr.Job, bool) {
	e := b.expr(name)
	if e == nil {
		return addr.Job{}, false
	}
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() && t.RootName() == "phase" {
		if j, ok := addressOf(t); ok {
			return j, true
		}
	} else if v, ok := l.eval(e); ok {
		if text, err := asText(v); err == nil {
			if j, err := addr.Parse(text); err == nil {
				return j, true
			}
		}
	} else {
		return addr.Job{}, false
	}
	l.wrong(e, name, "An address is phase.NAME or phase.NAME[\"axis=value,…\"].")
	return addr.Job{}, false
}

func addressOf(t hcl.Traversal) (addr.Job, bool) {
	parts := attrNames(t)
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
	for _, b := range l.top.all("import") {
		to, ok := l.jobAddress(b, "to")
		x := Import{To: to.String(), ID: l.text(b, "id"), Range: b.rng}
		if e := b.expr("backend"); e != nil && l.backendsExist(e, "backend") {
			if v, known := l.eval(e, l.backendValues()); known {
				text, err := asText(v)
				x.Backend = strings.TrimPrefix(text, "backend.")
				if err != nil || !contains(l.backendNames, x.Backend) {
					l.ds.Errorat(e.Range(), "Unknown backend", "There is no backend %q%s Declared: %s.", clip(text), didYouMean(text, l.backendNames), strings.Join(l.backendNames, ", "))
				}
			}
		}
		if !ok || !l.exists(to, b.expr("to").Range(), x.To) {
			continue
		}
		if p := l.phases[to.Phase]; to.Key == "" && p != nil && len(p.Grid.Axes) > 0 {
			l.wrong(b.expr("to"), "to", "phase.%s has %d jobs; name one: %s.", to.Phase, p.Len(), listJobs(p.Phase, upTo(min(p.Len(), 1))))
		}
		if at, twice := seen[x.To]; twice {
			l.sure.Errorat(b.rng, "Imported twice", "%s is imported already at %s line %d.", x.To, at.Filename, at.Start.Line)
		}
		seen[x.To] = b.rng
		l.c.Imports = append(l.c.Imports, x)
	}
}
