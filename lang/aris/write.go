package aris

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mitchellh/go-wordwrap"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// write writes the campaign; hclwrite.Format lays it out.
func (c *converter) write(b *bytes.Buffer) {
	c.comment(b)
	fmt.Fprintf(b, "campaign %s {\n  description = %s\n}\n\n", quote(c.project()), quote(c.description()))
	if c.variable {
		fmt.Fprint(b, "variable \"command\" {\n  type = string\n  description = \"The program that the args belong to, such as python train.py\"\n}\n\n")
	}
	c.writeBackend(b)
	for i, t := range c.targets {
		if i > 0 {
			b.WriteString("\n")
		}
		c.writePhase(b, t)
		t.writeImports(b)
	}
}

// writeImports adopts the results that the queue left: of a whole phase, or job by job.
func (t *target) writeImports(b *bytes.Buffer) {
	if len(t.done) == max(len(t.rows), 1) {
		fmt.Fprintf(b, "\nimport {\n  to = phase.%s\n}\n", t.id)
		return
	}
	for _, key := range t.done {
		fmt.Fprintf(b, "\nimport {\n  to = phase.%s[%s]\n}\n", t.id, quote("job="+key))
	}
}

// project names the campaign; a name that is none is said again in the
// description.
func (c *converter) project() string {
	if p := campaignName(c.m.project); p != "" {
		return p
	}
	name := path.Base(c.r.name)
	name = strings.TrimSuffix(name, path.Ext(name))
	return or(campaignName(name), "queue")
}

var notInNames = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// campaignName is a text as the name of a campaign may be; "" when nothing of
// it is left.
func campaignName(s string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.TrimSpace(s), "-"), "-.")
}

func (c *converter) description() string {
	s := "Converted from " + path.Base(c.r.name)
	if p := strings.Join(strings.Fields(c.m.project), " "); p != "" && p != c.project() {
		s += ", project " + p
	}
	return s
}

