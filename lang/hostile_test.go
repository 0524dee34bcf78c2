package lang

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// TestHostile loads what nobody writes by hand: a clear error, no panic.
func TestHostile(t *testing.T) {
	t.Parallel()
	deep := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, c := range map[string]struct{ src, want string }{
		"10 MB of brackets":       {"locals {\n a = " + deep("[", 10<<20), "too large"},
		"1 MB of brackets":        {"locals {\n a = " + deep("[", 1<<20), "nested too deeply"},
		"1 MB of minus signs":     {"locals {\n a = " + deep("-", 1<<20) + "1\n}", "nested too deeply"},
		"blocks in blocks":        {deep("a {\n", 100_000), "nested too deeply"},
		"questions":               {"locals {\n a = " + deep("true ? 1 : ", 100_000) + "1\n}", "nested too deeply"},
		"interpolations":          {"locals {\n a = " + deep("\"${", 100_000), "nested too deeply"},
		"directives":              {"locals {\n a = \"" + deep("%{ if true }", 100_000), "nested too deeply"},
		"invalid UTF-8":           {"locals {\n a = \"\xff\"\n}", "not UTF-8"},
		"UTF-16":                  {"\xff\xfel\x00", "UTF-16"},
		"NUL":                     {"locals {\n a = \"\x00\"\n}", "NUL"},
		"self-reference":          {"locals {\n a = local.a\n}", "refers to itself"},
		"a grid of 10^12 cells":   {"phase \"p\" {\n grid { axes = { a = range(1000), b = range(1000), c = range(1000), d = range(1000) } }\n job { command = \"x\" }\n}", "1,000,000,000,000 cells"},
		"a grid of 10^60 cells":   {"grid \"g\" {\n axes = {\n" + axes20() + "}\n}", "too large"},
		"a long list":             {"locals {\n a = setproduct(range(1000), range(1000), range(1000), range(1000))\n}", ""},
		"a long loop joined":      {"locals {\n a = join(\"\", [for i in range(100000) : \"x\"])\n b = nothing.here\n}", "Unknown name"},
		"JSON of brackets":        {"locals {\n a = jsondecode(join(\"\", [for i in range(100000) : \"[\"]))\n}", "nested more than 500 deep"},
		"an open quote":           {"phase \"p\" {\n job {\n command = \"x\n }\n}\nphase \"q\" {}\n", "continues past the end of its line"},
		"an open heredoc":         {"phase \"p\" {\n job {\n command = <<-EOT\nx\n }\n}\n", "A heredoc has no end: Write EOT"},
		"a huge exponent":         {"locals {\n a = 2E222222222\n}", "beyond all bounds"},
		"a huge exponent in text": {"locals {\n a = tonumber(\"2E22222222\")\n}", "too large"},
		"a million digits":        {"locals {\n a = 1" + deep("0", 1<<20) + "\n}", "more than 10000 digits"},
		"doubling locals":         {doubling(), ""},
		"doubling objects":        {strings.NewReplacer("\"${", "{ x = ", "}${", ", y = ", "}\"", " }").Replace(doubling()), "The value is too large"},
		"nothing":                 {"", ""},
		"a mark at the front":     {"\xef\xbb\xbfphase \"p\" {\n job { command = \"x\" }\n}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ds := load(t, c.src)
			if c.want == "" {
				return
			}
			if !ds.HasErrors() {
				t.Fatal("no error")
			}
			if text := ds[0].Summary + ": " + ds[0].Detail; !strings.Contains(text, c.want) || len(ds) > 3 {
				t.Errorf("%d diagnostics, the first %.300s; want %s", len(ds), text, c.want)
			}
		})
	}
}

func axes20() string {
	var b strings.Builder
	for i := range 20 {
		b.WriteString(string(rune('a'+i)) + " = range(1000)\n")
	}
	return b.String()
}

