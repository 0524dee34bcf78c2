package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

func completionCommand() *command {
	return &command{
		name: "completion", args: "bash|zsh|fish", short: "print a completion script for a shell", minArgs: 1, maxArgs: 1,
		long: `Prints a script that completes commands, options and job addresses. It edits nothing of yours:

    bash:  source <(muster completion bash)
    zsh:   source <(muster completion zsh)
    fish:  muster completion fish | source`,
		examples: []example{{"muster completion bash", "for bash"}, {"muster completion fish", "for fish"}},
		setup: func(*flag.FlagSet) runFunc {
			return func(_ context.Context, a *app, args []string) error {
				script, ok := completionScripts[args[0]]
				if !ok {
					return usagef("there is no completion for %q; there is one for bash, zsh and fish", args[0])
				}
				_, err := io.WriteString(a.stdout, script)
				return err
			}
		},
		complete: func(*app) []string { return []string{"bash", "zsh", "fish"} },
	}
}

// The scripts ask muster itself, so that they never grow old.
var completionScripts = map[string]string{
	"bash": `_muster() {
  local IFS=$'\n'
  COMPREPLY=($(muster __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _muster muster
`,
	"zsh": `#compdef muster
_muster() {
  local -a out
  out=("${(@f)$(muster __complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  (( ${#out} )) && compadd -Q -- $out || _files
}
compdef _muster muster
`,
	"fish": `function __muster
  set -l words (commandline -opc) (commandline -ct)
  muster __complete $words[2..-1] 2>/dev/null
end
complete -c muster -f -a '(__muster)'
`,
}

// complete proposes the last of words.
func (a *app) complete(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var all []string
	if c, rest, ok := find(words[:len(words)-1]); ok {
		all = a.completeArgs(c, rest, last)
	} else {
		all = commandWords(words[:len(words)-1])
	}
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, last) })
	slices.Sort(all)
	return slices.Compact(all)
}

func commandWords(before []string) []string {
	var out []string
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if !c.hidden && len(words) > len(before) && slices.Equal(words[:len(before)], before) {
			out = append(out, words[len(before)])
		}
	}
	return out
}

func (a *app) completeArgs(c *command, _ []string, last string) []string {
	if strings.HasPrefix(last, "-") {
		fs, _ := c.flagSet(a)
		var out []string
		dashes := "-"
		if strings.HasPrefix(last, "--") {
			dashes = "--"
		}
		fs.VisitAll(func(f *flag.Flag) { out = append(out, dashes+f.Name) })
		return out
	}
	if c.complete == nil || a.settle() != nil {
		return nil
	}
	return c.complete(a)
}

func printLines(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
}
