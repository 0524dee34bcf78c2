package addr

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`phase.students`:                  `phase.students`,
		`phase.students["N=384,seed=42"]`: `phase.students["N=384,seed=42"]`,
		`phase.students["seed=42,N=384"]`: `phase.students["N=384,seed=42"]`,
		`phase.p["s=\"a b\""]`:            `phase.p["s=\"a b\""]`,
		`phase.p["s=\"plain\""]`:          `phase.p["s=plain"]`,
		`students`:                        "error",
		`phase.students[N=384]`:           "error",
		`phase.students["N"]`:             "error",
		`phase.students["N=1,N=2"]`:       "error",
		`phase.students["N=1,"]`:          "error",
		`phase.students["N=a b"]`:         "error",
		`phase.students[""]`:              "error",
		`phase.students["N=1"] `:          "error",
		`phase.9`:                         "error",
		`phase.`:                          "error",
		``:                                "error",
	} {
		t.Run(in, func(t *testing.T) {
			j, err := Parse(in)
			got := j.String()
			if err != nil {
				got = "error"
			}
			if got != want {
				t.Errorf("got %s (%v), want %s", got, err, want)
			}
		})
	}
}

var hostile = rapid.StringOf(rapid.SampledFrom([]rune("a1\",[]=\\${}% \n\t\x00é漢\u202e\U0001F600'\u007f#*?")))

func TestKeysRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		pairs := []Pair{{"a", hostile.Draw(rt, "a")}, {"b", hostile.Draw(rt, "b")}}
		key := JoinKey(pairs)
		got, err := ParseKey(key)
		if err != nil || len(got) != 2 || got[0] != pairs[0] || got[1] != pairs[1] {
			rt.Fatalf("%s: got %q, %v", key, got, err)
		}
		j := Job{Phase: "p", Key: key}
		if back, err := Parse(j.String()); err != nil || back != j {
			rt.Fatalf("%s: got %s, %v", j, back, err)
		}
		if sel, err := ParseSelection(j.String()); err != nil || !sel.Match(j, "") {
			rt.Fatalf("%s does not select itself: %v", j, err)
		}
		// and pasted into a campaign it is the same key
		e, ds := hclsyntax.ParseExpression([]byte(j.String()), "", hcl.InitialPos)
		if ds.HasErrors() {
			rt.Fatal(ds)
		}
		tr, ds := hcl.AbsTraversalForExpr(e)
		if ds.HasErrors() || tr[2].(hcl.TraverseIndex).Key.AsString() != key {
			rt.Fatalf("%s is not a reference in HCL", j)
		}
	})
}

func jobs() []Candidate {
	var out []Candidate
	for _, n := range []string{"384", "512"} {
		out = append(out, Candidate{Job{"teachers", "N=" + n}, "teacher-N" + n})
	}
	for _, n := range []string{"384", "512"} {
		for _, s := range []string{"42", "200", "201"} {
			out = append(out, Candidate{Job{"students", "N=" + n + ",seed=" + s}, "s" + s + "_N" + n})
		}
	}
	return append(out, Candidate{Job{Phase: "figure"}, "figure"}, Candidate{Job{Phase: "table"}, "dpi=300"})
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		`phase.students`:                  6,
		`phase.students["N=384,*"]`:       3,
		`phase.students["seed=2*,*"]`:     4,
		`phase.students["*"]`:             6,
		`phase.students[N=384,seed=42]`:   1,
		`phase.students['N=384,seed=42']`: 1,
		`phase.students["seed=42,N=384"]`: 1,
		`phase.students[N=384,*`:          3,
		`seed=42`:                         2,
		`N=384,seed=42`:                   1,
		`seed=20?`:                        4,
		`s42_N384`:                        1,
		`teacher-*`:                       2,
		`phase.*`:                         10,
		`dpi=300`:                         1,
		`phase.figure`:                    1,
	} {
		t.Run(in, func(t *testing.T) {
			got, ds := Select([]string{in}, jobs())
			if ds.HasErrors() || len(got) != want {
				t.Errorf("got %d, %v; want %d", len(got), ds.Err(), want)
			}
		})
	}
	for in, want := range map[string]string{
		`phase.student`:             `did you mean "students"`,
		`students`:                  `did you mean "phase.students"`,
		`N=384`:                     "ambiguous",
		`phase.students["N=384"]`:   "Where you leave axes out",
		`phase.students["sed=1,*"]`: `there is no axis "sed"`,
		`seed=9`:                    "No job matches",
		`s42_N38`:                   `did you mean "s42_N384"`,
		``:                          "empty",
		`phase.students[]`:          "empty",
		`phase.students["N=1`:       "must be inside",
	} {
		t.Run(in, func(t *testing.T) {
			_, ds := Select([]string{in}, jobs())
			if !ds.HasErrors() || !strings.Contains(ds.Err().Error(), want) {
				t.Errorf("got %v, want %s", ds.Err(), want)
			}
		})
	}
}

