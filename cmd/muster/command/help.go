package command

import (
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/term"
)

// Help prints a command's page, made from the command table alone, in lines of
// width columns; commands to be typed are not broken.
func (t *Table) Help(w io.Writer, c *Command, width int) error {
	fs, _ := t.FlagSet(c)
	lw := &term.LineWriter{W: w}
	fmt.Fprintf(lw, "Usage: muster %s\n\n%s\n", usageLine(c), refill(strings.TrimSpace(c.Long), width))
	fmt.Fprintf(lw, "\nOPTIONS\n%s", flagTable(fs, width))
	if len(c.Examples) > 0 {
		fmt.Fprint(lw, "\nEXAMPLES\n")
		for _, e := range c.Examples {
			fmt.Fprintf(lw, "  # %s\n  $ %s\n", strings.Join(term.Wrap(e[1], width-len("  # ")), "\n  # "), e[0])
		}
	}
	fmt.Fprintf(lw, "\nEXIT STATUS\n%s", exitTable(c, width))
	return lw.Err
}

// refill breaks paragraphs into lines again; indented lines stay as they are.
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

func usageLine(c *Command) string {
	return strings.TrimSpace(c.Name + " [options] " + c.Args)
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

func exitTable(c *Command, width int) string {
	var t term.Table
	t.Indent = "  "
	for _, code := range append([]Exit{Done, Failed}, c.Exits...) {
		for i, line := range term.Wrap(means[code], width-len("  130  ")) {
			label := ""
			if i == 0 {
				label = strconv.Itoa(int(code))
			}
			t.Row(label, line)
		}
	}
	return t.String()
}

// Overview prints the text of `muster` alone, in lines of width columns.
func (t *Table) Overview(w io.Writer, width int) error {
	lw := &term.LineWriter{W: w}
	fmt.Fprintf(lw, "Usage: muster [-chdir=DIR] COMMAND [options]\n\n%s\n",
		refill("Plan and apply for compute campaigns: know the cost before you spend.", width))
	names := 0
	for _, group := range t.Groups {
		for _, name := range group.Names {
			names = max(names, len(name))
		}
	}
	for _, group := range t.Groups {
		fmt.Fprintf(lw, "\n%s\n", group.Title)
		var rows term.Table
		rows.Indent = "  "
		for _, name := range group.Names {
			what := ""
			if c := t.byName(name); c != nil {
				what = c.Short
			} else if sub := t.children(name); len(sub) > 0 {
				what = subNames(name, sub)
			}
			name += strings.Repeat(" ", names-len(name))
			for _, line := range term.Wrap(what, width-names-len("    ")) {
				rows.Row(name, line)
				name = ""
			}
		}
		fmt.Fprint(lw, rows.String())
	}
	fmt.Fprint(lw, "\nmuster COMMAND -h describes one command.\n")
	return lw.Err
}

func subNames(word string, sub []*Command) string {
	var names []string
	for _, c := range sub {
		names = append(names, strings.TrimPrefix(c.Name, word+" "))
	}
	return strings.Join(names, ", ")
}
