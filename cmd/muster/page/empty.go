package page

import (
	"fmt"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// An EmptyOutput is a file of 0 bytes that a completed job left, where other jobs
// of its phase left more, or earlier runs did. Nothing asked for more than the file: verify is
// "exists" unless it says otherwise.
type EmptyOutput struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Path    string `json:"path"`
}

// emptyOutputs lists them.
func emptyOutputs(c *lang.Campaign, s selection.Jobs, st *state.State) []EmptyOutput {
	var out []EmptyOutput
	before := filledBefore(st)
	for _, p := range c.Phases {
		for _, o := range p.Outputs {
			if o.Kind == lang.File && !o.Shared {
				out = append(out, emptyOf(p, o.Name, s, st, before[phaseOutput{p.Name, o.Name}])...)
			}
		}
	}
	return out
}

// A phaseOutput is an output of all jobs of a phase.
type phaseOutput struct{ phase, name string }

// filledBefore are the outputs that had more than 0 bytes in a replaced result.
func filledBefore(st *state.State) map[phaseOutput]bool {
	out := map[phaseOutput]bool{}
	for _, list := range st.Replaced {
		for i := range list {
			j := &list[i].Job
			for k := range j.Outputs {
				if j.Outputs[k].Size > 0 {
					out[phaseOutput{j.Phase, j.Outputs[k].Name}] = true
				}
			}
		}
	}
	return out
}

func emptyOf(p *lang.Phase, name string, s selection.Jobs, st *state.State, filled bool) (empty []EmptyOutput) {
	for i := range p.Len() {
		j := st.Job(p.Address(i))
		if j == nil || j.Status != state.Completed {
			continue
		}
		for k := range j.Outputs {
			switch o := &j.Outputs[k]; {
			case o.Name != name || o.Missing:
			case o.Size > 0:
				filled = true
			case s.Has(j.Address):
				empty = append(empty, EmptyOutput{j.Address, name, o.Path})
			}
		}
	}
	if !filled {
		return nil // it may be meant to be empty
	}
	return empty
}

// emptyText is the warning about empty outputs, "" without any.
func emptyText(list []EmptyOutput) string {
	if len(list) == 0 {
		return ""
	}
	more := ""
	if len(list) > 1 {
		more = fmt.Sprintf(" and %d more", len(list)-1)
	}
	return fmt.Sprintf("%s of 0 bytes, where other or earlier jobs left more: %s of %s (%s)%s. If that is wrong, write verify = \"nonempty\" in the output, and run the job again with -rerun.",
		units.Count(len(list), "output"), list[0].Output, list[0].Address, term.CleanLine(list[0].Path), more)
}
