package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// Verify names one check of an output: exists, nonempty, min_size, json,
// jsonl, csv, zip, gzip, safetensors, sha256 (a manifest), command.
type Verify struct {
	Kind    string
	Command string // for "command": the user's own loader
	File    string // for "sha256": the manifest
}

// verifyKinds are the kinds of verify that are a word by themselves.
var verifyKinds = []string{"exists", "nonempty", "min_size", "json", "jsonl", "csv", "zip", "gzip", "safetensors", "sha256"}

// verify reads verify = "json", an object, or a list of them.
func verify(r *decode.Reader, b *syntax.Block) []Verify {
	e := b.Expr("verify")
	v, ok := r.Eval(e)
	if !ok {
		return nil
	}
	v, _ = v.UnmarkDeep()
	items := []cty.Value{v}
	if value.IsList(v) {
		items = v.AsValueSlice()
	}
	var out []Verify
	for _, it := range items {
		if value.IsMap(it) {
			out = append(out, verifyObject(r, e, it)...)
			continue
		}
		s, err := value.Text(it)
		switch {
		case err != nil:
			r.Wrong(e, "verify", "%s.", wording.Capitalised(err.Error()))
		case s == "command":
			r.Wrong(e, "verify", "Which command? It is run with the path as $1: verify = { command = \"python check.py \\\"$1\\\"\" }.")
		case s == "min_size" && b.Expr("min_size") == nil:
			r.Wrong(e, "verify", "How large? Write min_size = \"1MiB\" beside verify.")
		case !slices.Contains(verifyKinds, s):
			r.Wrong(e, "verify", "There is no check named %q%s Checks are %s and { command = … }.", wording.Clip(s), wording.DidYouMean(s, verifyKinds), strings.Join(verifyKinds, ", "))
		case s != "min_size":
			out = append(out, Verify{Kind: s})
		}
	}
	return out
}

func verifyObject(r *decode.Reader, e hcl.Expression, v cty.Value) (out []Verify) {
	m := v.AsValueMap()
	for _, kind := range slices.Sorted(maps.Keys(m)) {
		text, err := value.Text(m[kind])
		switch {
		case err != nil || text == "":
			r.Wrong(e, "verify", "%s needs a text.", wording.Clip(kind))
		case kind == "command":
			out = append(out, Verify{Kind: kind, Command: text})
		case kind == "sha256":
			out = append(out, Verify{Kind: kind, File: text})
		default:
			r.Wrong(e, "verify", "An object here is { command = \"…\" } or { sha256 = \"FILE\" }, not %q.", wording.Clip(kind))
		}
	}
	return out
}
