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
		Setup: func(*flag.FlagSet) command.Run {
			return func(_ context.Context, args []string) error {
				script, ok := completionScripts[args[0]]
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

// The scripts ask muster itself, so that they never grow old. bash breaks words
// at "=" and takes what it is given as typed: it gets whole words and addresses
// without quotes, of which it keeps what it has not broken off. The others
// quote what needs it.
var completionScripts = map[string]string{
	"bash": `_muster() {
  local IFS=$' \t\n' line="${COMP_LINE:0:COMP_POINT}" cur="${COMP_WORDS[COMP_CWORD]}" words typed=""
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  typed="${words[${#words[@]}-1]#[\'\"]}"
  [[ $cur == "=" ]] && cur=""
  IFS=$'\n'
  COMPREPLY=($(muster __complete_bare "${words[@]:1}" 2>/dev/null))
  COMPREPLY=("${COMPREPLY[@]#"${typed%"${cur#[\'\"]}"}"}")
}
complete -o default -F _muster muster
`,
	"zsh": `#compdef muster
_muster() {
  local -a out
  out=("${(@f)$(muster __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$out" ]] && compadd -- $out || _files
}
compdef _muster muster
`,
	"fish": `function __muster
  set -l words (commandline -opc) (commandline -ct)
  muster __complete (string unescape -- $words[2..-1]) 2>/dev/null
end
complete -c muster -f -a '(__muster)'
complete -c muster -n 'not __muster | string length -q' -F
`,
}

// optionValues proposes what an option may be set to; nil where that is a file
// or anything.
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
