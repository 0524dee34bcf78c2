package lang

import (
	"github.com/muster-run/muster/lang/cells"
	"github.com/muster-run/muster/lang/syntax"
)

// smokeHead reads a smoke block, but for what it expects.
func (l *loader) smokeHead(p *phaseBuild, b *syntax.Block) *Smoke {
	told := len(l.Sure)
	s := &Smoke{Walltime: l.Duration(b, "walltime", -1), Range: b.Range}
	if s.Walltime == 0 && told == len(l.Sure) {
		l.Wrong(b.Expr("walltime"), "walltime", "A walltime is more than nothing.")
	}
	s.Walltime = max(0, s.Walltime)
	s.Forbid = l.Texts(b, "forbid")
	l.rerun.Forbidden(b, s.Forbid)
	s.Cells, s.Isolated, s.Parallel = cells.Pick(l.Reader, p.cells(), b), l.Bool(b, "isolated"), l.Bool(b, "parallel")
	if place := b.One("place"); place != nil {
		s.Candidates = l.backends.Candidates(place)
		if e := place.Expr("prefer"); e != nil {
			l.Wrong(e, "prefer", "A smoke runs on the cheapest pool of its environment class; name candidates only.")
		}
	}
	return s
}
