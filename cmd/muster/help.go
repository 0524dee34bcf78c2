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

// help prints a command's page, made from the command table alone, in lines of
// width columns; commands to be typed are not broken.
func (c *command) help(w io.Writer, a *app, width int) error {
	fs, _ := c.flagSet(a)
	lw := &term.LineWriter{W: w}
	fmt.Fprintf(lw, "Usage: muster %s\n\n%s\n", usageLine(c), refill(strings.TrimSpace(c.long), width))
	fmt.Fprintf(lw, "\nOPTIONS\n%s", flagTable(fs, width))
	if len(c.examples) > 0 {
		fmt.Fprint(lw, "\nEXAMPLES\n")
		for _, e := range c.examples {
			fmt.Fprintf(lw, "  # %s\n  $ %s\n", strings.Join(term.Wrap(e.what, width-len("  # ")), "\n  # "), e.line)
		}
	}
	fmt.Fprintf(lw, "\nEXIT STATUS\n%s", exitTable(c, width))
	return lw.Err
}

// refill breaks paragraphs anew; what is indented stays as it is.
func refill(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, term.Wrap(strings.Join(paragraph, " "), width)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			flush()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	return strings.Join(out, "\n")
}

func usageLine(c *command) string {
	return strings.TrimSpace(c.name + " [options] " + c.args)
}

func flagTable(fs *flag.FlagSet, width int) string {
	var t term.Table
	t.Indent = "  "
	names := 0
	fs.VisitAll(func(f *flag.Flag) { names = max(names, term.Width(flagName(f))) })
	fs.VisitAll(func(f *flag.Flag) {
		name := flagName(f)
		_, usage := flag.UnquoteUsage(f)
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && d != "true" {
			usage += fmt.Sprintf(" (default %s)", d)
		}
		for i, line := range term.Wrap(usage, width-names-len("    ")) {
			if i > 0 {
				name = ""
			}
			t.Row(name, line)
		}
	})
	return t.String()
}

// flagName is an option as it is typed, with its value.
func flagName(f *flag.Flag) string {
	if value, _ := flag.UnquoteUsage(f); value != "" {
		return "-" + f.Name + "=" + value
	}
	return "-" + f.Name
}

func exitTable(c *command, width int) string {
	var t term.Table
	t.Indent = "  "
	for _, code := range append([]int{exitDone, exitError}, c.exits...) {
		for i, line := range term.Wrap(exitCodes[code], width-len("  130  ")) {
			label := ""
			if i == 0 {
				label = fmt.Sprint(code)
			}
			t.Row(label, line)
		}
	}
	return t.String()
}

// overview is what `muster` alone prints, in lines of width columns.
func overview(w io.Writer, width int) error {
	lw := &term.LineWriter{W: w}
	fmt.Fprintf(lw, "Usage: muster [-chdir=DIR] COMMAND [options]\n\n%s\n",
		refill("Plan and apply for compute campaigns: read what it will cost, and only then spend.", width))
	names := 0
	for _, group := range groups {
		for _, name := range group.names {
			names = max(names, len(name))
		}
	}
	for _, group := range groups {
		fmt.Fprintf(lw, "\n%s\n", group.title)
		var t term.Table
		t.Indent = "  "
		for _, name := range group.names {
			what := ""
			if c := byName(name); c != nil {
				what = c.short
			} else if sub := children(name); len(sub) > 0 {
				what = subNames(name, sub)
			}
			name += strings.Repeat(" ", names-len(name))
			for _, line := range term.Wrap(what, width-names-len("    ")) {
				t.Row(name, line)
				name = ""
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
