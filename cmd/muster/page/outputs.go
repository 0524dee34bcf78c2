package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

// An Outputs is the JSON of `muster outputs -json`.
type Outputs struct {
	FormatVersion string         `json:"format_version"`
	Campaign      string         `json:"campaign"`
	Jobs          []jobOutputs   `json:"jobs"`
	Results       []resultReport `json:"results"`
}

type jobOutputs struct {
	Address string                     `json:"address"`
	Axes    map[string]string          `json:"axes,omitempty"`
	Outputs []state.Output             `json:"outputs"`
	Metrics map[string]json.RawMessage `json:"metrics,omitempty"`
}

type resultReport struct {
	Name  string          `json:"name"`
	Known bool            `json:"known"`
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	Lacks string          `json:"lacks,omitempty"` // which metrics that it reads have no value in some jobs
	Done  int             `json:"done"`
	Total int             `json:"total"`
}

func OutputsOf(c *lang.Campaign, st *state.State, s selection.Jobs) Outputs {
	r := Outputs{FormatVersion: FormatVersion, Campaign: c.Name, Jobs: []jobOutputs{}, Results: []resultReport{}}
	for _, p := range c.Phases {
		for i := range p.Len() {
			j := st.Job(p.Address(i))
			if j == nil || j.Status != state.Completed || !s.Has(j.Address) {
				continue
			}
			o := jobOutputs{Address: j.Address, Axes: j.Axes.Map(), Outputs: j.Outputs, Metrics: map[string]json.RawMessage{}}
			for name, text := range j.Metrics {
				o.Metrics[name] = json.RawMessage(text)
			}
			r.Jobs = append(r.Jobs, o)
		}
	}
	for _, v := range staging.Results(c, st) {
		r.Results = append(r.Results, resultOf(v))
	}
	return r
}

// Raw is one result as plain text. Errors: it is not there, not known yet, or
// cannot be computed.
func (r Outputs) Raw(name string) (string, error) {
	for _, v := range r.Results {
		if v.Name != name {
			continue
		}
		if v.Error != "" {
			return "", fmt.Errorf("result %s cannot be computed: %s", name, v.Error)
		}
		if !v.Known {
			return "", fmt.Errorf("result %s is not known yet: %d of %d jobs are done", name, v.Done, v.Total)
		}
		var text string
		if json.Unmarshal(v.Value, &text) != nil {
			text = string(v.Value)
		}
		return text, nil
	}
	return "", fmt.Errorf("the campaign has no result %q", name)
}

// text is one result of the campaign, or how far it is known.
func (v resultReport) text() string {
	switch {
	case v.Error != "":
		return fmt.Sprintf("result.%s: cannot be computed: %s", v.Name, term.CleanLine(v.Error))
	case !v.Known:
		return fmt.Sprintf("result.%s: not known yet: %d of %d jobs done", v.Name, v.Done, v.Total)
	}
	text := fmt.Sprintf("result.%s = %s", v.Name, term.CleanLine(string(v.Value)))
	if v.Lacks != "" {
		text += "  (" + term.CleanLine(v.Lacks) + ")"
	}
	return text
}

// resultOf is a result as the campaign has it.
func resultOf(v lang.ResultValue) resultReport {
	return resultReport{v.Name, v.Known, json.RawMessage(v.JSON), v.Error, v.Lacks, v.Done, v.Total}
}

// Text is the page of `muster outputs`, its rows in so many columns; 0 = as many as
// they take.
func (r Outputs) Text(columns int) string {
	var b strings.Builder
	if len(r.Jobs) == 0 {
		b.WriteString("No job is done yet.\n")
	}
	t := term.Table{Indent: "  ", Width: columns, Align: []term.Align{term.Left, term.Left, term.Right}}
	for _, j := range r.Jobs {
		for i, o := range j.Outputs {
			address := ""
			if i == 0 {
				address = term.CleanLine(j.Address)
			}
			digest := shortDigest(o.Digest)
			if o.Missing {
				digest = "missing"
			}
			t.Row(address, o.Name, units.FormatSize(o.Size), where(o), digest)
		}
		for _, name := range slices.Sorted(maps.Keys(j.Metrics)) {
			t.Row("", "metric."+name, "", term.CleanLine(string(j.Metrics[name])))
		}
	}
	b.WriteString(t.String())
	for _, v := range r.Results {
		b.WriteString(v.text() + "\n")
	}
	return b.String()
}

func where(o state.Output) string {
	if o.Backend == "local.local" {
		return term.CleanLine(o.Path)
	}
	return term.CleanLine(o.Backend + ":" + o.Path)
}

// shortDigest is enough of a digest to compare by eye.
func shortDigest(d string) string {
	const n = len("sha256:") + 12
	if len(d) > n {
		return d[:n]
	}
	return d
}
