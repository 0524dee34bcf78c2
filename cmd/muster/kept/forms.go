package kept

import (
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state/glance"
)

// Forms are how a plan looks in each of the ways it can be asked for: where it
// was made of a glance at the state, or is shown again, they are all there is.
type Forms struct {
	Text, Markdown string
	File           *planfile.File // JSON is made of it, too; nil where nobody asked for it
}

// formsOf are the forms of a plan that was made of a glance.
func (q Asked) formsOf(p *planner.Plan, meta planfile.Meta, seen *glance.Glance) (*Forms, error) {
	var f Forms
	var err error
	if f.Text, err = Text(p, q.Style, false); err != nil {
		return nil, err
	}
	var markdown strings.Builder
	if err := view.Markdown(&markdown, p); err != nil {
		return nil, err
	}
	f.Markdown = markdown.String()
	seen.Number()
	data, err := planfile.Encode(p, meta)
	if err != nil {
		return nil, err
	}
	f.File, err = planfile.Decode(data)
	return &f, err
}

// Text is a plan as people see it; verbose shows every job.
func Text(p *planner.Plan, style term.Style, verbose bool) (string, error) {
	var b strings.Builder
	b.WriteByte('\n')
	err := view.Human{Style: style, Verbose: verbose}.Print(&b, p)
	return b.String(), err
}
