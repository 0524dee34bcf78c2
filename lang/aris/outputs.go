package aris

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2"
)

// output reads expected_output or output_check: a path, a pattern, or a folder
// when it ends in a slash. A file outside the workdir cannot be an output.
func (c *converter) output(at hcl.Range, p text) (output, bool) {
	o := output{name: "output", kind: "path", at: at}
	written := p.source()
	if root := strings.TrimRight(c.m.cwd, "/") + "/"; len(root) > 1 && len(p) > 0 && strings.HasPrefix(p[0].lit, root) {
		p = append(literal(strings.TrimLeft(p[0].lit[len(root):], "/")), p[1:]...)
	}
	for len(p) > 0 && strings.HasPrefix(p[0].lit, "./") {
		p = append(literal(strings.TrimLeft(p[0].lit[2:], "/")), p[1:]...)
	}
	for len(p) > 0 && p[0].ref == "" && p[0].lit == "" {
		p = p[1:]
	}
	o.path = p
	if len(p) == 0 {
		c.r.warn(at, "An output outside the working directory", "%q is the working directory itself; it is not carried over.", clip(written))
		return o, false
	}
	first := p[0].lit
	if strings.HasPrefix(first, "/") || strings.HasPrefix(first, "~") || strings.HasPrefix(first, "$") || strings.HasPrefix(path.Clean(first+"x"), "../") {
		c.r.warn(at, "An output outside the working directory", "%q does not lie below %s, so it is not converted: only the exit code says whether the job is done. Let cwd be a folder above it.", clip(written), or(c.m.cwd, "the working directory"))
		return o, false
	}
	for _, x := range p {
		if strings.ContainsFunc(x.lit, unicode.IsControl) {
			c.r.warn(at, "A control character in an output", "%q holds one, so this output is not carried over.", clip(written))
			return o, false
		}
		if strings.ContainsAny(x.lit, "*?[") {
			o.kind = "glob"
		}
	}
	if last := p[len(p)-1].lit; strings.HasSuffix(last, "/") && o.kind == "path" {
		o.kind = "dir"
		p[len(p)-1].lit = strings.TrimRight(last, "/")
	}
	return o, true
}

func (t *target) addOutput(o output) {
	o.name = "output"
	if n := len(t.outputs); n > 0 {
		o.name = fmt.Sprintf("output%d", n+1)
	}
	t.outputs = append(t.outputs, o)
}

// shareOutputs marks outputs that several jobs have in common, as the
// documented patterns do: one pattern over an axis that it does not name.
func (c *converter) shareOutputs() {
	type user struct {
		t *target
		k int
	}
	seen := map[string]user{}
	for _, t := range c.targets {
		t.openPatterns(c.r)
		for k := range t.outputs {
			o := &t.outputs[k]
			if !t.distinct(o.path) {
				o.shared = true
				c.r.note("phase.%s: several jobs have the output %s in common, so it has `shared = true`: muster checks only that one of them wrote it, and no phase can read it. "+
					"Name every axis in it to have each job's own file verified", t.id, clip(o.path.source()))
			}
			for _, s := range t.each(o.path) {
				u, ok := seen[s]
				if ok && u.t != t {
					o.shared, u.t.outputs[u.k].shared = true, true
				} else if !ok {
					seen[s] = user{t, k}
				}
			}
		}
	}
	for _, t := range c.targets {
		t.rowOutputs(c.r)
	}
}

// openPatterns leaves out patterns that some job's values leave open.
func (t *target) openPatterns(r *reader) {
	t.outputs = slices.DeleteFunc(t.outputs, func(o output) bool {
		patterns := t.each(o.path)
		if t.cells == nil { // too many to look at each
			patterns = []string{o.path.source()}
		}
		bad := o.kind == "glob" && slices.ContainsFunc(patterns, func(s string) bool { return !doublestar.ValidatePattern(s) })
		if bad {
			r.warn(o.at, "An output that is not a pattern", "%q leaves a bracket or a brace open, so it is not converted: only the exit code says whether the job is done.", clip(o.path.source()))
		}
		return bad
	})
}

// rowOutputs leaves an attribute out where listed jobs share their outputs:
// a path is one template over distinct rows.
func (t *target) rowOutputs(r *reader) {
	if len(t.rows) < 2 {
		return
	}
	t.outputs = slices.DeleteFunc(t.outputs, func(o output) bool {
		bad := o.shared && len(o.path.refs()) > 0
		if bad {
			r.warn(o.at, "Jobs with one output", "Several jobs of phase.%s expect the same file, so it does not show which of them are done. muster omits it and uses their exit codes.", t.id)
		}
		return bad
	})
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
