package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/state/store"
)

// longestNote bounds the text of a note, bytes: it is a line or two, no log.
const longestNote = 2000

func noteCommand(a *app) *command.Command {
	return &command.Command{
		Name: "note", Args: "ADDR TEXT", Short: "record a note on a job or a phase", MinArgs: 2, MaxArgs: 2,
		Long: `Records a text for a job, for every selected job, or for a phase: what failed, and what fixed it. The state keeps it with your name
and the time, even if the job leaves the campaign. report, explain and every plan that changes the job show it. If the job failed
twice in the same way, advise proposes a failure block with the text.`,
		Examples: []command.Example{
			{"muster note seed=42 'node gpu07 lost its licence server; fixed by ada'", "with one job"},
			{"muster note phase.train 'needs cuda/12.4 since the driver update'", "with a phase"},
		},
		Exits: []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			asJSON := fs.Bool("json", false, "print the notes as JSON")
			return func(ctx context.Context, args []string) error {
				return a.note(ctx, v, *asJSON, args[0], strings.TrimSpace(args[1]))
			}
		},
		Complete: a.jobAddresses,
	}
}

func (a *app) note(ctx context.Context, v varFlags, asJSON bool, address, text string) error {
	if text == "" || len(text) > longestNote {
		return command.Usagef("a note has 1 to %d bytes of text, not %d", longestNote, len(text))
	}
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	who, host := whoami()
	r := request.Request{Verb: request.Note, Reason: text, Who: who, Host: host, At: a.now()}
	if r.Addresses, err = a.requestAddresses(c, st, r.Verb, []string{address}); err != nil {
		return err
	}
	answer, err := a.serve(ctx, c, r, func(s store.Session) (request.Answer, error) { return request.Answer{}, s.Append(request.Noted(r)...) })
	if err != nil {
		return err
	}
	if answer.Error != "" {
		return command.Usagef("%s", answer.Error)
	}
	if asJSON {
		return a.encode(map[string]any{"format_version": page.FormatVersion, "notes": page.NotesOf(r)})
	}
	on := r.Addresses[0]
	if len(r.Addresses) > 1 {
		on = units.Count(len(r.Addresses), "job")
	}
	a.printf("%s\n", fmt.Sprintf("Noted on %s.", on))
	return nil
}
