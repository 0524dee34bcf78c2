package functions

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/lang/syntax"
)

// maxTemplate bounds a template file, in bytes.
const maxTemplate = 1 << 20

// templateFile renders the template in a file. Its expressions see the given
// variables and all functions but templatefile itself.
func templateFile(d disk.Disk, eval Evaluator, funcs func() map[string]function.Function) function.Function {
	render := func(args []cty.Value) (cty.Value, error) {
		name := args[0].AsString()
		text, err := d.Text(name)
		if err != nil {
			return cty.DynamicVal, function.NewArgError(0, err)
		}
		src := []byte(text)
		if len(src) > maxTemplate {
			return cty.DynamicVal, function.NewArgErrorf(0, "the template %s is larger than 1 MiB", name)
		}
		if err := syntax.CheckText(src); err != nil {
			return cty.DynamicVal, function.NewArgErrorf(0, "the template %s: %v", name, err)
		}
		e, ds := hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
		if ds.HasErrors() {
			return cty.DynamicVal, function.NewArgErrorf(0, "%s", ds.Error())
		}
		vars := map[string]cty.Value{}
		if ty := args[1].Type(); !ty.IsObjectType() && !ty.IsMapType() {
			return cty.DynamicVal, function.NewArgErrorf(1, "must be a map of variables")
		}
		for it := args[1].ElementIterator(); it.Next(); {
			k, v := it.Element()
			vars[k.AsString()] = v
		}
		v, mds := eval(e, &hcl.EvalContext{Variables: vars, Functions: funcs()})
		if mds.HasErrors() {
			return cty.DynamicVal, function.NewArgErrorf(0, "%s", strings.TrimSuffix(mds.Err().Error(), "."))
		}
		return v, nil
	}
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "vars", Type: cty.DynamicPseudoType}},
		Type:   func([]cty.Value) (cty.Type, error) { return cty.DynamicPseudoType, nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[1].IsWhollyKnown() {
				return cty.DynamicVal, nil
			}
			return render(args)
		},
	})
}
