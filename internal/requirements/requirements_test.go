package requirements

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/requirements.md")

// rows has a line for each row: its id, its title, and a note where tests do not say
// all: "partly: what is missing", "later: with what", "not built: why".
//
//go:embed rows.tsv
var rows string

const (
	repository = "../.."
	page       = "docs/requirements.md"
)

type row struct {
	id, title, section string
	verdict, note      string
	tests              []test
}

// A test names a requirement in a comment: // Requirement: WCH-04 in Go, # Requirement:
// WCH-04 in a story.
type test struct{ path, name string }

// TestPage fails where the page differs from what rows.tsv and the tests say. -update
// writes it.
func TestPage(t *testing.T) {
	list, err := parse(rows)
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string][]test{}
	for _, m := range scan(t) {
		for _, id := range m.ids {
			marks[id] = append(marks[id], m.test)
		}
	}
	for _, problem := range join(list, marks) {
		t.Error(problem)
	}
	want := render(list)
	path := filepath.Join(repository, page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the tests say: go test ./internal/requirements -update", page)
	}
}

// TestProblems: what the tests and rows.tsv may not say of each other.
func TestProblems(t *testing.T) {
	here := map[string][]test{"A-01": {{"a_test.go", "TestA"}}}
	for _, v := range []struct{ rows, problem string }{
		{"A-01\tFirst", ""},
		{"A-01\tFirst\tpartly: no second", ""},
		{"A-01\tFirst\tnot built: nobody needs it", "a_test.go names A-01, which rows.tsv says is not built"},
		{"A-01\tFirst\tlater: with rain", "a_test.go names A-01, which rows.tsv says comes later"},
		{"A-02\tSecond", "a_test.go names A-01, which rows.tsv lacks"},
		{"A-01", "rows.tsv: an id and a title, not \"A-01\""},
		{"A-01\tFirst\tperhaps: so", "rows.tsv: A-01 begins with partly:, later: or not built:, not \"perhaps: so\""},
		{"A-01\tFirst\nA-01\tFirst", "rows.tsv: A-01 is there twice"},
	} {
		list, err := parse(v.rows)
		problem := ""
		if err != nil {
			problem = err.Error()
		} else if found := join(list, here); len(found) > 0 {
			problem = found[0]
		}
		if problem != v.problem {
			t.Errorf("%q: %q, want %q", v.rows, problem, v.problem)
		}
	}
}

// TestMarks: a mark belongs to the test that it is in, or that follows it.
func TestMarks(t *testing.T) {
	const file = "func TestA(t *testing.T) {\n\t// Requirement: A-01, B-02\n}\n\n// TestB is another.\n// Requirement: C-03\nfunc TestB(t *testing.T) {}\n"
	got := fmt.Sprint(marksIn("x_test.go", file), marksIn("story.txt", "# It runs.\n# Requirement: A-01\nexec true\n"))
	if want := "[{[A-01 B-02] {x_test.go TestA}} {[C-03] {x_test.go TestB}}] [{[A-01] {story.txt story.txt}}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func parse(text string) ([]*row, error) {
	var list []*row
	section, seen := "", map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# "); ok {
			section = name
			continue
		}
		cells := strings.SplitN(line, "\t", 3)
		if len(cells) < 2 {
			return nil, fmt.Errorf("rows.tsv: an id and a title, not %q", line)
		}
		r := &row{id: cells[0], title: cells[1], section: section}
		if len(cells) == 3 {
			r.verdict, r.note, _ = strings.Cut(cells[2], ": ")
			if !slices.Contains([]string{"partly", "later", "not built"}, r.verdict) {
				return nil, fmt.Errorf("rows.tsv: %s begins with partly:, later: or not built:, not %q", r.id, cells[2])
			}
		}
		if seen[r.id] {
			return nil, fmt.Errorf("rows.tsv: %s is there twice", r.id)
		}
		seen[r.id] = true
		list = append(list, r)
	}
	return list, nil
}

