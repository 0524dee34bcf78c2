package lang

import (
	"github.com/muster-run/muster/lang/cells"
	"github.com/muster-run/muster/lang/syntax"
)

// Repeats of a smoke. Practice has two runs whose throughput agrees within 5 %.
const (
	defaultTolerance = 0.05
	mostRepeats      = 10
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
	s.Repeat, s.Tolerance = l.Integer(b, "repeat", 1, 1), l.Number(b, "tolerance", 0, 1, defaultTolerance)
	if s.Repeat > mostRepeats {
		l.Wrong(b.Expr("repeat"), "repeat", "A smoke is repeated at most %d times.", mostRepeats)
	}
	if b.Expr("tolerance") != nil && s.Repeat < 2 && !l.Broken {
		l.Wrong(b.Expr("tolerance"), "tolerance", "It compares repeats: write repeat = 2 beside it.")
	}
	s.MinThroughput = l.Number(b, "min_throughput", 0.01, 1, 0)
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
