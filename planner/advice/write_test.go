package advice

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
)

// TestRewrite: lines are replaced and added where they belong, with the indent and line
// ends of the file; what has no line of its own is left to a person.
func TestRewrite(t *testing.T) {
	t.Parallel()
	const src = "phase \"p\" {\r\n  job {\r\n    resources { memory = \"64GB\" }\r\n    walltime = \"2h\"\r\n  }\r\n}"
	files := map[string]*hcl.File{"a.muster.hcl": {Bytes: []byte(src)}, "b.muster.hcl": {Bytes: []byte("x = 1\n")}}
	out, left := Rewrite(files, []Proposal{
		{Title: "replaced", Edit: Edit{File: "a.muster.hcl", Line: 4, Before: `walltime = "2h"`, After: `walltime = "1h"`}},
		{Title: "taken apart", Edit: Edit{File: "a.muster.hcl", Line: 3, Before: `resources { memory = "64GB" }`, After: "resources {\n  memory = \"11GB\"\n  cpus = 2\n}"}},
		{Title: "added", Edit: Edit{File: "a.muster.hcl", Line: 1, After: "max_parallel = 3"}},
		{Title: "below the last line", Edit: Edit{File: "a.muster.hcl", Line: 6, After: "}"}},
		{Title: "the same line again", Edit: Edit{File: "a.muster.hcl", Line: 4, Before: `walltime = "2h"`, After: `walltime = "3h"`}},
		{Title: "by cell", Edit: Edit{File: "a.muster.hcl", Line: 2, Before: "job {", Value: "11GB"}},
		{Title: "another text", Edit: Edit{File: "a.muster.hcl", Line: 5, Before: "y = 1", After: "y = 2"}},
		{Title: "no line", Edit: Edit{After: "failure {}"}},
		{Title: "no file", Edit: Edit{File: "c.muster.hcl", Line: 1, Before: "x", After: "y"}},
	})
	const want = "phase \"p\" {\r\n  max_parallel = 3\r\n  job {\r\n    resources {\r\n      memory = \"11GB\"\r\n      cpus = 2\r\n    }\r\n    walltime = \"1h\"\r\n  }\r\n}\r\n  }\r\n"
	if len(out) != 1 || string(out["a.muster.hcl"]) != want {
		t.Errorf("%d files, %q, want %q", len(out), out["a.muster.hcl"], want)
	}
	var titles []string
	for _, p := range left {
		titles = append(titles, p.Title)
	}
	if len(left) != 5 {
		t.Errorf("left to a person: %q", titles)
	}
}
