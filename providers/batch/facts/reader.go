// Package facts reads the facts about sites from HCL: values with their units, and
// every mistake with its line.
package facts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers/offer"
)

// A Clock is a clock block: when the site deletes, closes or ends something.
type Clock struct {
	What  string         `hcl:"what,label"`
	After hcl.Expression `hcl:"after,optional"`
	At    hcl.Expression `hcl:"at,optional"`
	Range hcl.Range      `hcl:",def_range"`
}

// A GPU is a gpu block: the devices of one node.
type GPU struct {
	Model  string         `hcl:"model,label"`
	Count  hcl.Expression `hcl:"count"`
	Memory hcl.Expression `hcl:"memory,optional"`
	Class  string         `hcl:"class,optional"`
	Total  hcl.Expression `hcl:"total,optional"`
}

// Clock is a time since the last use, or a date.
func (r *Reader) Clock(c Clock) offer.Clock {
	in := func(name string) string { return fmt.Sprintf("clock %q: %s", c.What, name) }
	out := offer.Clock{What: c.What, After: r.Duration(in("after"), c.After), At: r.Date(in("at"), c.At)}
	if Absent(c.After) == Absent(c.At) {
		r.WrongAt(c.Range, "clock %q has one of the two: add after = \"90d\", since the last use, or at = \"2026-11-28\", a date", c.What)
	}
	return out
}

// GPU puts the devices of a node into a pool.
func (r *Reader) GPU(in func(string) string, g *GPU, p *offer.Pool) {
	r.Must(in("gpu: count"), g.Count, "count = 4, how many one node has")
	p.GPUs, p.GPUModel, p.GPUClass, p.Total = r.Count(in("gpu: count"), g.Count), g.Model, g.Class, r.Count(in("gpu: total"), g.Total)
	p.GPUMem = r.Size(in("gpu: memory"), g.Memory)
	if p.GPUClass == "" {
		p.GPUClass = g.Model
	}
	if p.Total > 0 && p.Total < p.GPUs {
		r.WrongAt(g.Total.Range(), "%s is %d, and one node has %d: total is that of all nodes", in("gpu: total"), p.Total, p.GPUs)
	}
}

// A Reader reads values of a profile, and keeps what is wrong with them.
type Reader struct {
	Word  string // the site's word for a pool: "partition"
	wrong []string
}

// Read decodes a profile's source into a struct with hcl tags. It reports whether that
// worked: if not, Err says why.
func (r *Reader) Read(name string, src []byte, into any) bool {
	file, diags := hclsyntax.ParseConfig(src, strings.TrimSuffix(name, ".hcl")+".hcl", hcl.InitialPos)
	if r.found(diags); !diags.HasErrors() {
		r.found(gohcl.DecodeBody(file.Body, nil, into))
	}
	return !r.Wrong()
}

// Wrong reports whether anything is wrong.
func (r *Reader) Wrong() bool { return len(r.wrong) > 0 }

func (r *Reader) WrongAt(at hcl.Range, format string, args ...any) {
	line := fmt.Sprintf("%s:%d: %s", at.Filename, at.Start.Line, fmt.Sprintf(format, args...))
	if !slices.Contains(r.wrong, line) {
		r.wrong = append(r.wrong, line)
	}
}

// found keeps HCL's own errors: syntax, and unknown or missing arguments and
// blocks.
func (r *Reader) found(diags hcl.Diagnostics) {
	for _, d := range diags {
		at := hcl.Range{}
		if d.Subject != nil {
			at = *d.Subject
		}
		r.WrongAt(at, "%s: %s TEMPLATE.hcl lists and explains all attributes.", d.Summary, strings.TrimSpace(d.Detail))
	}
}

func (r *Reader) Err(name string) error {
	told := strings.Join(r.wrong, "\n")
	if strings.HasSuffix(name, ".hcl") {
		return errors.New(told) // each line begins with the file
	}
	return fmt.Errorf("profile %s: %s", name, told)
}

// Once reports a name that an earlier block has.
func (r *Reader) Once(what, name string, before []string, at hcl.Range) {
	if slices.Contains(before, name) {
		r.WrongAt(at, "%s %q appears twice: put everything about it into one block", what, name)
	}
}

// Names are a list of some that there must be.
func (r *Reader) Names(what string, e hcl.Expression, known []string) (list []string) {
	r.found(gohcl.DecodeExpression(e, nil, &list))
	for _, name := range list {
		if slices.Contains(known, name) {
			continue
		}
		if near := diag.Suggest(name, known); near != "" {
			r.WrongAt(e.Range(), "%s names %s %q, which has no block here; did you mean %q?", what, r.Word, name, near)
		} else {
			r.WrongAt(e.Range(), "%s names %s %q, which has no block here: add one, or take the name out; there are %s", what, r.Word, name, strings.Join(known, ", "))
		}
	}
	return list
}

// Pack reports whether jobs that need a part of a node share one.
func (r *Reader) Pack(what string, e hcl.Expression) bool {
	text := r.Text(what, e)
	if text != "" && text != "auto" && text != "never" {
		r.WrongAt(e.Range(), "%s is %q: write \"auto\", for queues that charge whole nodes, or \"never\"", what, text)
	}
	return text == "auto"
}

// Month is a month as "2026-05".
func (r *Reader) Month(what string, e hcl.Expression) string {
	text := r.Text(what, e)
	if _, err := time.Parse("2006-01", text); err != nil && text != "" {
		r.WrongAt(e.Range(), "%s is %q, not a month: write the one in which the facts were compared with the site, such as \"2026-05\"", what, text)
	}
	return text
}
