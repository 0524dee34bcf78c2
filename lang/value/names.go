package value

import (
	"github.com/hashicorp/hcl/v2"
)

// Names lists the steps of a traversal of names; a step that is an index
// by text counts as a name.
func Names(t hcl.Traversal) []string {
	var out []string
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			out = append(out, s.Name)
		case hcl.TraverseAttr:
			out = append(out, s.Name)
		case hcl.TraverseIndex:
			text, err := Text(s.Key)
			if err != nil {
				return nil
			}
			out = append(out, text)
		default:
			return nil
		}
	}
	return out
}
