package functions

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/units"
)

func quantities() []entry {
	return []entry{
		{Name: "duration", Doc: "a duration in seconds: duration(\"1h\") is 3600", impl: durationFunc},
		{Name: "size", Doc: "a size in bytes: size(\"16GiB\")", impl: sizeFunc},
	}
}

var durationFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		d, err := units.ParseDuration(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.NumberFloatVal(d.Seconds()), nil
	},
})

var sizeFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		n, err := units.ParseSize(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.NumberIntVal(n), nil
	},
})
