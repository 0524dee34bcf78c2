package expr

import (
	"errors"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// opModulo is HCL's % but for a division by zero, which HCL lets pass: there
// 5 % 0 is 5.
var opModulo = &hclsyntax.Operation{Type: cty.Number, Impl: function.New(&function.Spec{
	Params: stdlib.ModuloFunc.Params(),
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		if args[1].RawEquals(cty.Zero) {
			return cty.NilVal, errors.New("can't divide by zero")
		}
		return stdlib.ModuloFunc.Call(args)
	},
})}
