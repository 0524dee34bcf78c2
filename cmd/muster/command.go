package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// A command is one row of the command table. Help, completion, the CLI
// reference and the flags themselves all come from it.
type command struct {
	name     string // "plan", "state list"
	args     string // "[PLAN]", "ADDR…"
	short    string // one line, no period
	long     string
	examples []example
	exits    []int // exit codes beside 0 and 1
	hidden   bool
	// setup declares flags and returns what to run once they are parsed.
	setup func(fs *flag.FlagSet) runFunc
	// complete proposes what a positional argument that was begun may become.
	complete func(a *app, begun string) []string
	// minArgs and maxArgs bound the positional arguments; maxArgs -1 = any.
	minArgs, maxArgs int
}

type runFunc func(ctx context.Context, a *app, args []string) error

// An example is shown in the help and run by a test.
type example struct{ line, what string }

// exitCodes is the contract of cli.md; each help text lists those it uses.
var exitCodes = map[int]string{
	exitDone:        "done, warnings or not",
	exitError:       "an error in what was asked",
	exitChanges:     "changes are present (plan -detailed-exitcode), or work beyond what was approved (apply -once)",
	exitHeld:        "ended with held, failed or blocked jobs, or with work left under a hold",
	exitBudget:      "a budget or its deadline does not hold (plan), or stopped by one (apply)",
	exitLocked:      "the state is locked by another muster",
	exitInterrupted: "interrupted; jobs are still running",
}

// The exit codes.
const (
	exitDone        = 0
	exitError       = 1
	exitChanges     = 2
	exitHeld        = 3
	exitBudget      = 4
	exitLocked      = 5
	exitInterrupted = 130
)

// exitStatus ends a command with a code after everything was said already.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// usageError is a mistake on the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// global holds the flags every command takes, wherever they stand.
type global struct {
	chdir   string
	noColor bool
	input   bool
}

func (g *global) register(fs *flag.FlagSet) {
	fs.StringVar(&g.chdir, "chdir", g.chdir, "`DIR` to work in, instead of the current directory")
	fs.BoolVar(&g.noColor, "no-color", g.noColor, "print without colour (also: NO_COLOR)")
	fs.BoolVar(&g.input, "input", g.input, "ask when something needs a yes; -input=false fails instead (also: CI=true)")
}

// parse reads flags and positional arguments in any order, as people type
// them: `logs ADDR -f`. Everything after "--" is positional.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var positional []string
	for len(args) > 0 {
		if args[0] == "--" {
			return append(positional, args[1:]...), nil
		}
		if !strings.HasPrefix(args[0], "-") || args[0] == "-" {
			positional = append(positional, args[0])
			args = args[1:]
			continue
		}
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		// flag stops at the first positional argument or after "--".
		if consumed := len(args) - len(rest); consumed > 0 && args[consumed-1] == "--" {
			return append(positional, rest...), nil
		}
		args = rest
	}
	return positional, nil
}

// find splits argv into a command and its arguments. Two-word commands win.
func find(args []string) (*command, []string, bool) {
	if len(args) == 0 {
		return nil, nil, false
	}
	if len(args) > 1 {
		if c := byName(args[0] + " " + args[1]); c != nil {
			return c, args[2:], true
		}
	}
	if c := byName(args[0]); c != nil {
		return c, args[1:], true
	}
	return nil, args, false
}

func byName(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// children are the commands below a word: "state" → state list, state show, …
func children(word string) []*command {
	var out []*command
	for _, c := range commands() {
		if strings.HasPrefix(c.name, word+" ") && !c.hidden {
			out = append(out, c)
		}
	}
	return out
}

func (c *command) flagSet(a *app) (*flag.FlagSet, runFunc) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	run := c.setup(fs)
	a.global.register(fs)
	return fs, run
}

// extraArgs are MUSTER_CLI_ARGS and MUSTER_CLI_ARGS_plan: they stand after
// the subcommand and before what was typed, so that what was typed wins.
func extraArgs(name string) []string {
	word := strings.ReplaceAll(name, " ", "_")
	out := strings.Fields(os.Getenv("MUSTER_CLI_ARGS"))
	return append(out, strings.Fields(os.Getenv("MUSTER_CLI_ARGS_"+word))...)
}

func (c *command) run(ctx context.Context, a *app, args []string) error {
	fs, run := c.flagSet(a)
	if !c.hidden {
		args = append(extraArgs(c.name), args...)
	}
	positional, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		return c.help(a.stdout, a, max(a.out.Width, 40))
	}
	if err != nil {
		return usageError{flagMistake(fs, err)}
	}
	if err := a.settle(); err != nil {
		return err
	}
	if len(positional) < c.minArgs {
		return usagef("muster %s needs %s", c.name, c.args)
	}
	if c.maxArgs >= 0 && len(positional) > c.maxArgs {
		return usagef("muster %s does not take %q", c.name, positional[c.maxArgs])
	}
	return run(ctx, a, positional)
}
