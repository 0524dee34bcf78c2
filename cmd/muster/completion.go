package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func completionCommand(a *app) *command.Command {
	return &command.Command{
		Name: "completion", Args: "bash|zsh|fish", Short: "print a completion script for a shell", MinArgs: 1, MaxArgs: 1,
		Long: `Prints a script that completes commands, options and job addresses. It edits nothing of yours:

    bash:  source <(muster completion bash)
    zsh:   source <(muster completion zsh)
    fish:  muster completion fish | source`,
		Examples: []command.Example{{"muster completion bash", "for bash"}, {"muster completion fish", "for fish"}},
		Setup: func(*flag.FlagSet) command.Action {
			return func(_ context.Context, args []string) error {
				script, ok := command.CompletionScripts[args[0]]
				if !ok {
					return command.Usagef("there is no completion for %q; there is one for bash, zsh and fish", args[0])
				}
				_, err := io.WriteString(a.stdout, script)
				return err
			}
		},
		Complete: func(string) []string { return []string{"bash", "zsh", "fish"} },
	}
}

// optionValues proposes values of an option; nil where that is a file or
// anything.
func (a *app) optionValues(option, begun string) []string {
	switch option {
	case "target", "rerun", "accept":
		return a.jobAddresses(begun)
	case "from":
		return starterNames()
	case "status":
		return page.Statuses
	case "backend":
		return []string{"local", "ssh"}
	case "for":
		return page.Goals
	case "lockfile":
		return []string{"readonly"}
	}
	return nil
}

func printLines(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
}
