package aris

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/shell"
)

// A command is the command of a job: a text for the shell, or a list.
type command struct {
	shell text
	argv  []text // instead of shell
}

func (c command) texts() []text {
	if c.argv != nil {
		return c.argv
	}
	return []text{c.shell}
}

// A composer puts a job's command together: cmd or default_cmd, then args.
type composer struct {
	r       *reader
	job     *job
	what    string // "the template of phase teachers"
	lookup  func(name string) (string, bool)
	names   []string // of the axes, for suggestions
	quoteIt func(ref string) bool
	args    map[string]text
	used    map[string]bool
}

// argRef marks a reference to one of the job's own args until it is filled in.
const argRef = "args."

// compose builds the command. Without any cmd the args go to a program that a
// variable names, and missing is true.
func (c *composer) compose(defaultCmd *node) (out command, missing bool) {
	base := c.job.cmd
	if base == nil {
		base = defaultCmd
	}
	c.readArgs()
	switch {
	case base == nil && c.job.args == nil:
		c.r.ds.Errorat(c.job.at, "A job without a command", "%s has neither cmd nor args, and the manifest has no default_cmd.", capital(c.what))
		return out, false
	case base == nil:
		out.shell, missing = text{{ref: "var.command"}}, true
	case base.kind == list:
		for _, it := range base.items {
			out.argv = append(out.argv, c.text(it.at, c.r.word(it)))
		}
		if len(out.argv) == 0 {
			c.r.ds.Errorat(base.at, "A job without a command", "The list is empty; its first element is the program.")
		}
	case base.kind == mapping:
		c.r.ds.Errorat(base.at, "Invalid command", "A command is a text; this is %s.", base.kind)
	default:
		out.shell = c.text(base.at, shellText(base.text))
		if len(out.shell) == 0 {
			c.r.ds.Errorat(base.at, "A job without a command", "The command is empty.")
		}
		c.remarks(base.at, base.text)
	}
	c.appendArgs(&out)
	return out, missing
}

// shellText drops the newline that a folded or literal block leaves at the
// end, which kept the queue from writing a log.
func shellText(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\r\n")
}

// text parses one text of the command; a name without a value remains the shell's.
func (c *composer) text(at hcl.Range, s string) text {
	if _, isAxis := c.lookup("GPU"); !isAxis && strings.Contains(s, "${GPU}") {
		s = strings.ReplaceAll(s, "${GPU}", "${"+gpuVariable+"}")
		c.r.note("line %d: ${GPU} became the shell's ${CUDA_VISIBLE_DEVICES}, which muster sets to the device of the job; inside single quotes the shell does not fill it in", at.Start.Line)
	}
	t, unknown := parseText(s, func(name string) (string, bool) {
		if ref, ok := c.lookup(name); ok {
			return ref, true
		}
		if _, ok := c.args[name]; ok {
			c.used[name] = true
			return argRef + name, true
		}
		return "", false
	})
	for _, w := range unknown {
		c.unresolved(at, w)
	}
	var filled []text
	for _, p := range t {
		if name, ok := strings.CutPrefix(p.ref, argRef); ok {
			filled = append(filled, c.args[name])
		} else {
			filled = append(filled, text{p})
		}
	}
	return join(filled...)
}

// gpuVariable holds the device of a job in its shell.
const gpuVariable = "CUDA_VISIBLE_DEVICES"

// environment are variables that a shell has of itself or that a scheduler
// sets.
var environment = lazyregexp.New(`^(HOME|USER|PATH|PWD|SHELL|TMPDIR|HOSTNAME|LANG|RANDOM|LD_LIBRARY_PATH|PYTHONPATH|CONDA_\w+|SLURM_\w+|MUSTER_\w+|WANDB_\w+|HF_\w+)$`)

func (c *composer) unresolved(at hcl.Range, word string) {
	name := strings.Trim(word, "${}")
	hint := ""
	if s := diag.Suggest(name, c.names); s != "" {
		hint = fmt.Sprintf(" Did you mean ${%s}?", s)
	}
	switch {
	case word[0] == '{':
		c.r.warn(at, "Unresolved variable", "Nothing gives %s a value in %s, so it stays in the command as it is.%s", word, c.what, hint)
	case name == gpuVariable:
	case environment.MatchString(name):
		c.r.note("line %d: %s is left to the shell", at.Start.Line, word)
	default:
		c.r.warn(at, "Unresolved variable", "Nothing gives %s a value in %s, so it is left to the shell.%s", word, c.what, hint)
	}
}

var pinned = lazyregexp.New(`\bCUDA_VISIBLE_DEVICES=["']?[0-9]`)

func (c *composer) remarks(at hcl.Range, s string) {
	if pinned.MatchString(s) {
		c.r.warn(at, "The command chooses its own GPU", "It sets CUDA_VISIBLE_DEVICES to a fixed device, whatever device the job was given. Take that out.")
	}
}

