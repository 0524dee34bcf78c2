package aris

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// A target is a phase of the campaign to be.
type target struct {
	src     *phase
	id      string
	grid    []column
	rows    []row    // instead: one axis, job, of objects
	attrs   []string // attributes of the rows, in order
	repeat  []string
	name    text // nil: the default label
	command command
	outputs []output
	files   []text // preconditions
	inputs  []edge
	after   []string
	cells   []map[string]string // by reference; nil when there are too many
	idle    bool                // asks for no GPU
	done    []string            // keys of rows whose results are there
}

type column struct {
	name   string
	values []value
}

// A row is one object of the axis job.
type row struct {
	key    string
	values map[string]value
}

type output struct {
	name   string
	kind   string // path, glob, dir
	path   text
	shared bool
	at     hcl.Range
}

type edge struct{ name, phase, output string }

// A converter turns a manifest into a campaign.
type converter struct {
	m        *manifest
	r        *reader
	o        Options
	targets  []*target
	byPhase  map[string][]*target // by the name in the manifest
	variable bool                 // var.command is needed
	host     host
}

func (c *converter) convert() {
	c.host = c.r.host(c.m, c.o)
	c.byPhase = map[string][]*target{}
	for _, p := range c.m.phases {
		var ts []*target
		if p.template != nil {
			ts = []*target{c.fromTemplate(p)}
		} else {
			ts = c.fromJobs(p)
		}
		c.byPhase[p.name] = ts
		c.targets = append(c.targets, ts...)
	}
	if c.r.ds.HasErrors() {
		return
	}
	for _, t := range c.targets {
		for _, d := range t.src.dependsOn {
			for _, up := range c.byPhase[strings.TrimSpace(d.text)] {
				if !slices.Contains(t.after, up.id) {
					t.after = append(t.after, up.id)
				}
			}
		}
	}
	c.labels()
	c.shareOutputs()
	c.preconditions()
	for _, t := range c.targets {
		c.edges(t)
		t.inBash(c.r)
		t.repeats(c.r)
	}
	c.analysis()
}

// fromTemplate makes a phase of a grid and a template.
func (c *converter) fromTemplate(p *phase) *target {
	t := &target{src: p, id: p.id}
	refs, names := map[string]string{}, []string(nil)
	for _, a := range p.axes {
		t.grid = append(t.grid, column{a.id, a.values})
		refs[a.name] = "cell." + a.id
		names = append(names, a.name)
	}
	lookup := func(name string) (string, bool) { ref, ok := refs[name]; return ref, ok }
	t.cells = cellsOf(t.grid)
	cmp := &composer{r: c.r, job: p.template, what: "the template of phase " + p.id, lookup: lookup, names: names, quoteIt: t.unsafe}
	var missing bool
	t.command, missing = cmp.compose(c.m.defaultCmd)
	c.needVariable(p.template, missing)
	for _, o := range p.template.outputs {
		path, unknown := parseText(o.text, lookup)
		c.known(o, "the output", unknown, names)
		if t.control(path) {
			c.r.warn(o.at, "A control character in an output", "A value of the grid puts one into %q, so this output is not carried over.", clip(o.text))
		} else if out, ok := c.output(o.at, path); ok {
			t.addOutput(out)
		}
	}
	if id := p.template.id; id != nil {
		name, unknown := parseText(id.text, lookup)
		c.known(id, "the id", unknown, names)
		if t.name = c.safe(id, name); t.control(name) {
			c.r.warn(id.at, "A control character in an id", "A value of the grid puts one into %q, so the jobs have the labels that muster gives them.", clip(id.text))
			t.name = nil
		}
	}
	return t
}

// control reports whether a value puts a control character into a text.
func (t *target) control(x text) bool {
	return slices.ContainsFunc(x.refs(), func(ref string) bool {
		return slices.ContainsFunc(t.values(ref), func(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) })
	})
}

func (c *converter) needVariable(j *job, missing bool) {
	if missing && !c.variable {
		c.variable = true
		c.r.warn(j.at, "No command", "There are args, but neither cmd nor default_cmd. Name the program when you run the campaign: -var command='python train.py'.")
	}
}

