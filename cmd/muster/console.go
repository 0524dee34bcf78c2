package main

import (
	"context"
	"flag"
	"os"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/term"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	clean "github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/console"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/state"
)

func consoleCommand(a *app) *command.Command {
	return &command.Command{
		Name: "console", Args: "[ADDR]", Short: "evaluate expressions against the campaign", MaxArgs: 1,
		Long: `Reads expressions, one a line, and prints their values. They see var, local, all functions, and phase.NAME.metric.M and
phase.NAME.output.O of completed jobs. With the address of a job they also see what its command sees: cell, param, input,
output, path, backend; and metric, once the job is done.

An expression continues over several lines while a bracket is open; a blank line abandons it. The console reports a mistake
and reads the next line. "exit" or the end of the input ends it; in a pipe it then exits 1 if any expression failed. It
changes nothing and takes no lock.`,
		Examples: []command.Example{
			{"muster console", "try a function or look at a local"},
			{"muster console seed=42,N=384,n=50000", "see what one job sees: cell.N, output.result"},
		},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print one JSON object an expression")
			return func(ctx context.Context, args []string) error {
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				view, err := a.view(c, st, args)
				if err != nil {
					return err
				}
				return a.console(ctx, c, view, *asJSON)
			}
		},
		Complete: a.jobAddresses,
	}
}

// view is the console's view: with an address, the job's own values.
func (a *app) view(c *lang.Campaign, st *state.State, args []string) (lang.View, error) {
	view := lang.View{Results: staging.Completed(c, st)}
	if len(args) == 0 {
		return view, nil
	}
	address, err := a.chooseOne(c, st, args[0])
	if err != nil {
		return view, err
	}
	job, err := addr.Parse(address)
	if err != nil {
		return view, err
	}
	for _, p := range c.Phases {
		if cell, ok := p.Index(job.Key); ok && p.Name == job.Phase {
			view.Phase, view.Cell, view.Site = p, cell, site.Last(c, st, p, cell)
			if j := st.Job(address); j != nil {
				view.Metrics = j.Metrics
			}
			return view, nil
		}
	}
	return view, command.Usagef("%s is no longer in the campaign; muster state show prints its record", address)
}

func (a *app) console(ctx context.Context, c *lang.Campaign, view lang.View, asJSON bool) error {
	s := console.Session{Campaign: c, View: view, Out: a.stdout}
	if asJSON {
		s.Show = func(src string, v cty.Value, sensitive bool) error {
			r, err := page.ValueOf(src, v, sensitive)
			if err != nil {
				return err
			}
			return a.encode(r)
		}
	}
	campaign := a.sources
	s.Fail = func(l diag.List, src []byte) {
		if asJSON {
			a.encode(page.Value{FormatVersion: page.FormatVersion, Expression: strings.TrimSpace(string(src)), Error: l.Err().Error()})
		}
		a.sources = func(name string) []byte {
			if name == console.Filename {
				return src
			}
			return campaign(name)
		}
		a.fail(l)
	}
	f, ok := a.stdin.(*os.File)
	asks := ok && term.IsTerminal(int(f.Fd()))
	if asks {
		s.Prompt = func(more bool) { a.printf("%s", map[bool]string{false: "> ", true: ". "}[more]) }
		if view.Phase != nil {
			a.printf("%s. \"exit\" leaves.\n", clean.CleanLine(view.Phase.Address(view.Cell)))
		}
	}
	failed, err := s.Run(ctx, a.stdin)
	if asks {
		a.printf("\n")
	}
	if err == nil && failed > 0 && !asks {
		return command.Failed
	}
	return err
}
