package main

import (
	"context"
	"flag"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func graphCommand(a *app) *command.Command {
	return &command.Command{
		Name: "graph", Short: "print the phases and the files between them, as DOT or Mermaid", MaxArgs: 0,
		Long:     "Prints the graph of phases, not of jobs: an arrow is a file that a job reads, a dashed arrow is depends_on.",
		Examples: []command.Example{{"muster graph", "for Graphviz: muster graph | dot -Tsvg"}, {"muster graph -mermaid", "for a README or a merge request"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			mermaid := fs.Bool("mermaid", false, "print Mermaid instead of DOT")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(_ context.Context, _ []string) error {
				c, err := a.lookLoad(v)
				if err != nil {
					return err
				}
				switch g := page.GraphOf(c); {
				case *asJSON:
					return a.encode(g)
				case *mermaid:
					a.printf("%s", g.Mermaid())
				default:
					a.printf("%s", g.DOT())
				}
				return nil
			}
		},
	}
}
