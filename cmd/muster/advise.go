package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/state"
)

func adviseCommand(a *app) *command.Command {
	return &command.Command{
		Name: "advise", Short: "compare what jobs requested and used, and name the line to change", MaxArgs: 0,
		Long: `Compares what jobs requested with what they used, phase by phase: memory, cores, GPUs, walltime; and separates queue, run and
retry time. If a request is far off, it shows the line to change, the value with its margin, and the saving. It changes
nothing by itself: edit the campaign, and the next plan shows the difference. -write shows these edits as a diff, asks, and
makes them. After a round (see the trial block) it shows which setting is promoted.

It asks the backends only for their pools and prices; -refresh=false contacts no backend and omits prices.`,
		Examples: []command.Example{{"muster advise", "after the first round"}, {"muster advise -write", "show the edits as a diff, and make them after a yes"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			ask := fs.Bool("refresh", true, "ask the backends for their pools and prices; -refresh=false does not")
			asJSON := fs.Bool("json", false, "print as JSON")
			write := fs.Bool("write", false, "edit the campaign's files, after showing the diff and asking")
			yes := fs.Bool("auto-approve", false, "with -write: do not ask")
			return func(ctx context.Context, _ []string) error {
				switch {
				case *write && *asJSON:
					return command.Usagef("-write shows a diff: leave -json out")
				case *yes && !*write:
					return command.Usagef("-auto-approve is for -write")
				}
				c, st, err := a.open(ctx, v)
				if err != nil {
					return err
				}
				in := advice.Input{Campaign: c, State: st}
				var away map[string]string
				if *ask {
					away = a.askPools(ctx, c, st, &in)
				}
				r, ok := unlessInterrupted(ctx, func() advice.Report { return advice.Of(in) })
				if !ok {
					return errInterrupted
				}
				for _, name := range slices.Sorted(maps.Keys(away)) {
					r.Notes = append(r.Notes, "backend."+name+" cannot be asked, and its prices are left out: "+away[name])
				}
				if *asJSON {
					return a.encode(page.AdviceOf(c.Name, r))
				}
				if *write {
					return a.writeAdvice(c, r, v, *yes)
				}
				a.printf("%s", page.AdviceText(r, min(max(a.out.Width, 60), term.MaxWidth), a.out.Row))
				return nil
			}
		},
	}
}

// askPools asks the backends for their pools; it tells which could not be
// asked, and why.
func (a *app) askPools(ctx context.Context, c *lang.Campaign, st *state.State, in *advice.Input) map[string]string {
	w := &work{launcher: a.launcher()}
	defer w.close()
	seen := refresh.Observe(ctx, refresh.Input{Campaign: c, State: st, Provider: w.provider(ctx), Now: a.now(), Waiting: a.waiting, Reads: a.guard.Reads})
	in.Pools = seen.Pools
	return seen.Observed.Unreachable
}

// writeAdvice makes the edits of proposals in the campaign's files.
func (a *app) writeAdvice(c *lang.Campaign, r advice.Report, v varFlags, yes bool) error {
	files, left := advice.Rewrite(c.Files, r.Proposals)
	if len(files) == 0 {
		a.printf("No line to change%s.\n", leftToYou(left, r))
		return nil
	}
	if err := a.stillLoads(c, files, v); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		a.printf("%s", formatChange{Name: name, Was: c.Files[name].Bytes, New: files[name]}.Diff())
	}
	if !yes {
		ok, err := a.ask("\nWrite these changes? Only \"yes\" is accepted: ")
		if err != nil {
			return err
		}
		if !ok {
			a.printf("\nNothing was written.\n")
			return command.Failed
		}
	}
	for _, name := range names {
		path := filepath.Join(c.Dir, name)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.Files[name].Bytes) {
			return command.Usagef("%s changed while you read the diff: run muster advise -write again", name)
		}
		if err := atomicfile.Output(path, func(w io.Writer) error {
			_, err := w.Write(files[name])
			return err
		}); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	a.printf("\nWrote %s%s. `muster plan` shows what follows.\n", strings.Join(names, ", "), leftToYou(left, r))
	return nil
}

// leftToYou says how many proposals have no line that can be edited for a person.
func leftToYou(left []advice.Proposal, r advice.Report) string {
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %s need you: see `muster advise`", len(left), units.Count(len(r.Proposals), "proposal"))
}

// stillLoads refuses edits that would break the campaign.
func (a *app) stillLoads(c *lang.Campaign, edited map[string][]byte, v varFlags) error {
	all := map[string][]byte{}
	for name, f := range c.Files {
		all[name] = f.Bytes
	}
	maps.Copy(all, edited)
	o := a.loadOptions(v, false)
	o.Schemas, _ = a.plugins().Schemas()
	if _, ds := lang.LoadFiles(all, o); ds.HasErrors() {
		return fmt.Errorf("the edits would break the campaign, so nothing was written: %w", ds.Err())
	}
	return nil
}