// doubling makes a text that doubles with every local.
func doubling() string {
	var b strings.Builder
	b.WriteString("locals {\n a0 = \"x\"\n")
	for i := 1; i < 64; i++ {
		b.WriteString(" a" + itoa(i) + " = \"${local.a" + itoa(i-1) + "}${local.a" + itoa(i-1) + "}\"\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestNoCampaign(t *testing.T) {
	t.Parallel()
	if _, ds := Load(LoadOptions{Dir: t.TempDir()}); len(ds) != 1 || ds[0].Summary != "There is no campaign here" {
		t.Error(ds)
	}
	if _, ds := Load(LoadOptions{Dir: "/nonexistent"}); len(ds) != 1 || !ds.HasErrors() {
		t.Error(ds)
	}
}

// TestAllFilesTogether finds the errors of several files in one go, also when
// one of them cannot be parsed, and nothing that only follows from that.
func TestAllFilesTogether(t *testing.T) {
	t.Parallel()
	_, ds := LoadFiles(map[string][]byte{
		"a.muster.hcl": []byte("locals {\n x = [1,\n}\n"),
		"b.muster.hcl": []byte("phase \"p\" {\n job {\n command = \"x ${local.x} ${var.y}\"\n resources { walltime = \"4\" }\n }\n}\n"),
		"c.muster.hcl": []byte("phaze \"q\" {\n}\n"),
	}, LoadOptions{Dir: t.TempDir(), Schemas: schemas})
	var got []string
	for _, d := range ds {
		got = append(got, d.Subject.Filename)
	}
	if strings.Join(got, " ") != "a.muster.hcl b.muster.hcl c.muster.hcl" {
		t.Errorf("%s", ds)
	}
	if ds[1].In != `phase "p"` {
		t.Errorf("in %q", ds[1].In)
	}
}

// FuzzLoad looks for panics and for time without end in whatever is written.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/broken/*.hcl", "../examples/*/*.muster.hcl"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			if src, err := os.ReadFile(file); err == nil {
				f.Add(src)
			}
		}
	}
	files, _ := filepath.Glob(docsDir + "/*.md")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			for _, m := range example.FindAllSubmatch(text, -1) {
				f.Add(m[1])
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 16<<10 || bytes.Contains(src, []byte("file")) {
			return
		}
		c, ds := LoadFiles(map[string][]byte{"a.muster.hcl": src}, LoadOptions{Dir: dir, Schemas: schemas, Version: "0.1.0"})
		if ds.HasErrors() || c == nil {
			return
		}
		for _, p := range c.Phases {
			for _, i := range []int{0, p.Len() - 1} {
				if i < 0 {
					continue
				}
				key := p.Key(i)
				if j, ok := p.Index(key); !ok || j != i {
					t.Errorf("cell %d has the key %q, which is cell %d", i, key, j)
				}
				for _, v := range []Variant{Run, SmokeRun} {
					p.AppendResult(nil, i, v)
					p.Render(i, Target{Variant: v, Workdir: "/w", Input: func(string) []string { return []string{"/i"} }})
					_ = p.Requests(v)[p.RequestOf(i, v)]
				}
				p.CheckPreconditions(i)
				p.CheckExpect(i, SmokeRun, nil)
			}
			p.Definition()
		}
		c.EvalResults(nil)
	})
}

// TestFlood tells as many mistakes as a person can read, in time that does
// not grow with the square of their number.
func TestFlood(t *testing.T) {
	t.Parallel()
	_, ds := load(t, strings.Repeat("phse \"p\" {}\n", 50_000))
	if len(ds) != mostTold+1 || ds[mostTold].Summary != "There is more" {
		t.Errorf("%d diagnostics, the last %s", len(ds), ds[len(ds)-1])
	}
}

// TestOddEntries: folders with a campaign file's name are passed over; links
// that lead nowhere are told.
func TestOddEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.muster.hcl"), []byte("phase \"p\" {\n  job { command = \"x\" }\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.muster.hcl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ds := Load(LoadOptions{Dir: dir, Schemas: schemas}); len(ds) > 0 {
		t.Error(ds)
	}
	if err := os.Symlink("loop.muster.hcl", filepath.Join(dir, "loop.muster.hcl")); err != nil {
		needs.Absent(t, err)
	}
	if _, ds := Load(LoadOptions{Dir: dir, Schemas: schemas}); len(ds) != 1 || ds[0].Summary != "A file cannot be read" {
		t.Error(ds)
	}
}

// TestBackendTypesOfOddFiles ends although a pipe has no end.
func TestBackendTypesOfOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "z.muster.hcl")); err != nil {
		needs.Absent(t, err)
	}
	if got := BackendTypes(dir); len(got) != 0 {
		t.Errorf("types %v", got)
	}
}
