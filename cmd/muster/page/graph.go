package page

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
)

// A Graph is the JSON of `muster graph -json`.
type Graph struct {
	FormatVersion string      `json:"format_version"`
	Campaign      string      `json:"campaign"`
	Phases        []graphNode `json:"phases"`
	Edges         []graphEdge `json:"edges"`
}

type graphNode struct {
	Phase string `json:"phase"`
	Jobs  int    `json:"jobs"`
}

type graphEdge struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Output string `json:"output,omitempty"` // that passes along it; "" for depends_on
}

func GraphOf(c *lang.Campaign) Graph {
	g := Graph{FormatVersion: FormatVersion, Campaign: c.Name, Phases: []graphNode{}, Edges: []graphEdge{}}
	for _, p := range c.Phases {
		g.Phases = append(g.Phases, graphNode{p.Name, p.Len()})
		for _, in := range p.Inputs {
			g.Edges = append(g.Edges, graphEdge{in.From.Name, p.Name, in.Output})
		}
		for _, d := range p.DependsOn {
			g.Edges = append(g.Edges, graphEdge{From: d, To: p.Name})
		}
	}
	return g
}

func (g Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  rankdir = LR\n  node [shape = box]\n", g.Campaign)
	for _, n := range g.Phases {
		fmt.Fprintf(&b, "  %q [label = %q]\n", n.Phase, fmt.Sprintf("%s\n%s", n.Phase, units.Count(n.Jobs, "job")))
	}
	for _, e := range g.Edges {
		style := "style = dashed"
		if e.Output != "" {
			style = fmt.Sprintf("label = %q", e.Output)
		}
		fmt.Fprintf(&b, "  %q -> %q [%s]\n", e.From, e.To, style)
	}
	return b.String() + "}\n"
}

func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("graph LR\n")
	for _, n := range g.Phases {
		fmt.Fprintf(&b, "  %s[\"%s<br/>%s\"]\n", n.Phase, n.Phase, units.Count(n.Jobs, "job"))
	}
	for _, e := range g.Edges {
		arrow := "-.->"
		if e.Output != "" {
			arrow = "-- " + e.Output + " -->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", e.From, arrow, e.To)
	}
	return b.String()
}
