package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// A Comparison is the JSON of `muster plan -compare=RUN -json`: the differences from
// the completed jobs of another run.
type Comparison struct {
	FormatVersion string          `json:"format_version"`
	Type          string          `json:"type"` // "comparison"
	Campaign      string          `json:"campaign"`
	Run           string          `json:"run"`
	RunCampaign   string          `json:"run_campaign"`
	RunLineage    string          `json:"run_lineage"`
	Phases        []comparedPhase `json:"phases"`
}

// A comparedPhase counts its jobs by their relation to the other run.
type comparedPhase struct {
	Phase   string       `json:"phase"`
	Same    int          `json:"same"`
	Differ  int          `json:"differ"`
	New     int          `json:"new"` // not completed there
	Changes []difference `json:"changes,omitempty"`
}

// A Difference is one changed attribute of some jobs.
type difference struct {
	Field string `json:"field"`
	Text  string `json:"text"` // of the first job
	Jobs  int    `json:"jobs"`
	First string `json:"first"`
}

// CompareOf reads a plan that was made with the other run's state.
func CompareOf(campaign, run string, other *state.State, p *planner.Plan) Comparison {
	c := Comparison{FormatVersion: FormatVersion, Type: "comparison", Campaign: campaign, Run: run, RunCampaign: other.Campaign, RunLineage: other.Lineage, Phases: []comparedPhase{}}
	for _, pp := range p.Phases {
		ph := comparedPhase{Phase: pp.Phase.Name}
		for i, k := range pp.Kind {
			d := pp.Details[i]
			switch {
			case k == planner.None:
				ph.Same++
			case d.State == nil || d.State.Status != state.Completed:
				ph.New++
			default:
				ph.Differ++
				for _, r := range d.Reasons {
					ph.add(difference{Field: r.Field, Text: r.Text(), First: pp.Phase.Address(i)})
				}
			}
		}
		slices.SortStableFunc(ph.Changes, func(a, b difference) int { return cmp.Or(b.Jobs-a.Jobs, strings.Compare(a.Field, b.Field)) })
		c.Phases = append(c.Phases, ph)
	}
	return c
}

func (ph *comparedPhase) add(d difference) {
	for i := range ph.Changes {
		if ph.Changes[i].Field == d.Field {
			ph.Changes[i].Jobs++
			return
		}
	}
	d.Jobs = 1
	ph.Changes = append(ph.Changes, d)
}

// Text is the page.
func (c Comparison) Text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nCompared with %s (campaign %q):\n\n", term.CleanLine(c.Run), term.CleanLine(c.RunCampaign))
	t := term.Table{Indent: "  "}
	for _, ph := range c.Phases {
		t.Row("phase."+ph.Phase, fmt.Sprintf("%d as there", ph.Same), fmt.Sprintf("%d differ", ph.Differ), fmt.Sprintf("%d not completed there", ph.New))
	}
	b.WriteString(t.String())
	for _, ph := range c.Phases {
		for _, d := range ph.Changes {
			b.WriteString("\n" + wrapped("  ", "      ", fmt.Sprintf("phase.%s, %s, first %s: %s", ph.Phase, units.Count(d.Jobs, "job"), d.First, term.CleanLine(d.Text)), width))
		}
	}
	return b.String() + "\n"
}