// TestASelectionIsMendedByWhatItSays: the address that a message proposes has all axes of the
// phase, survives a shell, and selects the intended jobs.
func TestASelectionIsMendedByWhatItSays(t *testing.T) {
	t.Parallel()
	all := append(jobs(), Candidate{Job{"short", "N=384"}, ""}, Candidate{Job{"short", "N=2"}, ""},
		Candidate{Job{"named", `s="a b",z=1`}, ""}, Candidate{Job{"other", `s="a b"`}, ""}, Candidate{Job{"other", "s=\"it's\""}, ""})
	for in, want := range map[string]struct {
		say  string // between single quotes
		hits int
	}{
		`N=38*`:                   {`phase.teachers["N=38*"]`, 1},
		`s=a b`:                   {`phase.named["s=\"a b\",*"]`, 1},
		`s="a b"`:                 {`phase.named["s=\"a b\",*"]`, 1},
		`phase.students["N=384"]`: {`phase.students["N=384,*"]`, 3},
		`phase.named["s=a b"]`:    {`phase.named["s=\"a b\",*"]`, 1},
		`phase.short["N=7"]`:      {},
		`phase.*["N=384,seed=7"]`: {},
	} {
		_, ds := Select([]string{in}, all)
		if !ds.HasErrors() {
			t.Errorf("%s selects", in)
			continue
		}
		text := ds.Err().Error()
		if want.say == "" {
			if strings.Contains(text, "*\"]'") {
				t.Errorf("%s: %s", in, text)
			}
			continue
		}
		if !strings.Contains(text, "'"+want.say+"'") {
			t.Errorf("%s: %s", in, text)
		}
		if got, ds := Select([]string{want.say}, all); ds.HasErrors() || len(got) != want.hits {
			t.Errorf("%s selects %d: %v", want.say, len(got), ds.Err())
		}
	}
	one := []Candidate{{Job{"p", "i=1"}, ""}, {Job{"q", "i=1,j=1"}, ""}}
	if _, ds := Select([]string{"i=*"}, one); !strings.Contains(ds.Err().Error(), `'phase.p["i=*"]'`) {
		t.Error(ds.Err())
	}
	quoted := []Candidate{{Job{"p", `s="it's"`}, ""}, {Job{"q", `s="it's"`}, ""}}
	if _, ds := Select([]string{"s=it's"}, quoted); !strings.Contains(ds.Err().Error(), `'phase.p["s=\"it'\''s\""]'`) {
		t.Error(ds.Err())
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{`phase.a["N=1"]`, `phase.a["s=\"x\""]`, `seed=42`, `phase.*[*`, `a=",`, "phase.a[\"s=\\\"\\u0000\\\"\"]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if j, err := Parse(s); err == nil {
			if back, err := Parse(j.String()); err != nil || back != j {
				t.Errorf("%q: %v, then %v (%v)", s, j, back, err)
			}
		}
		if pairs, err := ParseKey(s); err == nil && s != "" {
			if back, err := ParseKey(JoinKey(pairs)); err != nil || len(back) != len(pairs) {
				t.Errorf("%q: %v, then %v", s, pairs, back)
			}
		}
		Select([]string{s}, jobs())
	})
}

// TestSplit: what is printed is taken apart again.
func TestSplit(t *testing.T) {
	for _, j := range []Job{{Phase: "a"}, {Phase: "a-b", Key: "n=1"}, {Phase: "a", Key: "n=1,rep=2"}, {Phase: "a", Key: `n="q]"`}, {Phase: "a", Key: `n="x\\y"`}} {
		if phase, key, ok := Split(j.String()); !ok || phase != j.Phase || key != j.Key {
			t.Errorf("%s: %q, %q, %t", j, phase, key, ok)
		}
	}
	for _, bad := range []string{"", "a", "smoke.phase.a", `phase.a[n=1]`, `phase.a["n=1`, `phase.a[""]x`} {
		if phase, key, ok := Split(bad); ok {
			t.Errorf("%q: %q, %q", bad, phase, key)
		}
	}
}
