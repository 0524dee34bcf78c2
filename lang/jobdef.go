package lang

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// output reads an output block, but for its path.
func (l *loader) output(b *block) *Output {
	o := &Output{Name: b.name(), MinSize: l.size(b, "min_size"), Shared: l.boolean(b, "shared"), Range: b.rng}
	var kinds []string
	for _, k := range []OutputKind{File, Glob, Dir} {
		if b.expr(string(k)) != nil {
			o.Kind = k
			kinds = append(kinds, string(k))
		}
	}
	if len(kinds) != 1 && !l.broken {
		found := "none was found"
		if len(kinds) > 1 {
			found = strings.Join(kinds, " and ") + " were found"
		}
		l.sure.Errorat(b.rng, "An output is a path, a glob or a dir", "Write exactly one of path, glob and dir in output %q; %s.", o.Name, found)
	}
	if o.Kind == Glob {
		o.MinCount = l.integer(b, "min_count", 0, 1)
	} else if e := b.expr("min_count"); e != nil {
		l.wrong(e, "min_count", "min_count goes with glob; this output is one %s.", map[bool]string{true: "folder", false: "file"}[o.Kind == Dir])
	}
	o.Verify = l.verify(b)
	return o
}

// checks are the kinds of verify that are a word by themselves.
var checks = []string{"exists", "nonempty", "min_size", "json", "jsonl", "csv", "zip", "gzip", "safetensors", "sha256"}

// verify reads verify = "json", an object, or a list of them.
func (l *loader) verify(b *block) []Verify {
	e := b.expr("verify")
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	v, _ = v.UnmarkDeep()
	items := []cty.Value{v}
	if isList(v) {
		items = v.AsValueSlice()
	}
	var out []Verify
	for _, it := range items {
		if isMap(it) {
			out = append(out, l.verifyObject(e, it)...)
			continue
		}
		s, err := asText(it)
		switch {
		case err != nil:
			l.wrong(e, "verify", "%s.", capitalised(err.Error()))
		case s == "command":
			l.wrong(e, "verify", "Which command? Write verify = { command = \"python check.py\" }.")
		case s == "min_size" && b.expr("min_size") == nil:
			l.wrong(e, "verify", "How large? Write min_size = \"1MiB\" beside verify.")
		case !contains(checks, s):
			l.wrong(e, "verify", "There is no check named %q%s Checks are %s and { command = … }.", clip(s), didYouMean(s, checks), strings.Join(checks, ", "))
		case s != "min_size":
			out = append(out, Verify{Kind: s})
		}
	}
	return out
}

func (l *loader) verifyObject(e hcl.Expression, v cty.Value) (out []Verify) {
	m := v.AsValueMap()
	for _, kind := range sortedKeys(m) {
		text, err := asText(m[kind])
		switch {
		case err != nil || text == "":
			l.wrong(e, "verify", "%s needs a text.", clip(kind))
		case kind == "command":
			out = append(out, Verify{Kind: kind, Command: text})
		case kind == "sha256":
			out = append(out, Verify{Kind: kind, File: text})
		default:
			l.wrong(e, "verify", "An object here is { command = \"…\" } or { sha256 = \"FILE\" }, not %q.", clip(kind))
		}
	}
	return out
}

// metric reads a metric block.
func (l *loader) metric(p *phaseBuild, b *block) Metric {
	m := Metric{Name: b.name(), Range: b.rng, JSON: l.text(b, "json"), Column: l.text(b, "column"), Regex: l.text(b, "regex")}
	m.Output = l.outputName(p, b)
	n := 0
	for _, name := range []string{"json", "column", "regex"} {
		if b.expr(name) != nil {
			n++
		}
	}
	if n != 1 && !l.broken {
		l.sure.Errorat(b.rng, "A metric is read in one way", "Write exactly one of json, column and regex in metric %q.", m.Name)
	}
	if e := b.expr("json"); e != nil && m.JSON != "" && m.JSON[0] != '/' {
		l.wrong(e, "json", "%q is not a JSON pointer (RFC 6901): it begins with a slash, such as \"/final/loss\".", clip(m.JSON))
	}
	l.pattern(b, "regex", m.Regex, true)
	return m
}

// outputName reads output = "log", also as output.log.
func (l *loader) outputName(p *phaseBuild, b *block) string {
	e := b.expr("output")
	if e == nil {
		return ""
	}
	name := ""
	if t, hds := hcl.AbsTraversalForExpr(e); !hds.HasErrors() && t.RootName() == "output" && len(attrNames(t)) == 2 {
		name = attrNames(t)[1]
	} else if name = l.text(b, "output"); name == "" {
		return ""
	}
	var known []string
	for _, o := range p.Outputs {
		known = append(known, o.Name)
	}
	if !contains(known, name) {
		l.wrong(e, "output", "The job has no output %q%s", clip(name), didYouMean(name, known))
	}
	return name
}

// secret reads a secret block. Its values are read at submission only.
func (l *loader) secret(b *block) Secret {
	s := Secret{Name: b.name(), Env: l.text(b, "env"), File: l.text(b, "file"), Range: b.rng}
	if e := b.expr("command"); e != nil {
		if _, isList := e.(*hclsyntax.TupleConsExpr); isList {
			s.Command = l.texts(b, "command")
		} else if text := l.text(b, "command"); text != "" {
			s.Command = []string{"/bin/sh", "-c", text}
		}
	}
	n := 0
	for _, name := range []string{"env", "command", "file"} {
		if b.expr(name) != nil {
			n++
		}
	}
	if n != 1 && !l.broken {
		l.sure.Errorat(b.rng, "A secret has one source", "Write exactly one of env, command and file in secret %q.", s.Name)
	}
	if s.Env != "" {
		l.envName(b.expr("env"), s.Env)
	}
	if strings.Contains(s.Name, "-") {
		l.sure.Errorat(b.syntax.LabelRanges[0], "Invalid name", "%q cannot name an environment variable, which a secret becomes in the job: use letters, digits and _.", clip(s.Name))
	}
	if e := b.expr("command"); e != nil && len(s.Command) == 0 && n == 1 {
		if v, ok := l.peek(e, nil); ok && isList(v) {
			l.wrong(e, "command", "The list is empty: its first element is the program.")
		}
	}
	return s
}

// distinctVariables tells names of inputs and outputs that would share one
// MUSTER_ variable.
func (l *loader) distinctVariables(p *phaseBuild) {
	for _, kind := range []string{"input", "output"} {
		seen := map[string]string{}
		for _, b := range p.job.all(kind) {
			v := VariableName(kind, b.name())
			if first, ok := seen[v]; ok {
				l.sure.Errorat(b.rng, "Two names for one variable", "The %ss %q and %q would both be %s in the job. Rename one.", kind, first, b.name(), v)
			}
			seen[v] = b.name()
		}
	}
}

// VariableName is the environment variable that tells a job where an input or
// an output lies: MUSTER_INPUT_NAME, MUSTER_OUTPUT_NAME.
func VariableName(kind, name string) string {
	return "MUSTER_" + strings.ToUpper(kind) + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
