package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-run/muster/cmd/muster/contact"
	"github.com/muster-run/muster/cmd/muster/live"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/providers/offer"
)

// The attribute tables of docs/reference/backends are those of the schemas.
// UPDATE_DOCS=1 writes them.
func TestDocsBackends(t *testing.T) {
	t.Parallel()
	for name, b := range plugins.Builtins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(repository, "docs/reference/backends", name+".md")
			page := readDoc(t, path)
			head, rest, ok := strings.Cut(page, tableBegin)
			_, tail, closed := strings.Cut(rest, tableEnd)
			if !ok || !closed {
				t.Fatalf("%s has no %q … %q", path, tableBegin, tableEnd)
			}
			want := head + tableBegin + "\n\n" + schemaTables(b.Schema()) + tableEnd + tail
			if os.Getenv("UPDATE_DOCS") != "" {
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if page != want {
				t.Errorf("%s is not what the schema says; UPDATE_DOCS=1 writes it:\n%s", path, want)
			}
		})
	}
}

const (
	tableBegin = "<!-- attributes: from the schema, by UPDATE_DOCS=1 go test ./cmd/muster -run TestDocs -->"
	tableEnd   = "<!-- end of attributes -->"
)

func schemaTables(s offer.Schema) string {
	var b strings.Builder
	blockTable(&b, fmt.Sprintf("backend %q", s.Type), s.Config)
	blockTable(&b, fmt.Sprintf("options %q", s.Type), s.Options)
	return b.String()
}

func blockTable(b *strings.Builder, title string, block offer.Block) {
	if len(block.Attrs)+len(block.Blocks) == 0 {
		return
	}
	fmt.Fprintf(b, "### `%s`\n\n| attribute | type | default | |\n|---|---|---|---|\n", title)
	for _, a := range block.Attrs {
		value := ""
		if a.Default != "" {
			value = "`" + a.Default + "`"
		}
		if a.Required {
			value = "required"
		}
		doc := a.Doc
		if len(a.OneOf) > 0 {
			doc += " One of " + strings.Join(a.OneOf, ", ") + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", a.Name, a.Type, value, strings.ReplaceAll(doc, "|", `\|`))
	}
	b.WriteByte('\n')
	for _, n := range block.Blocks {
		fmt.Fprintf(b, "A block `%s`: %s\n\n", n.Name, n.Doc)
		blockTable(b, n.Name, n.Block)
	}
}

// The page of the plan names every member of its JSON.
func TestDocsPlanJSON(t *testing.T) {
	t.Parallel()
	page := readDoc(t, filepath.Join(repository, "docs/reference/plan.md"))
	seen := map[reflect.Type]bool{}
	for _, doc := range []any{planfile.Document{}, planfile.Job{}} {
		members(reflect.TypeOf(doc), "planner/planfile", seen, func(of, name string) {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("docs/reference/plan.md does not name `%s` of %s", name, of)
			}
		})
	}
}

// members calls each for every JSON member of t and the structs below it that
// are of pkg or a package in its folder.
func members(t reflect.Type, pkg string, seen map[reflect.Type]bool, each func(of, name string)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || !strings.Contains(t.PkgPath()+"/", "/"+pkg+"/") {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		each(t.Name(), name)
		members(f.Type, pkg, seen, each)
	}
}

// The page of the event stream names every kind of fact and every member of
// a progress event.
func TestDocsEvents(t *testing.T) {
	t.Parallel()
	page := readDoc(t, filepath.Join(repository, "docs/reference/events.md"))
	kinds := regexp.MustCompile(`Kind\(\) string\s*{ return "(\w+)" }`).FindAllStringSubmatch(readDoc(t, filepath.Join(repository, "state/event.go")), -1)
	if len(kinds) == 0 {
		t.Fatal("no kinds in state/event.go")
	}
	for _, k := range kinds {
		if !strings.Contains(page, "`"+k[1]+"`") {
			t.Errorf("docs/reference/events.md does not name `%s`", k[1])
		}
	}
	progress := reflect.TypeFor[live.PhaseEvent]()
	for i := range progress.NumField() {
		name, _, _ := strings.Cut(progress.Field(i).Tag.Get("json"), ",")
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/reference/events.md does not name `%s` of a phase's progress", name)
		}
	}
}

// The page of the provider protocol names every code by which muster decides why
// a job waits or ended.
func TestDocsCauses(t *testing.T) {
	t.Parallel()
	page := readDoc(t, filepath.Join(repository, "docs/reference/provider-protocol.md"))
	_, page, _ = strings.Cut(page, "### Why a job waits or ended\n")
	page, _, _ = strings.Cut(page, "\n### ")
	for _, typ := range []string{"Cause", "Stage", "Holder"} {
		codes := constantsBeside(t, filepath.Join(repository, "providers/offer/offer.go"), typ)
		if len(codes) < 3 {
			t.Errorf("offer.go has only %d values of offer.%s: %v", len(codes), typ, codes)
		}
		for _, code := range codes {
			if !strings.Contains(page, "`"+code+"`") || typ == "Cause" && !strings.Contains(page, "\n| `"+code+"` |") {
				t.Errorf("docs/reference/provider-protocol.md does not say what `%s` of offer.%s means", code, typ)
			}
		}
	}
}

// constantsBeside are the values of the constants that a file declares together
// with those of a type.
func constantsBeside(t *testing.T, path, typ string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST || !slices.ContainsFunc(group.Specs, func(s ast.Spec) bool {
			name, ok := s.(*ast.ValueSpec).Type.(*ast.Ident)
			return ok && name.Name == typ
		}) {
			continue
		}
		for _, s := range group.Specs {
			for _, v := range s.(*ast.ValueSpec).Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, text)
			}
		}
	}
	return values
}

