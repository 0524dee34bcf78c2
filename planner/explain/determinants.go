package explain

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// determinants are all parts of a result hash: the campaign's text, the source,
// and the job's inputs, a field for each file.
func determinants(p *planner.Plan, pp *planner.PhasePlan, cell int, st *state.State, contents result.Contents) []lang.Field {
	out := pp.Phase.Fields(cell, lang.Run)
	if digest := contents.Cell(pp.Phase, lang.Run, result.Image, cell); digest != "" {
		at := slices.IndexFunc(out, func(f lang.Field) bool { return f.Name == "image" })
		out = slices.Insert(out, at+1, lang.Field{Name: "image.bytes", Text: digest})
	}
	if s := pp.Source; pp.Phase.Source != nil {
		text := fmt.Sprintf("%s, %s", s.Digest, units.Count(s.Files, "file"))
		if s.Commit != "" {
			text += ", commit " + change.Short(s.Commit)
			if s.Dirty {
				text += " with changes"
			}
		}
		out = append(out, lang.Field{Name: "source", Text: text})
	}
	for _, in := range pp.Phase.Inputs {
		from := p.Phase(in.From.Name)
		if from == nil {
			continue
		}
		read, _ := p.Reads(pp, in, cell)
		for _, m := range read {
			address := from.Phase.Address(m)
			text := address + ", result " + from.Result[m].String()
			if st != nil && st.Job(address) != nil {
				for _, o := range st.Job(address).Outputs {
					if o.Name == in.Output && o.Digest != "" {
						text = fmt.Sprintf("%s %s, of %s, result %s", o.Path, change.Short(o.Digest), address, from.Result[m])
					}
				}
			}
			out = append(out, lang.Field{Name: "input." + in.Name, Text: text})
		}
	}
	for _, in := range pp.Phase.Raw {
		for _, f := range pp.RawFiles(in, cell) {
			digest := "not digested yet"
			if f.Digest != "" {
				digest = f.Digest
			}
			out = append(out, lang.Field{Name: "input." + in.Name, Text: f.Path + " " + digest})
		}
	}
	return out
}
