package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state/store"
)

func cleanCommand(a *app) *command.Command {
	return &command.Command{
		Name: "clean", Short: "remove old logs and replaced results, after showing them", MaxArgs: 0,
		Long: `Lists old files with their places and sizes, asks, and removes them: logs, and outputs of failed launches (in .muster/failed), that
are old or not among a job's newest; results replaced long ago, and checkpoints moved aside (both in .muster/replaced). It never removes an
output, a log of a running job, or a file that this campaign's state does not know. -dry-run only lists.`,
		Examples: []command.Example{
			{"muster clean -dry-run", "list the files"},
			{"muster clean -older=7d -keep=1", "logs and replaced results of more than a week ago, and all logs but the last of each job"},
		},
		Exits: []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			c := cleaning{app: a}
			c.v.register(fs)
			fs.StringVar(&c.older, "older", "30d", "remove files older than `DURATION`, such as 12h or 30d")
			fs.IntVar(&c.keep, "keep", 3, "keep the logs of the newest `N` launches of a job, and the files of its newest N failed ones, unless they are older")
			fs.BoolVar(&c.dryRun, "dry-run", false, "list, and remove nothing")
			fs.BoolVar(&c.yes, "auto-approve", false, "do not ask")
			fs.BoolVar(&c.verbose, "verbose", false, "list every file")
			fs.BoolVar(&c.json, "json", false, "print as JSON")
			return c.run
		},
	}
}

type cleaning struct {
	*app
	v                          varFlags
	older                      string
	keep                       int
	dryRun, yes, verbose, json bool
}

func (c *cleaning) run(ctx context.Context, _ []string) error {
	older, err := units.ParseDuration(c.older)
	if err != nil {
		return command.Usagef("-older: %s", err)
	}
	if c.keep < 0 {
		return command.Usagef("-keep is 0 or more, not %d", c.keep)
	}
	p := contact.Pruning{Now: c.now(), Older: older, Keep: c.keep}
	campaign, st, err := c.open(ctx, c.v)
	if err != nil {
		return err
	}
	w := &work{launcher: c.launcher()}
	defer w.close()
	if c.dryRun {
		found := contact.Of(campaign, st, w.provider(ctx)).Prunable(ctx, p)
		return c.show(&found)
	}
	return c.change(ctx, campaign, "clean", func(s store.Session) error { return c.prune(ctx, campaign, s, w, p) })
}

func (c *cleaning) prune(ctx context.Context, campaign *lang.Campaign, s store.Session, w *work, p contact.Pruning) error {
	backends := contact.Of(campaign, s.State(), w.provider(ctx))
	found := backends.Prunable(ctx, p)
	if len(found.Items) == 0 {
		return c.show(&found)
	}
	if !c.yes {
		c.notef("%s", found.Text(c.verbose, c.out.Width))
		yes, err := c.ask(fmt.Sprintf("Remove %s? Only \"yes\" is accepted: ", found.Total()))
		if err != nil {
			return err
		}
		if !yes {
			c.printf("Nothing was removed.\n")
			return command.Failed
		}
	}
	backends.Prune(ctx, &found, s.Fence(), s.Holder())
	return c.show(&found)
}

// show prints the files found or removed; a backend that does not answer is an error.
func (c *cleaning) show(found *page.Clean) error {
	switch {
	case c.json:
		if err := c.encode(found); err != nil {
			return err
		}
	case len(found.Items) == 0:
		c.printf("Nothing to remove.\n")
	case c.dryRun:
		c.printf("%sWould remove %s. Nothing was removed.\n", found.Text(c.verbose, c.out.Width), found.Total())
	default:
		text := ""
		if c.yes {
			text = found.Text(c.verbose, c.out.Width)
		}
		done := *found
		done.Items = slices.DeleteFunc(slices.Clone(found.Items), func(i page.CleanItem) bool { return !i.Removed })
		c.printf("%sRemoved %s.\n", text, done.Total())
	}
	var l diag.List
	for _, name := range slices.Sorted(maps.Keys(found.Problems)) {
		l.Append(diag.Diagnostic{Summary: "A backend was not cleaned", Detail: fmt.Sprintf("backend.%s: %s.", name, found.Problems[name])})
	}
	return c.report(l)
}
