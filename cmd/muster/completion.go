package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/page"
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
		complete: func(*app, string) []string { return []string{"bash", "zsh", "fish"} },
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

// complete proposes the last of words. Bare addresses have no quotes.
func (a *app) complete(words []string, bare bool) []string {
	words, _ = a.leading(words)
	if len(words) > 1 && words[0] == "help" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := strings.TrimLeft(words[len(words)-1], `'"`)
	prefix, all := "", []string(nil)
	if c, rest, ok := find(words[:len(words)-1]); ok {
		prefix, all = a.completeArgs(c, rest, last)
	} else {
		all = commandWords(words[:len(words)-1])
	}
	var out []string
	for _, s := range all {
		if s = prefix + s; bare || strings.Contains(last, "[") && !strings.Contains(last, `["`) {
			s = strings.NewReplacer(`\"`, "", `"`, "").Replace(s)
		}
		if bare && strings.Contains(s, " ") && last == words[len(words)-1] {
			continue // would be two words
		}
		if strings.HasPrefix(s, last) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
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

// completeArgs proposes the value of an option, an option, or an argument;
// each goes on after prefix.
func (a *app) completeArgs(c *command, before []string, last string) (prefix string, all []string) {
	fs, _ := c.flagSet(a)
	if name, value, has := strings.Cut(last, "="); has && strings.HasPrefix(last, "-") {
		return name + "=", a.flagValues(fs.Lookup(strings.TrimLeft(name, "-")), value)
	}
	if strings.HasPrefix(last, "-") {
		dashes := "-"
		if strings.HasPrefix(last, "--") {
			dashes = "--"
		}
		fs.VisitAll(func(f *flag.Flag) { all = append(all, dashes+f.Name) })
		return "", all
	}
	if n := len(before); n > 0 && strings.HasPrefix(before[n-1], "-") {
		if f := fs.Lookup(strings.TrimLeft(before[n-1], "-")); f != nil && !isSwitch(f) {
			return "", a.flagValues(f, last)
		}
	}
	if c.complete == nil || a.settle() != nil {
		return "", nil
	}
	return "", c.complete(a, last)
}

// isSwitch reports whether a flag stands without a value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// flagValues proposes what an option may be set to; nil where that is a file
// or anything.
func (a *app) flagValues(f *flag.Flag, begun string) []string {
	if f == nil || a.settle() != nil {
		return nil
	}
	switch f.Name {
	case "target", "rerun", "accept":
		return jobAddresses(a, begun)
	case "from":
		return starterNames()
	case "status":
		return page.Statuses
	case "backend":
		return []string{"local", "ssh"}
	case "lockfile":
		return []string{"readonly"}
	}
	if isSwitch(f) {
		return []string{"true", "false"}
	}
	return nil
}

func printLines(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
}
