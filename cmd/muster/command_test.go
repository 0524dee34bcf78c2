package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/term"
)

func testApp() *app { return newApp(os.Stdin, os.Stdout, os.Stderr) }

func TestEveryCommandIsComplete(t *testing.T) {
	var grouped []string
	for _, g := range groups {
		grouped = append(grouped, g.names...)
	}
	for _, c := range commands() {
		if c.hidden {
			continue
		}
		if c.short == "" || c.long == "" || c.setup == nil || len(c.examples) < 2 {
			t.Errorf("%s needs a line, a paragraph and two examples", c.name)
		}
		if strings.HasSuffix(c.short, ".") {
			t.Errorf("%s: the one line ends with a period", c.name)
		}
		if !slices.Contains(grouped, strings.Fields(c.name)[0]) {
			t.Errorf("%s stands in no group of the overview", c.name)
		}
	}
}

// TestExamplesParse holds each example against the command's own flags.
func TestExamplesParse(t *testing.T) {
	for _, c := range commands() {
		for _, e := range c.examples {
			words := strings.Fields(e.line)
			if words[0] != "muster" || !strings.HasPrefix(e.line, "muster "+c.name) {
				t.Errorf("%q is no example of %s", e.line, c.name)
				continue
			}
			fs, _ := c.flagSet(testApp())
			for _, w := range words[1:] {
				name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
				if strings.HasPrefix(w, "-") && w != "-" && fs.Lookup(name) == nil {
					t.Errorf("%q: %s has no option -%s", e.line, c.name, name)
				}
			}
		}
	}
}

func TestEveryFlagIsDescribed(t *testing.T) {
	for _, c := range commands() {
		fs, _ := c.flagSet(testApp())
		fs.VisitAll(func(f *flag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: -%s has no description", c.name, f.Name)
			}
		})
	}
}

// TestHelpFitsItsScreen: only what is to be typed, and so is indented, may be
// wider.
func TestHelpFitsItsScreen(t *testing.T) {
	for _, width := range []int{60, 80, 100} {
		var page bytes.Buffer
		if err := overview(&page, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(page.String(), "\n") {
			if term.Width(line) > width {
				t.Errorf("muster alone is wider than %d: %s", width, line)
			}
		}
		for _, c := range commands() {
			var page bytes.Buffer
			if err := c.help(&page, testApp(), width); err != nil {
				t.Fatal(err)
			}
			examples := false
			for line := range strings.SplitSeq(page.String(), "\n") {
				if line != "" && line[0] != ' ' {
					examples = line == "EXAMPLES"
				}
				typed := strings.HasPrefix(line, "    ") && !strings.Contains(line[4:], "   ") && line[4] != ' ' || examples && strings.HasPrefix(line, "  $ ")
				if term.Width(line) > width && !typed {
					t.Errorf("muster %s -h is wider than %d: %s", c.name, width, line)
				}
			}
		}
	}
}

// TestReferenceIsCurrent holds docs/reference/cli against the command table.
func TestReferenceIsCurrent(t *testing.T) {
	dir := "../../docs/reference/cli"
	pages := reference(testApp())
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

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args, positional string
		f                bool
		n                int
	}{
		{"-f a", "a", true, 0},
		{"a -f", "a", true, 0},
		{"a -n 3 b --f", "a b", true, 3},
		{"-n=3 -- -f", "-f", false, 3},
		{"a -- b -f", "a b -f", false, 0},
		{"-", "-", false, 0},
	} {
		t.Run(test.args, func(t *testing.T) {
			fs := flag.NewFlagSet("x", flag.ContinueOnError)
			f, n := fs.Bool("f", false, ""), fs.Int("n", 0, "")
			got, err := parse(fs, strings.Fields(test.args))
			if err != nil || strings.Join(got, " ") != test.positional || *f != test.f || *n != test.n {
				t.Errorf("got %q, f %v, n %d, %v", got, *f, *n, err)
			}
		})
	}
}
