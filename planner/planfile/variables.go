package planfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Variables are the values that the plan was made with, as a file of variables
// would state them; of sensitive ones it has none.
func (f *File) Variables() ([]byte, error) {
	out := hclwrite.NewEmptyFile()
	values := f.Head.Variables
	for _, name := range slices.Sorted(maps.Keys(values)) {
		ty, err := ctyjson.ImpliedType(values[name])
		if err != nil {
			return nil, fmt.Errorf("read variable %q of the plan: %w", name, err)
		}
		val, err := ctyjson.Unmarshal(values[name], ty)
		if err != nil {
			return nil, fmt.Errorf("read variable %q of the plan: %w", name, err)
		}
		out.Body().SetAttributeValue(name, val)
	}
	return out.Bytes(), nil
}
