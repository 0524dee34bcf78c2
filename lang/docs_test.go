package lang

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang/schema"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/reference/language")

const (
	docsDir   = "../docs/reference/language"
	endOfHead = "<!-- end of the table; `go test ./lang -run TestReference -update` writes what is above -->\n"
)

// pages are the blocks of the language by page.
func pages() map[string]*schema.Block {
	out := map[string]*schema.Block{}
	var walk func(b *schema.Block)
	walk = func(b *schema.Block) {
		for _, c := range b.Blocks {
			if out[c.Name] == nil {
				out[c.Name] = c
			}
			walk(c)
		}
	}
	walk(schema.Language)
	return out
}

// head is the tables' description of a block: its form, its attributes with
// types and defaults, and the blocks in it.
func head(b *schema.Block) string {
	var s strings.Builder
	form := b.Name
	for _, l := range b.Labels {
		form += fmt.Sprintf(" \"%s\"", strings.ToUpper(l))
	}
	fmt.Fprintf(&s, "# %s\n\n    %s { … }\n\n%s\n", b.Name, form, b.Doc)
	if len(b.Attrs) > 0 {
		s.WriteString("\n| attribute | type | default | |\n|---|---|---|---|\n")
	}
	for _, a := range b.Attrs {
		def := a.Default
		if a.Required {
			def = "**required**"
		}
		fmt.Fprintf(&s, "| `%s` | %s | %s | %s |\n", a.Name, a.Type, def, strings.ReplaceAll(a.Doc, "|", "\\|"))
	}
	if len(b.Blocks) > 0 {
		s.WriteString("\n| block | how many | |\n|---|---|---|\n")
	}
	for _, c := range b.Blocks {
		many := "any number"
		if c.Single {
			many = "at most one"
		}
		fmt.Fprintf(&s, "| [`%s`](%s.md) | %s | %s |\n", c.Name, c.Name, many, c.Doc)
	}
	return s.String() + "\n" + endOfHead
}

// TestReference compares the reference with the tables: every block has a
// page that says what the tables say, and nothing else has one.
func TestReference(t *testing.T) {
	for name, spec := range pages() {
		file := filepath.Join(docsDir, name+".md")
		old, err := os.ReadFile(file)
		_, tail, _ := strings.Cut(string(old), endOfHead)
		if *update {
			if err := os.WriteFile(file, []byte(head(spec)+tail), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		switch {
		case err != nil:
			t.Errorf("block %s has no page: %v", name, err)
		case !strings.HasPrefix(string(old), head(spec)):
			t.Errorf("%s does not say what the tables say; run go test ./lang -run TestReference -update", file)
		case !strings.Contains(tail, "```hcl\n"):
			t.Errorf("%s has no example", file)
		}
	}
	files, _ := filepath.Glob(filepath.Join(docsDir, "*.md"))
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".md"); name != "README" && pages()[name] == nil {
			t.Errorf("%s describes a block that is not in the language", f)
		}
	}
}

var example = regexp.MustCompile("(?s)```hcl\n(.*?)```")

// TestExamples loads every example of the reference: each is a campaign.
func TestExamples(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(docsDir, "*.md"))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range example.FindAllStringSubmatch(string(text), -1) {
				dir := t.TempDir()
				if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
					t.Fatal(err)
				}
				o := LoadOptions{Dir: dir, Schemas: schemas, Version: "0.1.0", Vars: nil, AllowUnknownVars: true}
				_, ds := LoadFiles(map[string][]byte{"a.muster.hcl": []byte(m[1])}, o)
				for _, d := range ds {
					if !strings.Contains(m[1], "notify") {
						t.Error(d)
					}
				}
			}
		})
	}
}
