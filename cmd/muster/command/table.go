package command

import (
	"flag"
	"io"
	"strings"
)

// A Table is the commands of a program, in the order of their reference, and their common
// parts.
type Table struct {
	Commands []*Command
	Groups   []Group // of the overview: every command that is not hidden is in one
	// Flags declares those that every command takes, and Settle acts on them once
	// they are parsed.
	Flags  func(*flag.FlagSet)
	Settle func() error
	// Values proposes values of an option; nil where that is a file or anything.
	Values func(option, begun string) []string
	Stdout io.Writer
	Width  int // of the help, in columns
}

// A Group is commands under one title; "state" means all that begin so.
type Group struct {
	Title string
	Names []string
}

// find splits argv into a command and its arguments. Two-word commands win.
func (t *Table) find(args []string) (*Command, []string, bool) {
	if len(args) == 0 {
		return nil, nil, false
	}
	if len(args) > 1 {
		if c := t.byName(args[0] + " " + args[1]); c != nil {
			return c, args[2:], true
		}
	}
	if c := t.byName(args[0]); c != nil {
		return c, args[1:], true
	}
	return nil, args, false
}

func (t *Table) byName(name string) *Command {
	for _, c := range t.Commands {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// children are the commands below a word: "state" → state list, state show, …
func (t *Table) children(word string) []*Command {
	var out []*Command
	for _, c := range t.Commands {
		if strings.HasPrefix(c.Name, word+" ") && !c.Hidden {
			out = append(out, c)
		}
	}
	return out
}

// FlagSet is a command's flags, and what to run once they are parsed.
func (t *Table) FlagSet(c *Command) (*flag.FlagSet, Action) {
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	run := c.Setup(fs)
	t.Flags(fs)
	return fs, run
}
