package aris

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
)

// phases reads the three shapes: jobs, grid and template, phases. A manifest
// that has several of them gets a phase for each.
func (r *reader) phases(m *manifest, root *node) {
	list, grid, template, phases := root.get("jobs"), root.get("grid"), root.get("template"), root.get("phases")
	if list != nil {
		m.phases = append(m.phases, &phase{name: "jobs", at: list.at, jobs: r.jobs(list)})
	}
	if grid != nil || template != nil {
		name := "jobs"
		if list != nil {
			name = "grid"
		}
		m.phases = append(m.phases, r.gridPhase(name, grid, template))
	}
	if phases != nil {
		m.phases = append(m.phases, r.phaseList(phases)...)
	}
	for _, p := range m.phases {
		if len(p.jobs) == 0 && p.template == nil && !r.ds.HasErrors() {
			r.ds.Errorat(p.at, "A phase without jobs", "The phase %q holds no job: it has neither jobs nor a template.", clip(p.name))
		}
	}
	if len(m.phases) == 0 && !r.ds.HasErrors() {
		r.ds.Errorat(root.at, "The manifest holds no jobs", "It has neither jobs, nor grid and template, nor phases. Nothing would run.")
	}
	r.names(m)
}

// gridPhase is grid and template, one of which may be missing.
func (r *reader) gridPhase(name string, grid, template *node) *phase {
	p := &phase{name: name}
	if grid != nil {
		p.at = grid.at
		p.axes = r.axes(grid)
	}
	if template == nil {
		r.ds.Errorat(grid.at, "A grid without a template", "Add template: {id: …, cmd: …}, which says what each point of the grid runs.")
		return p
	}
	p.at = template.at
	p.template = r.job(template, "A template")
	return p
}

func (r *reader) phaseList(n *node) (out []*phase) {
	if n.kind != list {
		r.ds.Errorat(n.at, "Invalid phases", "phases is a list of - name: …; this is %s.", n.kind)
		return nil
	}
	if len(n.items) == 0 {
		r.ds.Errorat(n.at, "The manifest holds no jobs", "The list of phases is empty. Nothing would run.")
	}
	for i, it := range n.items {
		if !r.keys(it, "A phase", "name", "depends_on", "grid", "template", "jobs", "preconditions") {
			continue
		}
		p := &phase{name: r.word(it.get("name")), at: it.at}
		if p.name == "" {
			p.name = fmt.Sprintf("phase_%d", i) // as the queue's own state calls it
			r.warn(it.at, "A phase without a name", "It is called %s here.", p.name)
		}
		if it.get("grid") != nil || it.get("template") != nil {
			g := r.gridPhase(p.name, it.get("grid"), it.get("template"))
			p.axes, p.template = g.axes, g.template
		}
		if jobs := it.get("jobs"); jobs != nil {
			if p.jobs = r.jobs(jobs); p.template != nil && len(p.jobs) > 0 {
				r.ds.Errorat(jobs.at, "Jobs beside a template", "The phase %q has both jobs and a template. Make two phases of it.", clip(p.name))
			}
		}
		p.dependsOn = it.get("depends_on").elements()
		p.preconditions = r.preconditions(it)
		out = append(out, p)
	}
	return out
}

// elements are the items of a list, or a single value as a list of one.
func (n *node) elements() []*node {
	switch {
	case n == nil:
		return nil
	case n.kind == list:
		return n.items
	}
	return []*node{n}
}

// axes reads grid: {N: [384, 512]}.
func (r *reader) axes(n *node) (out []axis) {
	if n.kind != mapping {
		r.ds.Errorat(n.at, "Invalid grid", "grid is a mapping from names to lists, {N: [384, 512]}; this is %s.", n.kind)
		return nil
	}
	for _, m := range n.keys {
		a := axis{name: m.key.text, at: m.key.at}
		items := m.val.elements()
		if m.val.kind == mapping || m.val.null() {
			r.ds.Errorat(m.val.at, "Invalid grid", "The values of %q are a list such as [384, 512].", clip(a.name))
			continue
		}
		if m.val.kind == scalar {
			r.warn(m.val.at, "One value for an axis", "%s is not a list; it is taken as the only value of %s.", clip(m.val.text), clip(a.name))
		}
		if len(items) == 0 {
			r.ds.Errorat(m.val.at, "The manifest holds no jobs", "The axis %q has no values, so the grid has no points.", clip(a.name))
		}
		for _, it := range items {
			v := r.value(it)
			if slices.ContainsFunc(a.values, func(x value) bool { return x.text == v.text }) && it.kind == scalar {
				r.ds.Errorat(it.at, "Duplicate value", "The axis %q has %s twice; the queue would drop the second job silently. Take one away.", clip(a.name), clip(v.text))
				continue
			}
			a.values = append(a.values, v)
		}
		if !allNumbers(a.values) {
			for i := range a.values {
				a.values[i].number = false // texts and numbers on one axis do not compare
			}
		}
		out = append(out, a)
	}
	return out
}

func allNumbers(vs []value) bool {
	return !slices.ContainsFunc(vs, func(v value) bool { return !v.number })
}

