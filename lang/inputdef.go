package lang

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// inputs resolves a job's inputs to producers.
func (l *loader) inputs(p *phaseBuild) {
	for _, b := range p.job.All("input") {
		if b.Expr("path") != nil {
			l.rawInput(p, b)
			continue
		}
		if in := l.input(p, b); in != nil {
			p.Inputs = append(p.Inputs, in)
		} else {
			p.ok = false
		}
	}
}

func (l *loader) input(p *phaseBuild, b *syntax.Block) *Input {
	from, all := b.Expr("from"), b.Expr("from_all")
	switch {
	case from == nil && all == nil:
		if !l.Broken {
			l.Sure.Errorat(b.Range, "An input needs a producer", "Write from = phase.NAME.output.OUTPUT, or from_all for a list, or path = \"FILE\" for a file that no phase makes, in input %q.", b.Name())
		}
		return nil
	case from != nil && all != nil:
		l.Sure.Errorat(b.Range, "from and from_all", "from means exactly one producer for each cell, from_all a list of any number. Keep one of them.")
		return nil
	}
	in := &Input{Name: b.Name(), All: all != nil, Range: b.Range}
	e := from
	if in.All {
		e = all
	}
	t, hds := hcl.AbsTraversalForExpr(e)
	parts := value.Names(t)
	if hds.HasErrors() || len(parts) != 4 || parts[0] != "phase" || parts[2] != "output" {
		l.Wrong(e, "input", "An input is a static reference, phase.NAME.output.OUTPUT.")
		return nil
	}
	producer := l.phases[parts[1]]
	if producer == nil {
		l.unknownPhase(parts[1], e.Range())
		return nil
	}
	in.From, in.Output = producer.Phase, parts[3]
	o := producer.output(in.Output)
	switch {
	case o == nil:
		var known []string
		for _, o := range producer.Outputs {
			known = append(known, o.Name)
		}
		l.Perhaps.Errorat(e.Range(), "Unknown output", "phase.%s has no output %q%s", producer.Name, wording.Clip(in.Output), wording.DidYouMean(in.Output, known))
		return nil
	case o.Shared:
		l.Perhaps.Errorat(e.Range(), "A shared output feeds nobody", "The output %q of phase.%s is written by several jobs (shared = true), so no job can be said to have made it.", in.Output, producer.Name)
		return nil
	}
	return in
}

func (p *Phase) output(name string) *Output {
	for _, o := range p.Outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}
