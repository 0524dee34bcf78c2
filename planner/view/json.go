package view

import (
	"io"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/planfile"
)

// JSON prints a plan and what was found on the way as one document, its jobs
// one a line: the schema of planfile.Document with a member "diagnostics" and
// a member "valid", which is false when an error is among them.
func JSON(w io.Writer, p *planner.Plan, diags diag.List, sources diag.Sources) error {
	return planfile.WriteJSON(w, p, "", members(diags, sources))
}

// SavedJSON is JSON for a plan that is in a file.
func SavedJSON(w io.Writer, f *planfile.File, diags diag.List, sources diag.Sources) error {
	unnamed := *f
	unnamed.Head.Muster = ""
	return unnamed.WriteJSON(w, members(diags, sources))
}

func members(diags diag.List, sources diag.Sources) map[string]any {
	return map[string]any{"diagnostics": diag.ToJSON(diags, sources), "valid": !diags.HasErrors()}
}