func (r *reader) jobs(n *node) (out []*job) {
	if n.kind != list {
		r.ds.Errorat(n.at, "Invalid jobs", "jobs is a list of - id: …; this is %s.", n.kind)
		return nil
	}
	if len(n.items) == 0 {
		r.ds.Errorat(n.at, "The manifest holds no jobs", "The list of jobs is empty. Nothing would run.")
	}
	for _, it := range n.items {
		if j := r.job(it, "A job"); j != nil {
			out = append(out, j)
		}
	}
	return out
}

func (r *reader) job(n *node, what string) *job {
	if !r.keys(n, what, "id", "cmd", "args", "expected_output", "output_check") {
		return nil
	}
	j := &job{at: n.at, id: n.get("id"), cmd: n.get("cmd"), args: n.get("args")}
	for _, key := range []string{"expected_output", "output_check"} {
		for _, o := range n.get(key).elements() {
			if o.kind != scalar || strings.TrimSpace(o.text) == "" {
				r.ds.Errorat(o.at, "Invalid "+key, "A path or pattern is needed; this is %s.", map[bool]string{true: "empty", false: o.kind.String()}[o.kind == scalar])
				continue
			}
			if !slices.ContainsFunc(j.outputs, func(x *node) bool { return x.text == o.text }) {
				j.outputs = append(j.outputs, o)
			}
		}
	}
	if j.id != nil && j.id.kind != scalar {
		r.ds.Errorat(j.id.at, "Invalid id", "An id is a text; this is %s.", j.id.kind)
		j.id = nil
	}
	return j
}

// names makes names of phases and axes fit for addresses, and checks them.
func (r *reader) names(m *manifest) {
	seen := map[string]*phase{}
	for _, p := range m.phases {
		p.id = identifier(p.name)
		if p.id != p.name {
			r.note("line %d: the phase %q is called %s here", p.at.Start.Line, clip(p.name), p.id)
		}
		if first := seen[p.id]; first != nil {
			r.ds.Errorat(p.at, "Two phases with one name", "%q is already in line %d. Rename one of them.", clip(p.name), first.at.Start.Line)
		}
		seen[p.id] = p
		r.axisNames(p)
	}
	var known []string
	for _, p := range m.phases {
		known = append(known, p.name)
	}
	for _, p := range m.phases {
		for _, d := range p.dependsOn {
			switch name := r.word(d); {
			case name == p.name:
				r.ds.Errorat(d.at, "A phase waits for itself", "%q depends on itself, so it could never start.", clip(name))
			case !slices.Contains(known, name):
				hint := "."
				if s := diag.Suggest(name, known); s != "" {
					hint = fmt.Sprintf("; did you mean %q?", s)
				}
				r.ds.Errorat(d.at, "Unknown phase", "There is no phase named %q%s The queue would wait for ever.", clip(name), hint)
			}
		}
	}
	r.cycle(m)
}

func (r *reader) axisNames(p *phase) {
	seen := map[string]hcl.Range{}
	for i := range p.axes {
		a := &p.axes[i]
		if a.id = identifier(a.name); a.id == "key" {
			a.id = "key_" // cell.key is the whole cell
		}
		if a.id != a.name {
			r.note("line %d: the axis %q is called %s here", a.at.Start.Line, clip(a.name), a.id)
		}
		if first, ok := seen[a.id]; ok {
			r.ds.Errorat(a.at, "Two axes with one name", "%q is already in line %d.", clip(a.name), first.Start.Line)
		}
		seen[a.id] = a.at
	}
}

// longestName is how many bytes a name has at most, of the 200 that a campaign takes: some get
// a number at their end.
const longestName = 180

// identifier is a name as a campaign takes it: letters, digits, _ and -, not beginning with a
// digit. A long one is cut, and ends with a digest of the whole.
func identifier(s string) string {
	var b strings.Builder
	for _, c := range s {
		ok := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if rest := c >= '0' && c <= '9' || c == '-'; rest && b.Len() == 0 {
			b.WriteByte('_')
			ok = c != '-'
		} else if rest {
			ok = true
		}
		if ok {
			b.WriteRune(c)
		} else if b.Len() > 0 {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	name := b.String()
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(s))
		name = fmt.Sprintf("%s_%x", name[:longestName-9], sum[:4])
	}
	return name
}

// cycle reports phases that wait for one another.
func (r *reader) cycle(m *manifest) {
	byName := map[string]*phase{}
	for _, p := range m.phases {
		byName[p.name] = p
	}
	state := map[*phase]int8{}
	var visit func(p *phase, path []string) bool
	visit = func(p *phase, path []string) bool {
		state[p] = 1
		path = append(path, p.name)
		for _, d := range p.dependsOn {
			q := byName[strings.TrimSpace(d.text)]
			if q == nil || q == p || state[q] == 2 {
				continue
			}
			if state[q] == 1 {
				path = append(path[slices.Index(path, q.name):], q.name)
				r.ds.Errorat(d.at, "Phases wait for one another", "%s: none of them could start. Take one depends_on away.", strings.Join(path, " → "))
				return false
			}
			if !visit(q, path) {
				return false
			}
		}
		state[p] = 2
		return true
	}
	for _, p := range m.phases {
		if state[p] == 0 && !visit(p, nil) {
			return
		}
	}
}
