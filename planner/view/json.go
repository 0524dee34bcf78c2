package view

import (
	"io"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/planfile"
)

// JSON prints a plan and its diagnostics as one document, its jobs one a line: the schema of
// planfile.Document with a member "diagnostics" and a member "valid", which is false when an
// error is among them.
func JSON(w io.Writer, p *planner.Plan, diags diag.List, sources diag.Sources) error {
	return planfile.WriteJSON(w, p, "", map[string]any{"diagnostics": diag.ToJSON(diags, sources), "valid": !diags.HasErrors()})
}
