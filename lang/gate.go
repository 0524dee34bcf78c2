package lang

import (
	"github.com/muster-run/muster/lang/syntax"
)

// Repeats of a smoke. Practice has two runs whose throughput agrees within 5 %.
const (
	defaultTolerance = 0.05
	mostRepeats      = 10
)

// smokeHead reads a smoke block without its expectations.
func (pr *phaseReader) smokeHead(p *phaseBuild, b *syntax.Block) *Smoke {
	told := len(pr.Sure)
	s := &Smoke{Walltime: pr.Duration(b, "walltime", -1)}
	if s.Walltime == 0 && told == len(pr.Sure) {
		pr.Wrong(b.Expr("walltime"), "walltime", "A walltime is more than nothing.")
	}
	s.Walltime = max(0, s.Walltime)
	s.Forbid = pr.Texts(b, "forbid")
	s.Repeat, s.Tolerance = pr.Integer(b, "repeat", 1, 1), pr.Number(b, "tolerance", 0, 1, defaultTolerance)
	if s.Repeat > mostRepeats {
		pr.Wrong(b.Expr("repeat"), "repeat", "A smoke is repeated at most %d times.", mostRepeats)
	}
	if b.Expr("tolerance") != nil && s.Repeat < 2 && !pr.Broken {
		pr.Wrong(b.Expr("tolerance"), "tolerance", "It compares repeats: write repeat = 2 beside it.")
	}
	s.MinThroughput = pr.Number(b, "min_throughput", 0.01, 1, 0)
	pr.rerun.Forbidden(b, s.Forbid)
	if s.ResumeDrill = pr.Bool(b, "resume_drill"); s.ResumeDrill && !pr.Broken {
		pr.drill(p, b)
	}
	s.Cells, s.Isolated, s.Parallel = pickCells(pr.Reader, p, b), pr.Bool(b, "isolated"), pr.Bool(b, "parallel")
	if c := b.One("canary"); c != nil && len(s.Cells) > 0 {
		pr.canary(b, c)
		s.Canary = &Canary{Cell: s.Cells[len(s.Cells)-1]}
	}
	if place := b.One("place"); place != nil {
		s.Candidates = pr.backends.Candidates(place)
		if e := place.Expr("prefer"); e != nil {
			pr.Wrong(e, "prefer", "A smoke runs on the cheapest pool of its environment class; name candidates only.")
		}
	}
	return s
}

// canary reports a canary that would be the smoke once more.
func (pr *phaseReader) canary(smoke, b *syntax.Block) {
	if e := b.Expr("params"); e != nil && len(paramEntries(pr.Reader, b)) == 0 && !pr.Broken {
		pr.Wrong(e, "params", "A canary runs longer than its smoke: name the params that make it longer. To run the smoke twice, write repeat = 2 in it.")
	}
}

// drill reports a drill that could not be run, or would prove nothing.
func (pr *phaseReader) drill(p *phaseBuild, b *syntax.Block) {
	at := b.Expr("resume_drill")
	switch launcher := p.job.Expr("launcher"); {
	case p.Checkpoint == nil:
		pr.Wrong(at, "resume_drill", "phase.%s has no checkpoint to resume from: add a checkpoint block with a path.", p.Name)
	case p.Checkpoint.Kind == Glob:
		pr.Wrong(at, "resume_drill", "A drill watches one file or folder: write path in place of glob in checkpoint.")
	case launcher != nil:
		pr.Wrong(at, "resume_drill", "A drill ends and launches a command on one node, and launcher starts it on all. Take one of them out.")
	case len(b.All("expect")) == 0:
		pr.Wrong(at, "resume_drill", "muster cannot see the steps of a program: write an expect that fails if the second launch began again, such as expect { condition = metric.first_step > 0 }.")
	}
}
