package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
)

// help prints a command's page, made from the command table alone.
func (c *command) help(w io.Writer, a *app) error {
	fs, _ := c.flagSet(a)
	lw := &term.LineWriter{W: w}
	fmt.Fprintf(lw, "Usage: muster %s\n\n%s\n", usageLine(c), strings.TrimSpace(c.long))
	fmt.Fprintf(lw, "\nOPTIONS\n%s", flagTable(fs))
	if len(c.examples) > 0 {
		fmt.Fprint(lw, "\nEXAMPLES\n")
		for _, e := range c.examples {
			fmt.Fprintf(lw, "  # %s\n  $ %s\n", e.what, e.line)
		}
	}
	fmt.Fprintf(lw, "\nEXIT STATUS\n%s", exitTable(c))
	return lw.Err
}

func usageLine(c *command) string {
	return strings.TrimSpace(c.name + " [options] " + c.args)
}

func flagTable(fs *flag.FlagSet) string {
	var t term.Table
	t.Indent = "  "
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		name := "-" + f.Name
		if value != "" {
			name += "=" + value
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && d != "true" {
			usage += fmt.Sprintf(" (default %s)", d)
		}
		for i, line := range foldText(usage, 60) {
			if i > 0 {
				name = ""
			}
			t.Row(name, line)
		}
	})
	return t.String()
}

func exitTable(c *command) string {
	var t term.Table
	t.Indent = "  "
	for _, code := range append([]int{exitDone, exitError}, c.exits...) {
		for i, line := range foldText(exitCodes[code], 80) {
			label := ""
			if i == 0 {
				label = fmt.Sprint(code)
			}
			t.Row(label, line)
		}
	}
	return t.String()
}

// foldText breaks text at spaces into lines of at most width columns.
func foldText(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case term.Width(line)+1+term.Width(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// overview is what `muster` alone prints.
func overview(w io.Writer) error {
	lw := &term.LineWriter{W: w}
	fmt.Fprint(lw, "Usage: muster [-chdir=DIR] COMMAND [options]\n\nPlan and apply for compute campaigns: read what it will cost, and only then spend.\n")
	for _, group := range groups {
		fmt.Fprintf(lw, "\n%s\n", group.title)
		var t term.Table
		t.Indent = "  "
		for _, name := range group.names {
			if c := byName(name); c != nil {
				t.Row(name, c.short)
			} else if sub := children(name); len(sub) > 0 {
				t.Row(name, subNames(name, sub))
			}
		}
		fmt.Fprint(lw, t.String())
	}
	fmt.Fprint(lw, "\nmuster COMMAND -h tells more about one command.\n")
	return lw.Err
}

func subNames(word string, sub []*command) string {
	var names []string
	for _, c := range sub {
		names = append(names, strings.TrimPrefix(c.name, word+" "))
	}
	return strings.Join(names, ", ")
}

// groups is the order of the overview; every visible command stands in it
// (a test holds this).
var groups = []struct {
	title string
	names []string
}{
	{"The main loop", []string{"init", "validate", "plan", "rehearse", "apply", "destroy"}},
	{"While it runs", []string{"status", "logs", "explain", "hold", "resume", "cancel", "override"}},
	{"What came of it", []string{"outputs", "pull", "report", "cost", "advise"}},
	{"Around it", []string{"backends", "show", "state", "graph", "console", "fmt", "convert", "force-unlock", "providers", "version", "completion"}},
}

// unknownCommand is the error for a word that names no command.
func unknownCommand(word string) error {
	var names []string
	for _, c := range commands() {
		if !c.hidden {
			names = append(names, strings.Fields(c.name)[0])
		}
	}
	slices.Sort(names)
	hint := "Run muster -h for the list of commands."
	if s := diag.Suggest(word, slices.Compact(names)); s != "" {
		hint = fmt.Sprintf("Did you mean %q?", s)
	}
	return usagef("there is no command %q. %s", word, hint)
}

// flagMistake turns package flag's errors into muster's.
func flagMistake(fs *flag.FlagSet, err error) string {
	const undefined = "flag provided but not defined: -"
	name, ok := strings.CutPrefix(err.Error(), undefined)
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
