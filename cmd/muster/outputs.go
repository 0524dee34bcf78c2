package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/state"
)

func outputsCommand() *command {
	return &command{
		name: "outputs", args: "[ADDR…]", short: "declared outputs, metrics and results", maxArgs: -1,
		long: `Lists the verified outputs of completed jobs with their sizes and digests, their metrics, and the campaign's results.
-raw NAME prints one result as plain text, for scripts.`,
		examples: []example{{"muster outputs", "everything there is"}, {"muster outputs -raw best_loss", "one result, for a script"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print as JSON")
			raw := fs.String("raw", "", "print only the result `NAME`, as text")
			return func(ctx context.Context, a *app, args []string) error {
				c, st, s, err := a.openFor(ctx, v, args)
				if err != nil {
					return err
				}
				r := outputsOf(c, st, s)
				switch {
				case *raw != "":
					return a.rawResult(r, *raw)
				case *asJSON:
					return a.encode(r)
				}
				return a.printOutputs(r)
			}
		},
		complete: jobAddresses,
	}
}

// An outputsReport is the JSON of `muster outputs -json`.
type outputsReport struct {
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
	Done  int             `json:"done"`
	Total int             `json:"total"`
}

func outputsOf(c *lang.Campaign, st *state.State, s chosen.Jobs) outputsReport {
	r := outputsReport{FormatVersion: formatVersion, Campaign: c.Name, Jobs: []jobOutputs{}, Results: []resultReport{}}
	for _, p := range c.Phases {
		for i := range p.Len() {
			j := st.Job(p.Address(i))
			if j == nil || j.Status != state.Completed || !s.Has(j.Address) {
				continue
			}
			o := jobOutputs{Address: j.Address, Axes: j.Axes, Outputs: j.Outputs, Metrics: map[string]json.RawMessage{}}
			for name, text := range j.Metrics {
				o.Metrics[name] = json.RawMessage(text)
			}
			r.Jobs = append(r.Jobs, o)
		}
	}
	for _, v := range apply.Results(c, st) {
		r.Results = append(r.Results, resultReport{v.Name, v.Known, json.RawMessage(v.JSON), v.Error, v.Done, v.Total})
	}
	return r
}

func (a *app) rawResult(r outputsReport, name string) error {
	for _, v := range r.Results {
		if v.Name != name {
			continue
		}
		if v.Error != "" {
			return fmt.Errorf("result %s cannot be computed: %s", name, v.Error)
		}
		if !v.Known {
			return fmt.Errorf("result %s is known after %d of %d jobs", name, v.Done, v.Total)
		}
		var text string
		if json.Unmarshal(v.Value, &text) != nil {
			text = string(v.Value)
		}
		a.printf("%s\n", text)
		return nil
	}
	return usagef("the campaign has no result %q", name)
}

func (a *app) printOutputs(r outputsReport) error {
	if len(r.Jobs) == 0 {
		a.printf("No job is done yet.\n")
	}
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Left, term.Right}}
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
	a.printf("%s", t.String())
	for _, v := range r.Results {
		a.printf("%s\n", resultText(lang.ResultValue{Name: v.Name, Known: v.Known, Done: v.Done, Total: v.Total, JSON: string(v.Value), Error: v.Error}))
	}
	return nil
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
