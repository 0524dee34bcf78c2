package aris

import (
	"regexp"
	"slices"
	"strings"
)

// preconditions puts each into the phases that give its variables a value,
// but for phases that a producer of the file comes before: there the file is
// made on the way.
func (c *converter) preconditions() {
	for _, n := range c.m.preconditions {
		resolved := false
		var unknown []string
		for _, t := range c.targets {
			ok, missing := c.precondition(t, n)
			resolved = resolved || ok
			unknown = append(unknown, missing...)
		}
		if !resolved {
			c.unresolvedFile(n, unknown)
		}
	}
	for _, t := range c.targets {
		for _, n := range t.src.preconditions {
			if ok, missing := c.precondition(t, n); !ok {
				c.unresolvedFile(n, missing)
			}
		}
	}
}

func (c *converter) unresolvedFile(n *node, unknown []string) {
	slices.Sort(unknown)
	c.r.warn(n.at, "Unresolved variable", "Nothing gives %s a value, so the precondition on %s is not carried over. Add a precondition block to the phase that needs it.",
		strings.Join(slices.Compact(unknown), ", "), clip(n.text))
}

// precondition adds one to one phase; ok is false when a variable of it has
// no value there.
func (c *converter) precondition(t *target, n *node) (ok bool, unknown []string) {
	file, unknown := parseText(n.text, func(name string) (string, bool) { return c.variableOf(t, n, name) })
	if len(unknown) > 0 {
		return false, unknown
	}
	file = file.constants()
	if maker := c.madeBy(t, file); maker != "" {
		c.r.note("line %d: phase.%s makes %s, so it is not a precondition of phase.%s", n.at.Start.Line, maker, clip(n.text), t.id)
		return true, nil
	}
	t.files = append(t.files, file)
	return true, nil
}

// constRef marks a reference that turned out to be one text.
const constRef = "const."

func (t text) constants() text {
	var out []text
	for _, p := range t {
		if s, ok := strings.CutPrefix(p.ref, constRef); ok {
			out = append(out, literal(s))
		} else {
			out = append(out, text{p})
		}
	}
	return join(out...)
}

// variableOf finds the value of a name for each job of a phase: an axis, one
// of the args, or the text after the name in the ids (N64 in s200_N64).
func (c *converter) variableOf(t *target, n *node, name string) (string, bool) {
	for _, a := range t.src.axes {
		if a.name == name {
			return "cell." + a.id, true
		}
	}
	if len(t.rows) == 0 {
		return "", false
	}
	values := make([]string, len(t.rows))
	inID := regexp.MustCompile(`(?:^|[_.-])` + regexp.QuoteMeta(name) + `=?([0-9][0-9A-Za-z.]*)(?:$|[_-])`)
	guessed := false
	for i, row := range t.rows {
		if v, ok := row.values[argRef+name]; ok {
			values[i] = v.text
		} else if v, ok := row.values[name]; ok {
			values[i] = v.text
		} else if m := inID.FindStringSubmatch(row.key); m != nil {
			values[i], guessed = m[1], true
		} else {
			return "", false
		}
	}
	if guessed {
		c.r.warn(n.at, "A variable that only the ids name", "No job gives {%s} a value; it is read from the ids, where %q has %s=%s.", name, clip(t.rows[0].key), name, values[0])
	}
	if len(t.rows) == 1 {
		return constRef + values[0], true
	}
	return t.column(name, values), true
}

// madeBy is the phase before this one, or this one, whose output a file is.
func (c *converter) madeBy(t *target, file text) string {
	wanted := t.each(file)
	if len(wanted) == 0 {
		return ""
	}
	seen := map[string]bool{}
	for queue := []string{t.id}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		up := c.target(queue[0])
		queue = append(queue, up.after...)
		made := map[string]bool{}
		for _, o := range up.outputs {
			for _, s := range up.each(o.path) {
				made[s] = true
			}
		}
		if !slices.ContainsFunc(wanted, func(s string) bool { return !made[s] }) {
			return up.id
		}
	}
	return ""
}

func (c *converter) target(id string) *target {
	for _, t := range c.targets {
		if t.id == id {
			return t
		}
	}
	return &target{}
}