// readArgs reads args written as a mapping, so that cmd may name them.
func (c *composer) readArgs() {
	c.args, c.used = map[string]text{}, map[string]bool{}
	if c.job.args == nil || c.job.args.kind != mapping {
		return
	}
	given := c.job.args.keys
	for _, m := range given {
		if m.val.kind == scalar && !m.val.null() {
			c.args[m.key.text] = c.argument(m.val, c.r.value(m.val).text)
		}
	}
}

// argument is one word of the command line.
func (c *composer) argument(n *node, s string) text {
	t, unknown := parseText(s, c.lookup)
	for _, w := range unknown {
		c.unresolved(n.at, w)
	}
	switch refs := t.refs(); {
	case len(refs) == 0 && len(unknown) == 0:
		return literal(shell.Quote(s))
	case len(t) == 1 && len(refs) == 1 && c.quoteIt(refs[0]):
		t[0].quoted = true
	}
	return t
}

// appendArgs adds args: flags of a mapping, words of a list, or a text.
func (c *composer) appendArgs(out *command) {
	n := c.job.args
	add := func(ts ...text) {
		for _, t := range ts {
			if out.argv != nil {
				out.argv = append(out.argv, t)
			} else {
				out.shell = join(out.shell, literal(" "), t)
			}
		}
	}
	switch {
	case n == nil:
	case n.kind == mapping:
		for _, m := range n.keys {
			if !c.used[m.key.text] {
				add(c.flag(m)...)
			}
		}
	case n.kind == list:
		for _, it := range n.items {
			if s := c.r.word(it); strings.HasPrefix(s, "-") && strings.ContainsAny(s, " \t") && out.argv == nil {
				add(c.text(it.at, s)) // a flag and its value in one item
			} else {
				add(c.argument(it, c.r.value(it).text))
			}
		}
	default:
		add(c.text(n.at, shellText(n.text)))
	}
}

// flag is --name value; true is the flag alone, false is nothing.
func (c *composer) flag(m member) []text {
	name := m.key.text
	if !strings.HasPrefix(name, "-") {
		name = "--" + name
	}
	flag := literal(shell.Quote(name))
	v := m.val
	switch {
	case v.kind == mapping:
		c.r.ds.Errorat(v.at, "Invalid args", "The value of %q is a mapping; write a single value or a list.", clip(m.key.text))
		return nil
	case v.kind == list:
		out := []text{flag}
		for _, it := range v.items {
			out = append(out, c.argument(it, c.r.value(it).text))
		}
		return out
	case v.null():
		return []text{flag}
	case v.plain && trueWord.MatchString(v.text):
		c.r.note("line %d: %s: true became the flag %s alone", v.at.Start.Line, m.key.text, name)
		return []text{flag}
	case v.plain && falseWord.MatchString(v.text):
		c.r.note("line %d: %s: false became no flag", v.at.Start.Line, m.key.text)
		return nil
	}
	return []text{flag, c.args[m.key.text]}
}

// bashisms match syntax that /bin/sh need not know. The queue ran commands in
// bash.
var bashisms = lazyregexp.New(`\[\[ |(^|[;&|]\s*)source |&>|<\(|<<<|\$'|\bpipefail\b|\(\(|\$\{[A-Za-z_][A-Za-z0-9_]*(\[|//|:[0-9]|\^|,)|\{[0-9]+\.\.[0-9]+\}|(^|[;&]\s*)(function|declare|shopt|pushd|readarray|mapfile) `)

// inBash hands a command that needs bash to bash, and one with values that the
// shell is to take apart: the queue put them into the shell's text as they are.
func (t *target) inBash(r *reader) {
	c := &t.command
	switch ref := t.takenApart(); {
	case c.argv != nil:
		return
	case slices.ContainsFunc(c.shell, func(p piece) bool { return bashisms.MatchString(p.lit) }):
		r.note("phase.%s: the command needs bash and is submitted to it", t.id)
	case ref != "":
		r.note("phase.%s: values of %s hold blanks or other signs of the shell, which takes them apart here as it did in the queue; write shellquote(%s) in a command of one text where a value is one word", t.id, ref, ref)
	default:
		return
	}
	c.argv = []text{literal("bash"), literal("-c"), c.shell}
}

// takenApart is the first reference whose values a shell does not take as
// they are at their place in the command; "" when there is none.
func (t *target) takenApart() string {
	var at shell.Position
	for _, p := range t.command.shell {
		if p.ref == "" {
			at = at.After(p.lit)
			continue
		}
		if !p.quoted && slices.ContainsFunc(t.values(p.ref), func(s string) bool { return strings.ContainsAny(s, at.Special()) }) {
			return p.ref
		}
	}
	return ""
}

// values are those of an axis, or of an attribute of the job axis.
func (t *target) values(ref string) (out []string) {
	for _, c := range t.grid {
		if "cell."+c.name == ref {
			for _, v := range c.values {
				out = append(out, v.text)
			}
		}
	}
	if name, ok := strings.CutPrefix(ref, jobRef); ok {
		for _, r := range t.rows {
			if name == "key" {
				out = append(out, r.key)
			} else {
				out = append(out, r.values[name].text)
			}
		}
	}
	return out
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
