package decode

import (
	"regexp"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// maxPattern bounds a regular expression, in bytes.
const maxPattern = 4 << 10

// Pattern checks a regular expression.
func (r *Reader) Pattern(b *syntax.Block, name, text string, group bool) {
	if text == "" {
		return
	}
	if len(text) > maxPattern {
		r.Wrong(b.Expr(name), name, "The pattern has %d bytes, at most %d are read.", len(text), maxPattern)
		return
	}
	re, err := regexp.Compile(text)
	switch {
	case err != nil:
		r.Wrong(b.Expr(name), name, "%q is not a regular expression (RE2): %v.", wording.Clip(text), err)
	case group && re.NumSubexp() == 0:
		r.Wrong(b.Expr(name), name, "%q has no group; put the part to read in parentheses.", wording.Clip(text))
	}
}

// ExitCodes reads exit_codes = [1, 2], or one code.
func (r *Reader) ExitCodes(b *syntax.Block) []int {
	e := b.Expr("exit_codes")
	v, ok := r.Eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !value.IsList(v) {
		v = cty.TupleVal([]cty.Value{v})
	}
	var out []int
	for _, x := range v.AsValueSlice() {
		n, err := value.Integer(x, 0)
		if err != nil || n > 255 {
			text, _ := value.Text(x)
			r.Wrong(e, "exit_codes", "%q is not an exit code: these are whole numbers from 0 to 255.", wording.Clip(text))
			continue
		}
		out = append(out, n)
	}
	return out
}