// Every command that takes -json has its members in the page of the documents,
// and all of those that it prints as a struct.
func TestDocsJSON(t *testing.T) {
	t.Parallel()
	written := readDoc(t, filepath.Join(repository, "docs/reference/json.md"))
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| (.*) \\|$").FindAllStringSubmatch(written, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			rows[name[1]] = m[2]
		}
	}
	elsewhere := []string{"plan", "apply", "destroy", "show"}
	tab := testTable()
	for _, c := range tab.Commands {
		fs, _ := tab.FlagSet(c)
		if fs.Lookup("json") != nil && rows[c.Name] == "" && !slices.Contains(elsewhere, c.Name) {
			t.Errorf("docs/reference/json.md has no row for %s", c.Name)
		}
	}
	for name, doc := range map[string]any{
		"init": initReport{}, "status": page.Status{}, "logs": contact.LogLine{}, "explain": page.Explanation{}, "outputs": page.Outputs{}, "pull": page.Pull{},
		"report": page.Report{}, "advise": page.Advice{}, "cost": page.Cost{}, "rehearse": page.Rehearsal{}, "graph": page.Graph{}, "console": page.Value{},
	} {
		members(reflect.TypeOf(doc), "cmd/muster", map[reflect.Type]bool{}, func(of, member string) {
			if member != "format_version" && !strings.Contains(written, "`"+member+"`") {
				t.Errorf("docs/reference/json.md does not name `%s` of %s, of %s", member, of, name)
			}
		})
	}
}

// Every variable that the code reads or sets is in the page of the
// environment, and every variable of the page is in the code.
func TestDocsEnvironment(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`"(MUSTER_[A-Z_]+)`)
	code := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "examples" || d.Name() == "gputest" || d.Name() == "testdata" || d.Name() == "lang"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		for _, m := range variable.FindAllStringSubmatch(readDoc(t, path), -1) {
			code[m[1]] = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page := readDoc(t, filepath.Join(repository, "docs/reference/environment.md"))
	for name, path := range code {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/reference/environment.md does not name %s (%s)", name, path)
		}
	}
	for _, m := range regexp.MustCompile("`(MUSTER_[A-Z_]+)").FindAllStringSubmatch(page, -1) {
		known := code[m[1]] != "" || slices.Contains(otherVariables, m[1])
		for prefix := range code { // MUSTER_INPUT_ stands for one an input
			known = known || strings.HasSuffix(prefix, "_") && strings.HasPrefix(m[1], prefix)
		}
		if !known {
			t.Errorf("docs/reference/environment.md names %s, which nothing reads or sets", m[1])
		}
	}
}

// otherVariables are read where the test does not look: by lang, whose texts
// name the job's variables, and by tests.
var otherVariables = []string{"MUSTER_RANK", "MUSTER_LOCAL_RANK", "MUSTER_RANKS", "MUSTER_VAR_", "MUSTER_FILE_ROOTS", "MUSTER_BINARY", "MUSTER_SYSTEM_TESTS"}

// Every link between pages leads to a file.
func TestDocsLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	pages := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, dir := range []string{"docs", "examples"} {
		filepath.WalkDir(filepath.Join(repository, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				rel, _ := filepath.Rel(repository, path)
				pages = append(pages, rel)
			}
			return err
		})
	}
	fences := regexp.MustCompile("(?s)\n```.*?\n```")
	for _, page := range pages {
		text := fences.ReplaceAllString(readDoc(t, filepath.Join(repository, page)), "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(repository, filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}

// The tests and stories that docs/guarantees.md names are there.
func TestDocsGuarantees(t *testing.T) {
	t.Parallel()
	named := 0
	for _, row := range strings.Split(readDoc(t, filepath.Join(repository, "docs/guarantees.md")), "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 4 {
			continue
		}
		for _, place := range strings.Split(cells[2], ";") {
			names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(place, -1)
			if len(names) < 2 {
				continue
			}
			for _, name := range names[1:] {
				named++
				if !hasTest(t, filepath.Join(repository, names[0][1]), name[1]) {
					t.Errorf("docs/guarantees.md names %s, which is not in %s", name[1], names[0][1])
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d tests are named", named)
	}
}

// hasTest reports whether a folder has a story or a test of that name.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return true
	}
	name, part, _ := strings.Cut(name, "/")
	part = strings.ReplaceAll(part, "_", " ")
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	return slices.ContainsFunc(files, func(f string) bool {
		text := readDoc(t, f)
		return strings.Contains(text, "func "+name+"(") && (part == "" || strings.Contains(text, fmt.Sprintf("t.Run(%q", part)))
	})
}

// Every file and folder that the architecture names is there.
func TestDocsPaths(t *testing.T) {
	t.Parallel()
	tops := regexp.MustCompile("^(cmd|lang|planner|providers|state|internal|examples|docs)/")
	for _, page := range []string{"docs/architecture.md", "CONTRIBUTING.md", "docs/host-queue.md"} {
		for _, m := range regexp.MustCompile("`([^`\\s]+)`").FindAllStringSubmatch(readDoc(t, filepath.Join(repository, page)), -1) {
			if !tops.MatchString(m[1]) || strings.Contains(m[1], "NAME") {
				continue
			}
			if _, err := os.Stat(filepath.Join(repository, m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
}

func readDoc(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
