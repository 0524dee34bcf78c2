package lang

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// secret reads a secret block. Its values are read at submission only.
func (pr *phaseReader) secret(b *syntax.Block) Secret {
	s := Secret{Name: b.Name(), Env: pr.Text(b, "env"), File: pr.Text(b, "file"), Range: b.Range}
	if e := b.Expr("command"); e != nil {
		if _, isList := e.(*hclsyntax.TupleConsExpr); isList {
			s.Command = pr.Texts(b, "command")
		} else if text := pr.Text(b, "command"); text != "" {
			s.Command = []string{"/bin/sh", "-c", text}
		}
	}
	n := 0
	for _, name := range []string{"env", "command", "file"} {
		if b.Expr(name) != nil {
			n++
		}
	}
	if n != 1 && !pr.Broken {
		pr.Sure.Errorat(b.Range, "A secret has one source", "Write exactly one of env, command and file in secret %q.", s.Name)
	}
	if s.Env != "" {
		pr.EnvName(b.Expr("env"), s.Env)
	}
	if strings.Contains(s.Name, "-") {
		pr.Sure.Errorat(b.Syntax.LabelRanges[0], "Invalid name", "%q cannot name an environment variable, which a secret becomes in the job: use letters, digits and _.", wording.Clip(s.Name))
	}
	if e := b.Expr("command"); e != nil && len(s.Command) == 0 && n == 1 {
		if v, ok := pr.Peek(e, nil); ok && value.IsList(v) {
			pr.Wrong(e, "command", "The list is empty: its first element is the program.")
		}
	}
	return s
}

// secretsBesideEnv reports variables that are both a secret and in env: one of
// the values would be lost, and it might be the one that must stay out of
// scripts.
func (pr *phaseReader) secretsBesideEnv(p *phaseBuild) {
	obj, written := p.job.Expr("env").(*hclsyntax.ObjectConsExpr)
	if !written {
		return
	}
	for _, it := range obj.Items {
		key, hds := it.KeyExpr.Value(pr.Static)
		name, err := value.Text(key)
		if hds.HasErrors() || err != nil {
			continue
		}
		if slices.ContainsFunc(p.Secrets, func(s Secret) bool { return s.Name == name }) {
			pr.Sure.Errorat(it.KeyExpr.Range(), "A secret in env, too", "%s is set by env and by secret %q. Keep one of them.", wording.Clip(name), wording.Clip(name))
		}
	}
}

// distinctVariables reports names of inputs and outputs that would share one
// MUSTER_ variable.
func (pr *phaseReader) distinctVariables(p *phaseBuild) {
	for _, kind := range []string{"input", "output"} {
		seen := map[string]string{}
		for _, b := range p.job.All(kind) {
			names := []string{variableName(kind, b.Name())}
			if b.Expr("require") != nil {
				names = append(names, names[0]+"_MISSING")
			}
			for _, v := range names {
				if first, ok := seen[v]; ok {
					pr.Sure.Errorat(b.Range, "Two names for one variable", "The %ss %q and %q would both be %s in the job. Rename one.", kind, first, b.Name(), v)
				}
				seen[v] = b.Name()
			}
		}
	}
}

// variableName is the environment variable that tells a job where an input or
// an output is: MUSTER_INPUT_NAME, MUSTER_OUTPUT_NAME. Beside the first,
// MUSTER_INPUT_NAME_MISSING names the missing producers.
func variableName(kind, name string) string {
	return "MUSTER_" + strings.ToUpper(kind) + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}
