package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// shop is a table of three commands, which write what they are asked for.
func shop(out io.Writer) *Table {
	t := &Table{Stdout: out, Width: 80, Settle: func() error { return nil }, Flags: func(fs *flag.FlagSet) { fs.Bool("quiet", false, "say less") }}
	t.Values = func(option, begun string) []string {
		if option == "colour" {
			return []string{"red", "green"}
		}
		return nil
	}
	t.Groups = []Group{{Title: "All", Names: []string{"paint", "stock"}}}
	t.Commands = []*Command{
		{Name: "paint", Args: "WALL…", Short: "paint walls", Long: "Paints walls.", MinArgs: 1, MaxArgs: 2, Exits: []Exit{Held},
			Examples: []Example{{"shop paint north", "one wall"}, {"shop paint -colour=red north", "in red"}},
			Complete: func(string) []string { return []string{"north", "south"} },
			Setup: func(fs *flag.FlagSet) Action {
				colour := fs.String("colour", "white", "a `COLOUR`")
				return func(_ context.Context, args []string) error {
					fmt.Fprintf(out, "%s %s\n", *colour, strings.Join(args, " "))
					return nil
				}
			}},
		{Name: "stock list", Short: "what there is", Setup: func(fs *flag.FlagSet) Action {
			fs.Duration("dry", 0, "for a `DURATION`")
			fs.Int("coats", 1, "`N` of them")
			fs.Bool("gloss", false, "shine")
			return func(context.Context, []string) error { return Held }
		}},
		{Name: "stock count", Short: "how much there is", Setup: func(*flag.FlagSet) Action { return nil }},
		{Name: "inside", Hidden: true, Setup: func(*flag.FlagSet) Action { return nil }},
	}
	return t
}

func TestRun(t *testing.T) {
	for _, test := range []struct{ args, out, err string }{
		{"paint north", "white north\n", ""},
		{"paint north -colour red south", "red north south\n", ""},
		{"paint --quiet -- -north", "white -north\n", ""},
		{"paint", "", "muster paint needs WALL…"},
		{"paint a b c", "", `muster paint does not take "c"`},
		{"paint -color=red a", "", "muster paint has no option -color; did you mean -colour?"},
		{"stock list -dry=long", "", `-dry is a duration, such as 30s, 90m or 8h, not "long"`},
		{"stock list -coats=99999999999999999999", "", `-coats is a whole number, not "99999999999999999999"`},
		{"stock list -gloss=very", "", `-gloss is true or false, not "very"`},
		{"stock list", "", Held.Error()},
		{"stock lst", "", `muster stock has no subcommand "lst". Did you mean "list"?`},
		{"stock burn", "", `muster stock has no subcommand "burn". It has: list, count.`},
		{"pant", "", `there is no command "pant". Did you mean "paint"?`},
		{"xyzzy", "", `there is no command "xyzzy". Run muster -h for the list of commands.`},
	} {
		t.Run(test.args, func(t *testing.T) {
			var out bytes.Buffer
			err := shop(&out).Run(context.Background(), strings.Fields(test.args))
			said := ""
			if err != nil {
				said = err.Error()
			}
			if out.String() != test.out || said != test.err {
				t.Errorf("printed %q, error %q", out.String(), said)
			}
			var usage UsageError
			if wrong := test.err != "" && test.err != Held.Error(); errors.As(err, &usage) != wrong {
				t.Errorf("a mistake of the person: %v, %v", wrong, err)
			}
		})
	}
}

// What was typed wins over what the environment adds.
func TestRunWithArgsOfTheEnvironment(t *testing.T) {
	t.Setenv("MUSTER_CLI_ARGS_paint", "-colour=green")
	for args, want := range map[string]string{"paint a": "green a\n", "paint -colour=red a": "red a\n"} {
		var out bytes.Buffer
		if err := shop(&out).Run(context.Background(), strings.Fields(args)); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", args, out.String(), err)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"paint -h", "help paint", "paint --help"} {
		var out bytes.Buffer
		if err := shop(&out).Run(context.Background(), strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		const want = `Usage: muster paint [options] WALL…

Paints walls.

OPTIONS
  -colour=COLOUR  a COLOUR (default white)
  -quiet          say less

EXAMPLES
  # one wall
  $ shop paint north
  # in red
  $ shop paint -colour=red north

EXIT STATUS
  0  done, warnings or not
  1  an error; the message says what and where
  3  ended with jobs that are held, failed, cancelled, blocked or unknown
`
		if out.String() != want {
			t.Errorf("%s: got\n%s\nwant\n%s", args, out.String(), want)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{""}, "paint stock"},
		{[]string{"pa"}, "paint"},
		{[]string{"stock", ""}, "count list"},
		{[]string{"help", "stock", "c"}, "count"},
		{[]string{"paint", "-"}, "-colour -quiet"},
		{[]string{"paint", "--co"}, "--colour"},
		{[]string{"paint", "-colour=r"}, "-colour=red"},
		{[]string{"paint", "-colour", ""}, "green red"},
		{[]string{"paint", "-quiet="}, "-quiet=false -quiet=true"},
		{[]string{"paint", "-quiet", "n"}, "north"},
		{[]string{"stock", "list", ""}, ""},
		{[]string{"in"}, ""},
	} {
		if got := shop(io.Discard).Complete(test.words, false); !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%q: %q, want %s", test.words, got, test.want)
		}
	}
}

// Hidden commands have no page.
func TestReference(t *testing.T) {
	pages := shop(io.Discard).Reference()
	if len(pages) != 4 || pages["paint.md"] == nil || pages["stock-list.md"] == nil || !bytes.Contains(pages["README.md"], []byte("| [stock list](stock-list.md) | what there is |")) {
		t.Errorf("%q", pages)
	}
}
