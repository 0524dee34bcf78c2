package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
)

// unknownAttr returns the name that was probably meant.
func (l *loader) unknownAttr(spec *blockSpec, a *hclsyntax.Attribute) string {
	attrs, blocks := spec.names()
	detail := ""
	switch {
	case slices.Contains(blocks, a.Name):
		detail = fmt.Sprintf("%s is a block: write %s { … } without the equals sign.", a.Name, a.Name)
	default:
		detail = l.noSuch(spec, "attribute", a.Name, append(attrs, blocks...))
	}
	l.sure.Errorat(a.NameRange, fmt.Sprintf("Unknown attribute %q", clip(a.Name)), "%s", detail)
	if slices.Contains(blocks, a.Name) {
		return a.Name
	}
	return diag.Suggest(a.Name, append(attrs, blocks...))
}

// unknownBlock returns the name that was probably meant.
func (l *loader) unknownBlock(spec *blockSpec, c *hclsyntax.Block) string {
	attrs, blocks := spec.names()
	detail := ""
	switch {
	case slices.Contains(attrs, c.Type):
		detail = fmt.Sprintf("%s is an attribute: write %s = { … } with an equals sign.", c.Type, c.Type)
	case spec != language && language.block(c.Type) != nil:
		detail = fmt.Sprintf("%s block stands at the top of a file, not in %s block. Is a closing brace missing above?", capitalised(article(c.Type)), article(spec.Name))
	default:
		detail = l.noSuch(spec, "block", c.Type, append(blocks, attrs...))
	}
	l.sure.Errorat(hcl.RangeBetween(c.TypeRange, c.OpenBraceRange), fmt.Sprintf("Unknown block %q", clip(c.Type)), "%s", detail)
	if slices.Contains(attrs, c.Type) {
		return c.Type
	}
	return diag.Suggest(c.Type, append(blocks, attrs...))
}

func (l *loader) noSuch(spec *blockSpec, kind, name string, known []string) string {
	where := article(spec.Name) + " block"
	if spec == language {
		where = "a campaign file"
	}
	s := fmt.Sprintf("There is no %s named %q in %s", kind, clip(name), where)
	if near := diag.Suggest(name, known); near != "" {
		s += fmt.Sprintf("; did you mean %q?", near)
	} else {
		slices.Sort(known)
		s += "; it holds " + strings.Join(slices.Compact(known), ", ") + "."
	}
	if spec.Hint != "" {
		s += " " + spec.Hint
	}
	return s
}

// duplicates tells blocks that stand twice, by type and labels.
func (l *loader) duplicates(b *block) {
	seen := map[string]*block{}
	b.inner = slices.DeleteFunc(b.inner, func(c *block) bool {
		if len(c.labels) == 0 && !c.spec.Single || c.spec.Name == "notify" {
			return false
		}
		key := c.spec.Name + "\x00" + strings.Join(c.labels, "\x00")
		if c.spec.Single {
			key = c.spec.Name
		}
		first := seen[key]
		if first == nil {
			seen[key] = c
			return false
		}
		l.sure.Errorat(c.rng, fmt.Sprintf("Duplicate %s", blockName(c.syntax)), "It stands already at %s line %d. %s", first.rng.Filename, first.rng.Start.Line, onlyOnce(c))
		return true
	})
	if b.attrs["grid"] != nil && b.one("grid") != nil {
		l.sure.Errorat(b.one("grid").rng, "Two grids", "The phase has both grid = … and grid { … }. Keep one.")
	}
}

func onlyOnce(c *block) string {
	if c.spec.Single {
		return fmt.Sprintf("There can be only one %s block here.", c.spec.Name)
	}
	return "Give one of them another name."
}
