package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// inputs resolves a job's inputs to producers.
func (pr *phaseReader) inputs(p *phaseBuild) {
	for _, b := range p.job.All("input") {
		if b.Expr("path") != nil {
			pr.rawInput(p, b)
			continue
		}
		if at := b.Expr("backend"); at != nil {
			pr.Wrong(at, "backend", "It names the backend that has the files of path = \"…\"; muster moves the outputs of phases by itself.")
		}
		if in := pr.input(b); in != nil {
			p.Inputs = append(p.Inputs, in)
		} else {
			p.ok = false
		}
	}
}

func (pr *phaseReader) input(b *syntax.Block) *Input {
	from, all := b.Expr("from"), b.Expr("from_all")
	switch {
	case from == nil && all == nil:
		if !pr.Broken {
			pr.Sure.Errorat(b.Range, "An input needs a producer", "Write from = phase.NAME.output.OUTPUT, or from_all for a list, or path = \"FILE\" for a file that no phase makes, in input %q.", b.Name())
		}
		return nil
	case from != nil && all != nil:
		pr.Sure.Errorat(b.Range, "from and from_all", "from means exactly one producer for each cell, from_all a list of any number. Keep one of them.")
		return nil
	}
	in := &Input{Name: b.Name(), All: all != nil, Range: b.Range}
	if !pr.least(in, b) {
		return nil
	}
	e := from
	if in.All {
		e = all
	}
	t, hds := hcl.AbsTraversalForExpr(e)
	parts := value.Names(t)
	if hds.HasErrors() || len(parts) != 4 || parts[0] != "phase" || parts[2] != "output" {
		if phase := indexed(e); phase != "" {
			pr.Wrong(e, "input", "Write phase.%s.output.OUTPUT without the index: each job reads the cell that has its own axis values. For other cells add match = { AXIS = VALUE }; from_all reads all of them.", phase)
		} else {
			pr.Wrong(e, "input", "Write an output of a phase: phase.NAME.output.OUTPUT.")
		}
		return nil
	}
	producer := pr.byName[parts[1]]
	if producer == nil {
		pr.unknownPhase(parts[1], e.Range())
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
		pr.Perhaps.Errorat(e.Range(), "Unknown output", "phase.%s has no output %q%s", producer.Name, wording.Clip(in.Output), wording.DidYouMean(in.Output, known))
		return nil
	case o.Shared:
		pr.Perhaps.Errorat(e.Range(), "A shared output cannot be an input", "The output %q of phase.%s is written by several jobs (shared = true), so no job can be said to have made it.", in.Output, producer.Name)
		return nil
	}
	return in
}

// indexed is the phase of which an expression selects a cell, phase.NAME[…], or "".
func indexed(e hcl.Expression) string {
	if whole, ok := e.(*hclsyntax.RelativeTraversalExpr); ok {
		e = whole.Source
	}
	if at, ok := e.(*hclsyntax.IndexExpr); ok {
		e = at.Collection
	}
	t, _ := hcl.AbsTraversalForExpr(e)
	if len(t) < 2 || t.RootName() != "phase" {
		return ""
	}
	if len(t) > 2 {
		if _, ok := t[2].(hcl.TraverseIndex); !ok {
			return ""
		}
	}
	return value.Names(t[:2])[1]
}

func (p *Phase) output(name string) *Output {
	for _, o := range p.Outputs {
		if o.Name == name {
			return o
		}
	}
	return nil
}
