package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A planSchema is the JSON of plans as docs/reference/plan.md has it: of the
// plan, a phase and a job each member, with the members that its row names.
type planSchema map[string]map[string]map[string]bool

var backticked = regexp.MustCompile("`([a-z0-9_]+)`")

// documentedPlan reads the tables under "## JSON": the first describes the plan, the others
// say what they describe.
func documentedPlan(t *testing.T) planSchema {
	t.Helper()
	_, page, ok := strings.Cut(readDoc(t, filepath.Join(repository, "docs/reference/plan.md")), "## JSON")
	if !ok {
		t.Fatal("docs/reference/plan.md has no section JSON")
	}
	page, _, _ = strings.Cut(page, "\n## ")
	schema, of := planSchema{"plan": {}, "phase": {}, "job": {}}, "plan"
	for line := range strings.Lines(page) {
		switch cells := strings.SplitN(line, "|", 3); {
		case strings.HasPrefix(line, "A phase:"):
			of = "phase"
		case strings.HasPrefix(line, "A job:"):
			of = "job"
		case len(cells) == 3:
			below := map[string]bool{}
			for _, m := range backticked.FindAllStringSubmatch(cells[2], -1) {
				below[m[1]] = true
			}
			for _, m := range backticked.FindAllStringSubmatch(cells[1], -1) {
				schema[of][m[1]] = below
			}
		}
	}
	return schema
}

// check names the members of a value of a real plan that its table has not.
// Members of members are in the row of the outermost.
func (s planSchema) check(of string, value map[string]any) (wrong []string) {
	for name, v := range value {
		row, ok := s[of][name]
		switch {
		case !ok:
			wrong = append(wrong, of+" has no row for "+name)
		case of == "plan" && (name == "phases" || name == "jobs"):
			for _, each := range v.([]any) {
				wrong = append(wrong, s.check(strings.TrimSuffix(name, "s"), each.(map[string]any))...)
			}
		case freeNames[name], name == "diagnostics": // a page of its own has those
		case strings.HasPrefix(name, "cost_by_"):
			wrong = append(wrong, unnamed(of+"."+name, merged(row, s[of]["cost"]), v)...)
		case name == "smoke":
			wrong = append(wrong, unnamed(of+"."+name, merged(row, s[of]["places"]), v)...)
		default:
			wrong = append(wrong, unnamed(of+"."+name, row, v)...)
		}
	}
	return wrong
}

// freeNames are the members whose own members are names of units or of other
// things, rather than of the format.
var freeNames = map[string]bool{"ceiling": true, "limits": true, "spent": true, "adds": true}

func unnamed(at string, row map[string]bool, v any) (wrong []string) {
	switch v := v.(type) {
	case []any:
		for _, each := range v {
			wrong = append(wrong, unnamed(at, row, each)...)
		}
	case map[string]any:
		for name, below := range v {
			if !row[name] {
				wrong = append(wrong, at+" does not name "+name)
			}
			if !freeNames[name] {
				wrong = append(wrong, unnamed(at, row, below)...)
			}
		}
	}
	return wrong
}

func merged(a, b map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, m := range []map[string]bool{a, b} {
		for name := range m {
			out[name] = true
		}
	}
	return out
}

// TestRealPlansAreAsDocumented: the reference's tables have every member of the JSON of plans
// with a little of everything, and the members that a script may count on are always there.
func TestRealPlansAreAsDocumented(t *testing.T) {
	t.Parallel()
	schema := documentedPlan(t)
	e := exampleOf(t, t.TempDir())
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(e.dir, "c.muster.hcl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	met := map[string]bool{}
	check := func(what string, args ...string) {
		t.Helper()
		var doc map[string]any
		if err := json.Unmarshal([]byte(e.muster(0, args...)), &doc); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for _, wrong := range schema.check("plan", doc) {
			t.Errorf("%s: docs/reference/plan.md, %s", what, wrong)
		}
		for _, always := range []string{"format_version", "type", "id", "campaign", "counts", "phases", "cost", "walltime", "jobs"} {
			if _, ok := doc[always]; !ok {
				t.Errorf("%s: no %s", what, always)
			}
		}
		for name := range doc {
			met[name] = true
		}
	}
	many := func(seeds string) string { return strings.ReplaceAll(manyThings, "SEEDS", seeds) }
	e.env = append(e.env, "MUSTER_NOW=2026-10-01T09:00:00Z")
	write(many("6"))
	check("a campaign that has not begun", "plan", "-json", "-reason=first", "-out=a.mplan")
	check("the same, saved", "show", "-json", "a.mplan")
	e.muster(0, "apply", "-auto-approve", "-target=phase.prep", "-target=phase.train")
	e.env[len(e.env)-1] = "MUSTER_NOW=2026-10-05T09:00:00Z"
	check("done in part", "plan", "-json")
	write(strings.Replace(many("5"), `"prep ${`, `"prep -v ${`, 1))
	check("changed: re-runs and jobs that are not wanted", "plan", "-json")
	write(strings.Replace(many("6"), "service_units = 1000 }", "service_units = 1 }", 1))
	check("more than a flag may approve", "plan", "-json")
	check("destroy", "plan", "-destroy", "-json")
	for _, name := range []string{"lineage", "serial", "reason", "destroy", "backends", "other", "cost_by_pool", "critical_path", "budgets", "ceiling", "needs_saved_plan", "basis", "notes"} {
		if !met[name] {
			t.Errorf("no plan of this test has %s: %s", name, fmt.Sprint(met))
		}
	}
}