// edges turns a depends_on into an input where the command names the file
// that the other phase makes: then each job waits for its own file only.
func (c *converter) edges(t *target) {
	for _, id := range slices.Clone(t.after) {
		up := c.target(id)
		for _, o := range up.outputs {
			if o.kind != "path" || o.shared || len(up.rows) > 1 || !covers(up, t) {
				continue
			}
			name := strings.ReplaceAll(up.id, "-", "_")
			if !t.command.takes(o.path, "input."+name) {
				continue
			}
			t.inputs = append(t.inputs, edge{name, up.id, o.name})
			t.after = slices.DeleteFunc(t.after, func(s string) bool { return s == id })
			c.r.note("phase.%s names the file that phase.%s makes, so it is an input: each job waits for its own file instead of the whole phase", t.id, up.id)
			break
		}
	}
}

// covers reports whether each cell of a phase has exactly one producer.
func covers(up, t *target) bool {
	for _, a := range up.grid {
		i := slices.IndexFunc(t.grid, func(b column) bool { return b.name == a.name })
		if i < 0 {
			return false
		}
		for _, v := range t.grid[i].values {
			if !slices.ContainsFunc(a.values, func(x value) bool { return x.text == v.text }) {
				return false
			}
		}
	}
	return true
}

// takes puts a reference in place of a path, wherever the path is a whole
// word of the command.
func (c *command) takes(path text, ref string) bool {
	found := false
	replace := func(t text) text {
		flat, needle := t.flat(), path.flat()
		for from := 0; ; {
			i := strings.Index(flat[from:], needle)
			if i < 0 {
				return unflat(flat)
			}
			i += from
			end := i + len(needle)
			if (i == 0 || strings.IndexByte(" \t\n='\"(<", flat[i-1]) >= 0) && (end == len(flat) || strings.IndexByte(" \t\n'\");", flat[end]) >= 0) {
				mid := text{{ref: ref}}.flat()
				flat, end, found = flat[:i]+mid+flat[end:], i+len(mid), true
			}
			from = end
		}
	}
	if c.argv == nil {
		c.shell = replace(c.shell)
	}
	for i := range c.argv {
		c.argv[i] = replace(c.argv[i])
	}
	return found
}

// flat is a text as one string, references between marks that no manifest
// holds.
func (t text) flat() string {
	var b strings.Builder
	for _, p := range t {
		if p.ref == "" {
			b.WriteString(p.lit)
			continue
		}
		b.WriteString("\x00" + p.ref)
		if p.quoted {
			b.WriteString("\x02")
		}
		b.WriteString("\x01")
	}
	return b.String()
}

func unflat(s string) (t text) {
	for {
		lit, rest, ok := strings.Cut(s, "\x00")
		t = append(t, literal(lit)...)
		if !ok {
			return t
		}
		ref, after, _ := strings.Cut(rest, "\x01")
		ref, quoted := strings.CutSuffix(ref, "\x02")
		t = append(t, piece{ref: ref, quoted: quoted})
		s = after
	}
}

// analysis makes a last phase of analyze_on_complete when it is a command;
// true asked an assistant, which is nothing that a campaign could start.
func (c *converter) analysis() {
	n := c.m.analyze
	if n == nil || n.kind == scalar && n.plain && (falseWord.MatchString(n.text) || noWord.MatchString(n.text)) {
		return
	}
	if n.kind != scalar || n.plain && (trueWord.MatchString(n.text) || yesWord.MatchString(n.text)) {
		c.r.warn(n.at, "The analysis is not carried over", "analyze_on_complete asked an assistant to look at the results, and names no command. Add a phase whose inputs are these outputs, or read `muster report`.")
		return
	}
	t := &target{src: &phase{at: n.at}, id: c.freeID("analysis", 1), cells: []map[string]string{{}}}
	if c.target("analysis").id == "" {
		t.id = "analysis"
	}
	t.command.shell = literal(shellText(n.text))
	for _, up := range c.targets {
		if !slices.ContainsFunc(c.targets, func(x *target) bool {
			return slices.Contains(x.after, up.id) || slices.ContainsFunc(x.inputs, func(e edge) bool { return e.phase == up.id })
		}) {
			t.after = append(t.after, up.id)
		}
	}
	t.idle = true
	c.targets = append(c.targets, t)
}
