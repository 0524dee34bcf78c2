package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-run/muster/lang"
)

func graphCommand() *command {
	return &command{
		name: "graph", short: "the phases and what flows between them, as DOT or Mermaid", maxArgs: 0,
		long:     "Prints the graph of phases, not of jobs: an arrow is a file handed over, a dashed one depends_on.",
		examples: []example{{"muster graph", "for Graphviz: muster graph | dot -Tsvg"}, {"muster graph -mermaid", "for a README or a merge request"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			mermaid := fs.Bool("mermaid", false, "print Mermaid instead of DOT")
			return func(_ context.Context, a *app, _ []string) error {
				c, err := a.mustLoad(v)
				if err != nil {
					return err
				}
				if *mermaid {
					a.printf("%s", mermaidGraph(c))
					return nil
				}
				a.printf("%s", dotGraph(c))
				return nil
			}
		},
	}
}

func dotGraph(c *lang.Campaign) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  rankdir = LR\n  node [shape = box]\n", c.Name)
	for _, p := range c.Phases {
		fmt.Fprintf(&b, "  %q [label = %q]\n", p.Name, fmt.Sprintf("%s\n%s", p.Name, plural(p.Len(), "job")))
	}
	for _, p := range c.Phases {
		for _, in := range p.Inputs {
			fmt.Fprintf(&b, "  %q -> %q [label = %q]\n", in.From.Name, p.Name, in.Output)
		}
		for _, d := range p.DependsOn {
			fmt.Fprintf(&b, "  %q -> %q [style = dashed]\n", d, p.Name)
		}
	}
	return b.String() + "}\n"
}

func mermaidGraph(c *lang.Campaign) string {
	var b strings.Builder
	b.WriteString("graph LR\n")
	for _, p := range c.Phases {
		fmt.Fprintf(&b, "  %s[\"%s<br/>%s\"]\n", p.Name, p.Name, plural(p.Len(), "job"))
	}
	for _, p := range c.Phases {
		for _, in := range p.Inputs {
			fmt.Fprintf(&b, "  %s -- %s --> %s\n", in.From.Name, in.Output, p.Name)
		}
		for _, d := range p.DependsOn {
			fmt.Fprintf(&b, "  %s -.-> %s\n", d, p.Name)
		}
	}
	return b.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
