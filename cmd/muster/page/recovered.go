package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Recovery is the JSON of `muster recover -json`: what backends have of a campaign whose
// state is lost.
type Recovery struct {
	FormatVersion string            `json:"format_version"`
	Campaign      string            `json:"campaign"`
	Phases        []RecoveredPhase  `json:"phases"`
	Found         int               `json:"found"`          // jobs whose outputs are all there
	Adopted       int               `json:"adopted"`        // of these, recorded
	Busy          []string          `json:"busy,omitempty"` // machines where jobs of this user run now, in words
	Writers       []string          `json:"writers"`        // campaigns and states that wrote to these folders, in words
	Unreachable   map[string]string `json:"unreachable,omitempty"`
	Unknown       []string          `json:"unknown"` // what no backend can tell
}

// A RecoveredPhase counts the jobs found of a phase.
type RecoveredPhase struct {
	Phase     string `json:"phase"`
	Jobs      int    `json:"jobs"`
	Completed int    `json:"completed"` // as the state has it
	Found     int    `json:"found"`
	Young     int    `json:"young"`   // all there, and changed in the last ten minutes: left alone
	Outputs   bool   `json:"outputs"` // false: it declares none, so that nothing shows that a job is done
}

// RecoveryOf is what a plan that adopts whatever is there would adopt.
// Young counts, by phase, the jobs of which files changed lately.
func RecoveryOf(name string, p *planner.Plan, seen observed.Refresh, pools []offer.Pool, young map[string]int) Recovery {
	r := Recovery{FormatVersion: FormatVersion, Campaign: name, Phases: []RecoveredPhase{}, Writers: []string{}, Unreachable: seen.Unreachable}
	bare := false
	for _, pp := range p.Phases {
		ph := RecoveredPhase{Phase: pp.Phase.Name, Jobs: len(pp.Kind), Young: young[pp.Phase.Name], Outputs: len(pp.Phase.Outputs) > 0}
		for _, k := range pp.Kind {
			switch k {
			case planner.AdoptFiles:
				ph.Found++
			case planner.None:
				ph.Completed++
			}
		}
		bare = bare || !ph.Outputs
		r.Found += ph.Found
		r.Phases = append(r.Phases, ph)
	}
	for _, g := range seen.Ground {
		for _, words := range g.Campaigns {
			if !slices.Contains(r.Writers, words) {
				r.Writers = append(r.Writers, words)
			}
		}
	}
	slices.Sort(r.Writers)
	for _, p := range pools {
		if n := p.Total - p.Idle - p.Others; (p.Kind == offer.MachinePool || p.Kind == offer.HostPool) && p.Idle >= 0 && n > 0 {
			r.Busy = append(r.Busy, fmt.Sprintf("jobs of yours use %d of %d slots of backend.%s now", n, p.Total, providers.At(p.Backend, p.Name)))
		}
	}
	r.Unknown = []string{"whether jobs that the lost state started still run or wait in a queue", "with which command, source and inputs these files were made: they count as made by the campaign as it is now",
		"past spending, retries, times and approvals: budgets count from nothing", "smokes that passed"}
	if bare {
		r.Unknown = append(r.Unknown, "which jobs of phases without declared outputs are done")
	}
	return r
}

// Text is the page before the question.
func (r Recovery) Text(width int) string {
	var b strings.Builder
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	for _, ph := range r.Phases {
		text := "no output is declared"
		if ph.Outputs {
			text = fmt.Sprintf("all outputs of %s exist", units.Count(ph.Found, "job"))
		}
		if ph.Young > 0 {
			text += fmt.Sprintf("; those of %s changed in the last ten minutes and are left alone", units.Count(ph.Young, "job"))
		}
		if ph.Completed > 0 {
			text = fmt.Sprintf("%d recorded; %s", ph.Completed, text)
		}
		t.Row("phase."+ph.Phase, units.Count(ph.Jobs, "job"), text)
	}
	b.WriteString("\nFound:\n\n" + t.String())
	for _, words := range r.Busy {
		b.WriteString(wrapped("  ", "  ", words, width))
	}
	for _, words := range r.Writers {
		b.WriteString(wrapped("  ", "  ", term.CleanLine(words)+" wrote to these folders", width))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unreachable)) {
		b.WriteString(wrapped("  ", "  ", fmt.Sprintf("backend.%s cannot be asked: %s", name, term.CleanLine(r.Unreachable[name])), width))
	}
	b.WriteString("\nNo backend knows:\n\n")
	for _, text := range r.Unknown {
		b.WriteString(wrapped("  - ", "    ", text, width))
	}
	b.WriteString("\n")
	return b.String()
}

// Ending is the last paragraph: the adopted jobs, and the next step.
func (r Recovery) Ending(width int) string {
	jobs := 0
	for _, ph := range r.Phases {
		jobs += ph.Jobs - ph.Completed
	}
	return wrapped("", "", fmt.Sprintf("Adopted %d of %s, and set a hold on everything: the jobs of the lost state may still run.", r.Adopted, units.Count(jobs, "job")), width) + `
Look for them where they ran (squeue, muster backends). While some run, wait, and type muster
recover again: it adopts their outputs. When none runs:

    muster resume
    muster plan
`
}
