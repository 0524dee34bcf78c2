package schema

import "slices"

// Homes are the blocks that hold a block of this name, or with attrs an
// attribute, as people say them: "resources { … }".
func Homes(name string, attrs bool) (out []string) {
	seen := map[*Block]bool{}
	var walk func(b *Block)
	walk = func(b *Block) {
		if seen[b] {
			return
		}
		seen[b] = true
		for _, c := range b.Blocks {
			if (attrs && c.Attr(name) != nil || c.Block(name) != nil) && !slices.Contains(out, c.Name+" { … }") {
				out = append(out, c.Name+" { … }")
			}
			walk(c)
		}
	}
	walk(Language)
	if len(out) > 3 {
		return nil // too common to say where it belongs
	}
	return out
}
