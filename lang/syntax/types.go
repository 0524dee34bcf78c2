package syntax

import (
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// BackendTypes are the types of backend blocks in a directory's campaign
// files, sorted, so that a caller knows whose schemas Load will need. Files
// that cannot be read are left to Load, which says why.
func BackendTypes(dir string) []string {
	paths, _ := filepath.Glob(filepath.Join(dir, "*"+campaignSuffix))
	var out []string
	for _, path := range paths {
		src, err := ReadCapped(path) // a pipe or a device would never end
		if err != nil || len(src) > MaxBytes || CheckText(src) != nil {
			continue
		}
		f, _ := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
		body, ok := f.Body.(*hclsyntax.Body)
		if !ok {
			continue
		}
		for _, b := range body.Blocks {
			if b.Type == "backend" && len(b.Labels) == 2 && !slices.Contains(out, b.Labels[0]) {
				out = append(out, b.Labels[0])
			}
		}
	}
	slices.Sort(out)
	return out
}
