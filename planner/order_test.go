package planner

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/providers/offer"
)

// A node is a block of text: a head, and parts in an order that means nothing.
type node struct {
	head  string
	parts []any // string (an attribute) or node
}

// text writes a node with its parts in any order.
func (n node) text(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(n.head + " {\n")
	for _, i := range r.Perm(len(n.parts)) {
		switch p := n.parts[i].(type) {
		case node:
			b.WriteString(p.text(r))
		case set:
			b.WriteString(p.text(r) + "\n")
		default:
			fmt.Fprintln(&b, p)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// A set is an attribute whose elements have no order.
type set struct {
	head, open, end string
	parts           []any
}

func (s set) text(r *rand.Rand) string {
	var out []string
	for _, i := range r.Perm(len(s.parts)) {
		if inner, ok := s.parts[i].(set); ok {
			out = append(out, inner.text(r))
		} else {
			out = append(out, fmt.Sprint(s.parts[i]))
		}
	}
	return s.head + s.open + strings.Join(out, ", ") + s.end
}

func list(name string, elements ...any) set { return set{name + " = ", "[", "]", elements} }

func object(name string, elements ...any) set { return set{name + " = ", "{ ", " }", elements} }

// unordered is a campaign with every kind of block and list whose order means
// nothing.
func unordered() []node {
	return []node{
		{`campaign "order"`, []any{`description = "x"`, `max_parallel = 3`}},
		{`variable "lr"`, []any{`type = number`, `default = 0.1`}},
		{`locals`, []any{`a = 1`, `b = local.a + 1`}},
		{`grid "g"`, []any{
			object("axes", list("N", 384, 512), list("n", 1, 2, 3), list("kind", `"x"`, `"y"`), list("rep", 1, 2)),
			list("repeat", `"rep"`), `where = cell.N < 512 || cell.n > 1`,
			list("include", `{ N = 768, n = 9, kind = "x", rep = 1 }`, `{ N = 769, n = 9, kind = "x", rep = 1 }`),
		}},
		{`phase "teachers"`, []any{
			node{"grid", []any{object("axes", list("N", 384, 512, 768, 769))}},
			object("params", "steps = 100", "lr = var.lr"),
			node{"job", []any{
				`command = "train ${cell.N} ${param.steps} ${param.lr} > ${output.model}; touch ${output.log}"`,
				object("env", `A = "1"`, `B = "2"`),
				node{`output "model"`, []any{`path = "m/${cell.N}"`, `min_size = "1KiB"`}},
				node{`output "log"`, []any{`path = "l/${cell.N}"`}},
				node{"resources", []any{`cpus = 1`, `walltime = "10m"`}},
			}},
			node{"smoke", []any{object("params", "steps = 1"), `walltime = "1m"`, list("cells", "{ N = 384 }", "{ N = 768 }")}},
			node{"retry", []any{list("on", `"oom"`, `"preempted"`, `"node_failure"`), `max_attempts = 3`, node{`scale "oom_host"`, []any{`memory = 2`, `walltime = 1.5`}}}},
		}},
		{`phase "students"`, []any{
			`grid = grid.g`, node{"pilot", []any{`cells = "first"`}},
			node{"job", []any{
				`command = "distill ${input.teacher} ${cell.n} ${cell.kind} ${local.b} > ${output.out}"`,
				node{`input "teacher"`, []any{`from = phase.teachers.output.model`}},
				node{`output "out"`, []any{`path = "o/${cell.key}"`}},
				node{"resources", []any{`walltime = "${cell.n + 5}m"`, `cpus = 1`}},
			}},
		}},
		{`phase "plot"`, []any{
			list("depends_on", "phase.teachers", "phase.students"),
			node{"job", []any{
				`command = "plot ${input_file.all} > ${output.fig}"`,
				node{`input "all"`, []any{`from_all = phase.students.output.out`}},
				node{`output "fig"`, []any{`path = "fig"`}}, node{"resources", []any{`walltime = "5m"`}},
			}},
		}},
		{`budget "b"`, []any{object("limits", "cpu_hours = 9", "usd = 1"), list("applies_to", "phase.students", "phase.plot"), `warn_at = 0.5`}},
	}
}

// scatter writes the blocks in any order over some files.
func scatter(blocks []node, r *rand.Rand) map[string][]byte {
	files := map[string][]byte{}
	n := 1 + r.Intn(4)
	for _, i := range r.Perm(len(blocks)) {
		name := fmt.Sprintf("%c.muster.hcl", 'a'+r.Intn(n))
		files[name] = append(files[name], blocks[i].text(r)...)
	}
	return files
}

// TestOrderMeansNothing: axes, their values, lists, attributes, blocks and
// files in another order give the same plan, hashes, gates and figures.
func TestOrderMeansNothing(t *testing.T) {
	t.Parallel()
	of := func(fatal func(...any), seed int64) *Plan {
		r := rand.New(rand.NewSource(seed))
		files := scatter(unordered(), r)
		c, diags := lang.LoadFiles(files, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
		if diags.HasErrors() {
			fatal(diags)
		}
		p, diags := Make(input(c, nil))
		if diags.HasErrors() {
			fatal(diags)
		}
		return p
	}
	want := of(t.Fatal, 1)
	rapid.Check(t, func(rt *rapid.T) {
		got := of(rt.Fatal, rapid.Int64().Draw(rt, "order"))
		if diff := cmp.Diff(content(want), content(got)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

// What of a plan is compared: all but the digest of the files as they are.
type planContent struct {
	Rows     []string
	Counts   Counts
	Forecast forecast.Forecast
	Budgets  []BudgetCheck
	Ceiling  map[string]string
	Notes    []string
}

func content(p *Plan) planContent {
	out := planContent{Counts: p.Counts, Forecast: p.Forecast, Budgets: p.Budgets, Ceiling: p.Ceiling, Notes: p.Notes}
	for _, pp := range p.Phases {
		for i := range pp.Kind {
			out.Rows = append(out.Rows, fmt.Sprint(pp.Phase.Address(i), pp.Kind[i], pp.Result[i], requestOf(pp.Phase, i).Hash, pp.Decision(i).Backend, pp.Decision(i).Shape.Walltime))
		}
		out.Rows = append(out.Rows, fmt.Sprint(pp.Pilot, pp.Smoke != nil && len(pp.Smoke.Run) > 0))
		if pp.Smoke != nil {
			out.Rows = append(out.Rows, fmt.Sprint(pp.Smoke.Run, pp.Smoke.Prints))
		}
	}
	return out
}
