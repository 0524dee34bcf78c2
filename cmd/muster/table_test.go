package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/internal/term"
)

func testTable() *command.Table { return newApp(os.Stdin, os.Stdout, os.Stderr).table() }

func TestEveryCommandIsComplete(t *testing.T) {
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, g.Names...)
	}
	for _, c := range testTable().Commands {
		if c.Hidden {
			continue
		}
		if c.Short == "" || c.Long == "" || c.Setup == nil || len(c.Examples) < 2 {
			t.Errorf("%s needs a line, a paragraph and two examples", c.Name)
		}
		if strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the one line ends with a period", c.Name)
		}
		if !slices.Contains(grouped, strings.Fields(c.Name)[0]) {
			t.Errorf("%s stands in no group of the overview", c.Name)
		}
	}
}

// TestExamplesParse holds each example against the command's own flags.
func TestExamplesParse(t *testing.T) {
	tab := testTable()
	for _, c := range tab.Commands {
		for _, e := range c.Examples {
			words := strings.Fields(e[0])
			if words[0] != "muster" || !strings.HasPrefix(e[0], "muster "+c.Name) {
				t.Errorf("%q is no example of %s", e[0], c.Name)
				continue
			}
			fs, _ := tab.FlagSet(c)
			for _, w := range words[1:] {
				name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
				if strings.HasPrefix(w, "-") && w != "-" && fs.Lookup(name) == nil {
					t.Errorf("%q: %s has no option -%s", e[0], c.Name, name)
				}
			}
		}
	}
}

func TestEveryFlagIsDescribed(t *testing.T) {
	tab := testTable()
	for _, c := range tab.Commands {
		fs, _ := tab.FlagSet(c)
		fs.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: -%s has no description", c.Name, f.Name)
			}
		})
	}
}

// TestHelpFitsItsScreen: only what is to be typed, and so is indented, may be
// wider.
func TestHelpFitsItsScreen(t *testing.T) {
	tab := testTable()
	for _, width := range []int{60, 80, 100} {
		var page bytes.Buffer
		if err := tab.Overview(&page, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(page.String(), "\n") {
			if term.Width(line) > width {
				t.Errorf("muster alone is wider than %d: %s", width, line)
			}
		}
		for _, c := range tab.Commands {
			var page bytes.Buffer
			if err := tab.Help(&page, c, width); err != nil {
				t.Fatal(err)
			}
			examples := false
			for line := range strings.SplitSeq(page.String(), "\n") {
				if line != "" && line[0] != ' ' {
					examples = line == "EXAMPLES"
				}
				typed := strings.HasPrefix(line, "    ") && !strings.Contains(line[4:], "   ") && line[4] != ' ' || examples && strings.HasPrefix(line, "  $ ")
				if term.Width(line) > width && !typed {
					t.Errorf("muster %s -h is wider than %d: %s", c.Name, width, line)
				}
			}
		}
	}
}

// TestReferenceIsCurrent holds docs/reference/cli against the command table.
func TestReferenceIsCurrent(t *testing.T) {
	dir := "../../docs/reference/cli"
	pages := testTable().Reference()
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v; make generate writes it", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the command table says; make generate writes it", name)
		}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if pages[e.Name()] == nil {
			t.Errorf("%s is about no command", e.Name())
		}
	}
}
