package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
)

// Run runs a command line. Mistakes are UsageErrors; any other error is the
// command's own, an Exit where all was said.
func (t *Table) Run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" && len(args) == 1 {
		return t.Overview(t.Stdout, t.Width)
	}
	if args[0] == "help" {
		args = append(args[1:], "-h")
	}
	if args[0] == "-version" || args[0] == "--version" {
		args[0] = "version"
	}
	c, rest, ok := t.find(args)
	if ok {
		return t.runOne(ctx, c, rest)
	}
	if sub := t.children(args[0]); len(sub) > 0 {
		return parentHelp(t.Stdout, args[0], sub, args[1:])
	}
	return t.unknown(args[0])
}

// runOne parses the flags of a command and runs it.
func (t *Table) runOne(ctx context.Context, c *Command, args []string) error {
	fs, run := t.FlagSet(c)
	if !c.Hidden {
		args = append(extraArgs(c.Name), args...)
	}
	positional, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		return t.Help(t.Stdout, c, t.Width)
	}
	if err != nil {
		return UsageError{flagMistake(fs, err)}
	}
	if err := t.Settle(); err != nil {
		return err
	}
	if len(positional) < c.MinArgs {
		return Usagef("muster %s needs %s", c.Name, c.Args)
	}
	if c.MaxArgs >= 0 && len(positional) > c.MaxArgs {
		return Usagef("muster %s does not take %q", c.Name, positional[c.MaxArgs])
	}
	return run(ctx, positional)
}

// extraArgs are MUSTER_CLI_ARGS and MUSTER_CLI_ARGS_plan. They follow the subcommand and
// precede the typed arguments, so that the typed ones win.
func extraArgs(name string) []string {
	word := strings.ReplaceAll(name, " ", "_")
	out := strings.Fields(os.Getenv("MUSTER_CLI_ARGS"))
	return append(out, strings.Fields(os.Getenv("MUSTER_CLI_ARGS_"+word))...)
}

// parentHelp answers a word that only begins names of commands.
func parentHelp(w io.Writer, word string, sub []*Command, rest []string) error {
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		var names []string
		for _, c := range sub {
			names = append(names, strings.TrimPrefix(c.Name, word+" "))
		}
		hint := "It has: " + strings.Join(names, ", ") + "."
		if s := diag.Suggest(rest[0], names); s != "" {
			hint = fmt.Sprintf("Did you mean %q?", s)
		}
		return Usagef("muster %s has no subcommand %q. %s", word, rest[0], hint)
	}
	fmt.Fprintf(w, "Usage: muster %s SUBCOMMAND [options]\n\n", word)
	t := term.Table{Indent: "  "}
	for _, c := range sub {
		t.Row(c.Name, c.Short)
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// unknown is the error for a word that names no command.
func (t *Table) unknown(word string) error {
	var names []string
	for _, c := range t.Commands {
		if !c.Hidden {
			names = append(names, strings.Fields(c.Name)[0])
		}
	}
	slices.Sort(names)
	hint := "Run muster -h for the list of commands."
	if s := diag.Suggest(word, slices.Compact(names)); s != "" {
		hint = fmt.Sprintf("Did you mean %q?", s)
	}
	return Usagef("there is no command %q. %s", word, hint)
}

// wrongValue matches package flag's error for a value of another kind.
var wrongValue = lazyregexp.New(`^invalid (?:boolean )?value (".*") for (?:flag )?-([\w-]+): (?:parse error|value out of range)$`)

// kindOf says what the value of an option is, "" where package flag does not know.
func kindOf(f *flag.Flag) string {
	if g, ok := f.Value.(flag.Getter); ok {
		switch g.Get().(type) {
		case time.Duration:
			return "a duration, such as 30s, 90m or 8h"
		case int, int64, uint, uint64:
			return "a whole number"
		case float64:
			return "a number"
		case bool:
			return "true or false"
		}
	}
	return ""
}

// flagMistake turns package flag's errors into muster's.
func flagMistake(fs *flag.FlagSet, err error) string {
	const undefined = "flag provided but not defined: -"
	name, ok := strings.CutPrefix(err.Error(), undefined)
	if m := wrongValue.FindStringSubmatch(err.Error()); m != nil {
		if kind := kindOf(fs.Lookup(m[2])); kind != "" {
			return fmt.Sprintf("-%s is %s, not %s", m[2], kind, m[1])
		}
	}
	if !ok {
		return err.Error()
	}
	var known []string
	fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	if s := diag.Suggest(name, known); s != "" {
		return fmt.Sprintf("muster %s has no option -%s; did you mean -%s?", fs.Name(), name, s)
	}
	return fmt.Sprintf("muster %s has no option -%s; muster %s -h lists them", fs.Name(), name, fs.Name())
}
