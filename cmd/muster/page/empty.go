package page

import (
	"fmt"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// An EmptyOutput is a file of 0 bytes that a completed job left, where other jobs
// of its phase left more. Nothing asked for more than the file: verify is
// "exists" unless it says otherwise.
type EmptyOutput struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Path    string `json:"path"`
}

// emptyOutputs lists them; record gives a job's record, nil if it has none.
func emptyOutputs(c *lang.Campaign, s chosen.Jobs, record func(address string) *state.Job) []EmptyOutput {
	var out []EmptyOutput
	for _, p := range c.Phases {
		for _, o := range p.Outputs {
			if o.Kind == lang.File && !o.Shared {
				out = append(out, emptyOf(p, o.Name, s, record)...)
			}
		}
	}
	return out
}

func emptyOf(p *lang.Phase, name string, s chosen.Jobs, record func(string) *state.Job) (empty []EmptyOutput) {
	filled := false
	for i := range p.Len() {
		j := record(p.Address(i))
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
	return fmt.Sprintf("%s of 0 bytes, where other jobs of the phase left more: %s of %s (%s)%s. If that is wrong, write verify = \"nonempty\" in the output, and run the job again with -rerun.",
		units.Count(len(list), "output"), list[0].Output, list[0].Address, term.CleanLine(list[0].Path), more)
}