// comment tells where the campaign came from and which parts could not be
// carried over.
func (c *converter) comment(b *bytes.Buffer) {
	fmt.Fprintf(b, "# Converted from %s, %s.\n", clip(oneLine(path.Base(c.r.name))), map[bool]string{false: "a manifest of ARIS's experiment-queue", true: "queue lines of config, task and epochs"}[c.r.lines])
	c.r.note("the code is untracked: add a source block, so that a change of the programs is seen")
	b.WriteString("#\n# What to know:\n")
	for _, n := range c.r.notes {
		for i, line := range strings.Split(wordwrap.WrapString(oneLine(n), 94), "\n") {
			b.WriteString(map[bool]string{true: "#   - ", false: "#     "}[i == 0] + line + "\n")
		}
	}
	b.WriteString("\n")
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

func (c *converter) writeBackend(b *bytes.Buffer) {
	h := c.host
	if h.kind == "ssh" && h.host == "" {
		fmt.Fprint(b, "variable \"host\" {\n  type = string\n  description = \"The host that runs the jobs: a name, or an alias of ~/.ssh/config\"\n}\n\n")
	}
	if h.kind == "local" && h.workdir == "" && h.setup == "" && c.m.gpus == nil && c.m.freeMiB == 0 && c.m.maxParallel == 0 {
		return // backend.local.local is always there
	}
	fmt.Fprintf(b, "backend %s %s {\n", quote(h.kind), quote(h.name))
	attr := func(name, value string) { fmt.Fprintf(b, "  %s = %s\n", name, value) }
	if h.kind == "ssh" {
		if h.host == "" {
			attr("host", "var.host")
		} else {
			attr("host", quote(h.host))
		}
	}
	if h.user != "" {
		attr("user", quote(h.user))
	}
	if h.port != 0 {
		attr("port", strconv.Itoa(h.port))
	}
	if c.m.gpus != nil {
		attr("gpus", strings.ReplaceAll(fmt.Sprint(c.m.gpus), " ", ", "))
	}
	if c.m.freeMiB > 0 {
		attr("gpu_free_max", quote(fmt.Sprintf("%dMiB", c.m.freeMiB)))
	}
	if c.m.maxParallel > 0 {
		attr("max_parallel", strconv.Itoa(c.m.maxParallel))
	}
	if h.workdir != "" {
		attr("workdir", quote(h.workdir))
	}
	if h.setup != "" {
		attr("setup", literal(h.setup).hcl())
	}
	b.WriteString("}\n\n")
}

func (c *converter) writePhase(b *bytes.Buffer, t *target) {
	fmt.Fprintf(b, "phase %s {\n", quote(t.id))
	t.writeGrid(b)
	fmt.Fprintf(b, "  place {\n    candidates = [%s]\n  }\n", c.host.address())
	if len(t.after) > 0 {
		fmt.Fprintf(b, "  depends_on = [%s]\n", "phase."+strings.Join(t.after, ", phase."))
	}
	for _, f := range t.files {
		fmt.Fprintf(b, "\n  precondition {\n    file = %s\n  }\n", f.hcl())
	}
	b.WriteString("\n  job {\n")
	if len(t.name) > 0 {
		fmt.Fprintf(b, "    name = %s\n", t.name.hcl())
	}
	fmt.Fprintf(b, "    command = %s\n", t.command.hcl())
	for _, in := range t.inputs {
		fmt.Fprintf(b, "\n    input %s {\n      from = phase.%s.output.%s\n    }\n", quote(in.name), in.phase, in.output)
	}
	if !t.idle {
		b.WriteString("\n    resources {\n      gpus = 1\n    }\n")
	}
	for _, o := range t.outputs {
		fmt.Fprintf(b, "\n    output %s {\n      %s = %s\n", quote(o.name), o.kind, o.path.hcl())
		if o.kind != "dir" {
			b.WriteString("      verify = \"nonempty\"\n")
		}
		if o.shared {
			b.WriteString("      shared = true\n")
		}
		b.WriteString("    }\n")
	}
	b.WriteString("  }\n")
	if !t.idle {
		fmt.Fprintf(b, "\n  retry {\n    on = [\"oom\"]\n    max_attempts = %d\n    delay = \"%ds\"\n  }\n", c.m.attempts, c.m.delay)
	}
	b.WriteString("}\n")
}

func (c command) hcl() string {
	if c.argv == nil {
		return c.shell.hcl()
	}
	var words []string
	for _, t := range c.argv {
		if s := t.hcl(); strings.HasPrefix(s, "<<") {
			words = append(words, "\n"+s+"\n")
		} else {
			words = append(words, s)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (t *target) writeGrid(b *bytes.Buffer) {
	if len(t.grid) == 0 && len(t.rows) < 2 {
		return
	}
	b.WriteString("  grid {\n    axes = {\n")
	for _, c := range t.grid {
		var vs []string
		for _, v := range c.values {
			vs = append(vs, v.hcl())
		}
		fmt.Fprintf(b, "      %s = [%s]\n", c.name, strings.Join(vs, ", "))
	}
	if len(t.rows) > 1 {
		b.WriteString("      job = [\n")
		for _, r := range t.rows {
			fmt.Fprintf(b, "        { key = %s", quote(r.key))
			for _, name := range t.attrs {
				fmt.Fprintf(b, ", %s = %s", name, r.values[name].hcl())
			}
			b.WriteString(" },\n")
		}
		b.WriteString("      ]\n")
	}
	b.WriteString("    }\n")
	if len(t.repeat) > 0 {
		quoted := slices.Clone(t.repeat)
		for i, s := range quoted {
			quoted[i] = quote(s)
		}
		fmt.Fprintf(b, "    repeat = [%s]\n", strings.Join(quoted, ", "))
	}
	b.WriteString("  }\n\n")
}