// join gives each row its tests, and returns what contradicts.
func join(list []*row, marks map[string][]test) (problems []string) {
	known := map[string]bool{}
	for _, r := range list {
		known[r.id], r.tests = true, marks[r.id]
		switch {
		case len(r.tests) == 0 && r.verdict == "":
			r.verdict = "not yet"
		case len(r.tests) == 0 || r.verdict == "partly":
		case r.verdict == "":
			r.verdict = "met"
		case r.verdict == "later":
			problems = append(problems, fmt.Sprintf("%s names %s, which rows.tsv says comes later", r.tests[0].path, r.id))
		default:
			problems = append(problems, fmt.Sprintf("%s names %s, which rows.tsv says is not built", r.tests[0].path, r.id))
		}
	}
	for id, tests := range marks {
		if !known[id] {
			problems = append(problems, fmt.Sprintf("%s names %s, which rows.tsv lacks", tests[0].path, id))
		}
	}
	slices.Sort(problems)
	return problems
}

type mark struct {
	ids  []string
	test test
}

var (
	marked   = regexp.MustCompile(`^\s*(?://|#) Requirement: ((?:[A-Z]+-\d\d|E\d{1,2})(?:, (?:[A-Z]+-\d\d|E\d{1,2}))*)$`)
	function = regexp.MustCompile(`^func (Test\w+)\(`)
)

func marksIn(path, text string) (out []mark) {
	name, waiting := filepath.Base(path), []int(nil)
	goFile := strings.HasSuffix(path, ".go")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if f := function.FindStringSubmatch(line); goFile && f != nil {
			name = f[1]
			for _, i := range waiting {
				out[i].test.name = name
			}
			waiting = nil
		}
		m := marked.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		out = append(out, mark{strings.Split(m[1], ", "), test{path, name}})
		if goFile && strings.HasPrefix(line, "//") {
			waiting = append(waiting, len(out)-1)
		}
	}
	return out
}

// scan reads every test and every story.
func scan(t *testing.T) (out []mark) {
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "dist"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testdata/script/"):
			return nil
		}
		rel, err := filepath.Rel(repository, path)
		if err != nil || strings.HasPrefix(rel, "internal/requirements/") {
			return err
		}
		text, err := os.ReadFile(path)
		out = append(out, marksIn(filepath.ToSlash(rel), string(text))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const head = `# What the field's practice asks, and where muster meets it

Each row is a habit of people who run many jobs, by its id and title. A row is *met* where tests name its id in a comment
(` + "`Requirement: WCH-04`" + `) and nothing of it is missing; *partly* says what is missing, *later* what it waits for, *not built* why not; *not
yet* has no test. ` + "`internal/requirements`" + ` generates this page from the tests and holds it true.

`

func render(list []*row) string {
	var out strings.Builder
	out.WriteString(head)
	counts := map[string]int{}
	for _, r := range list {
		counts[r.verdict]++
	}
	fmt.Fprintf(&out, "%d rows: %d met, %d partly, %d not yet, %d later, %d not built.\n", len(list), counts["met"], counts["partly"], counts["not yet"], counts["later"], counts["not built"])
	section := ""
	for _, r := range list {
		if r.section != section {
			section = r.section
			fmt.Fprintf(&out, "\n## %s\n\n| | asks for | | where, or what is missing |\n|---|---|---|---|\n", section)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.id, r.title, r.verdict, r.where())
	}
	return out.String()
}

// where is the missing part, then the tests, in the order of their paths.
func (r *row) where() string {
	slices.SortFunc(r.tests, func(a, b test) int { return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.name, b.name)) })
	links := []string{}
	for _, x := range slices.Compact(r.tests) {
		links = append(links, fmt.Sprintf("[%s](../%s)", x.name, x.path))
	}
	text := strings.Join(links, ", ")
	if r.note != "" && text != "" {
		return r.note + "; " + text
	}
	return r.note + text
}
