// Package functions implements the functions that expressions of the language
// can call.
package functions

import (
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/disk"
)

// An entry is a function of the language.
type entry struct {
	Name string
	Doc  string // one line
	impl function.Function
	raw  bool // takes expressions, not values
	// size bounds the text of the result from above, in bytes; nil for functions
	// that make none longer than their arguments.
	size func(args []cty.Value) float64
}

// An Evaluator evaluates an expression by the language's rules.
type Evaluator func(hcl.Expression, *hcl.EvalContext) (cty.Value, diag.List)

// All are the language's functions by name; eval evaluates template files, and spend is called with
// the arguments and results of functions; nil counts nothing. None depends on the time, on chance
// or on anything but its arguments and files. The result is new and the caller's own.
func All(d disk.Disk, eval Evaluator, spend func(...cty.Value) error) map[string]function.Function {
	m := map[string]function.Function{}
	for _, f := range catalogue(d, eval, spend) {
		if f.raw {
			m[f.Name] = f.impl
		} else {
			m[f.Name] = numbered(f.impl, f.size, spend)
		}
	}
	return m
}

func catalogue(d disk.Disk, eval Evaluator, spend func(...cty.Value) error) []entry {
	list := slices.Concat(standard(), sequences(), collections(), quantities(), textFunctions(), encodings(), fileFunctions(d))
	return append(list,
		entry{Name: "templatefile", Doc: "the template in a file, with the given variables", impl: templateFile(d, eval, sync.OnceValue(func() map[string]function.Function {
			inner := All(d, eval, spend)
			delete(inner, "templatefile") // no recursion
			return inner
		}))},
		entry{Name: "try", Doc: "the first argument that evaluates without an error", impl: tryfunc.TryFunc, raw: true},
		entry{Name: "can", Doc: "whether the argument evaluates without an error", impl: tryfunc.CanFunc, raw: true},
	)
}
