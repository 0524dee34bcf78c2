package lang

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/request"
)

// A Request is what like jobs ask of a backend.
type Request = request.Request

// Requests are the distinct requests of the phase; RequestOf is the index for
// a cell. The slice is shared.
func (p *Phase) Requests(v Variant) []Request { return p.job.form[v].asked.Distinct }

// RequestOf is the index into Requests of a cell.
func (p *Phase) RequestOf(i int, v Variant) int { return p.job.form[v].asked.Of(i) }

// requests tabulates the distinct requests of a phase.
func (l *loader) requests(p *phaseBuild, s *expr.Scope, f *form, v Variant) {
	jobs := request.Jobs{Phase: p.Name, Block: p.job, Grid: p.Grid, Known: p.ok, Candidates: p.Candidates, Overflow: p.Overflow, IsSmoke: v == SmokeRun,
		Compile: func(e hcl.Expression, what string) *expr.Template { return l.template(p, s, e, what) }}
	if p.Smoke != nil {
		jobs.Smoke = &request.Smoke{Walltime: p.Smoke.Walltime, Candidates: p.Smoke.Candidates}
	}
	f.asked = request.Read(l.Reader, l.backends, l.o.Schemas, jobs)
	p.Asks = f.asked.Asks
}