// known reports placeholders without a value where no shell would fill them in.
func (c *converter) known(n *node, what string, unknown, names []string) {
	for _, w := range unknown {
		hint := "."
		if s := diag.Suggest(strings.Trim(w, "${}"), names); s != "" {
			hint = fmt.Sprintf("; did you mean ${%s}?", s)
		} else if len(names) > 0 {
			hint = "; the axes are " + strings.Join(names, ", ") + "."
		}
		if w[0] == '{' {
			c.r.warn(n.at, "Unresolved variable", "Nothing gives %s in %s a value, so it stays as it is%s", w, what, hint)
			continue
		}
		c.r.ds.Errorat(n.at, "Unresolved variable", "Nothing gives %s in %s a value%s", w, what, hint)
	}
}

var unsafeID = lazyregexp.New(`[^A-Za-z0-9._+=,@-]+`)

// safe makes a label of an id: the queue put it unquoted into a shell.
func (c *converter) safe(id *node, t text) text {
	var bad []string
	for i, p := range t {
		if p.ref == "" {
			bad = append(bad, unsafeID.FindAllString(p.lit, -1)...)
			t[i].lit = unsafeID.ReplaceAllString(p.lit, "_")
		}
	}
	if len(bad) > 0 {
		c.unsafeID(id, strings.Join(bad, " "))
	}
	return t
}

func (c *converter) unsafeID(id *node, bad string) {
	c.r.warn(id.at, "An id with unsafe characters", "%q holds %q, which the queue handed to a shell. The job's label has _ in its place.", clip(id.text), clip(bad))
}

// mostCells are enumerated to find paths that two jobs share; beyond that only
// the axes that a text reads are checked.
const mostCells = 100_000

// cellsOf enumerates a grid; nil when it is too large.
func cellsOf(grid []column) []map[string]string {
	cells := []map[string]string{{}}
	for _, col := range grid {
		if len(cells)*len(col.values) > mostCells {
			return nil
		}
		var next []map[string]string
		for _, cell := range cells {
			for _, v := range col.values {
				m := map[string]string{"cell." + col.name: v.text}
				for k, x := range cell {
					m[k] = x
				}
				next = append(next, m)
			}
		}
		cells = next
	}
	return cells
}

// each evaluates a text in every cell, as far as they are enumerated.
func (t *target) each(x text) []string {
	out := make([]string, len(t.cells))
	for i, cell := range t.cells {
		out[i] = x.with(cell)
	}
	return out
}

// distinct reports whether a text differs between any two cells.
func (t *target) distinct(x text) bool {
	if t.cells == nil {
		refs := x.refs()
		return !slices.ContainsFunc(t.grid, func(c column) bool { return !slices.Contains(refs, "cell."+c.name) })
	}
	seen := map[string]bool{}
	for _, s := range t.each(x) {
		if seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

var shellSafe = lazyregexp.New(`^[A-Za-z0-9@%_+=:,./-]+$`)

// unsafe reports whether a reference has a value that a shell would take apart.
func (t *target) unsafe(ref string) bool {
	return slices.ContainsFunc(t.grid, func(c column) bool {
		return "cell."+c.name == ref && slices.ContainsFunc(c.values, func(v value) bool { return !shellSafe.MatchString(v.text) })
	})
}

// repeats names axes that nothing reads: the queue ran the same command
// several times, as independent samples.
func (t *target) repeats(r *reader) {
	read := t.name.refs()
	for _, x := range t.command.texts() {
		read = append(read, x.refs()...)
	}
	for _, o := range t.outputs {
		read = append(read, o.path.refs()...)
	}
	for _, c := range t.grid {
		if !slices.Contains(read, "cell."+c.name) {
			t.repeat = append(t.repeat, c.name)
			r.note("phase.%s: nothing reads the axis %s, so its jobs count as repeats of one another", t.id, c.name)
		}
	}
	if len(t.rows) > 0 && len(t.name) == 0 && len(read) == 0 {
		t.repeat = []string{"job"}
	}
}
