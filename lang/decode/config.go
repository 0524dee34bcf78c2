package decode

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// Config checks a body against a provider's schema and returns it as JSON:
// durations in seconds, sizes in bytes. skip names the parts that the caller
// reads itself. The second result lists attributes with sensitive values.
func (r *Reader) Config(s offer.Block, body *hclsyntax.Body, where string, skip *schema.Block) (json.RawMessage, []string) {
	c := configReader{r: r, skip: skip}
	v := c.block(s, body, where, "")
	return value.Encode(v), c.sensitive
}

// A configReader reads one block of a provider's.
type configReader struct {
	r         *Reader
	skip      *schema.Block
	sensitive []string // JSON pointers
}

// Options checks the names of a job's options against a provider's schema and
// reads its inner blocks, whose values no cell changes.
func (r *Reader) Options(s offer.Block, body *hclsyntax.Body, where string) map[string]any {
	c := configReader{r: r}
	c.names(s, body, where, false)
	fixed := map[string]any{}
	for _, n := range s.Blocks {
		c.nested(n, body, where, "", fixed)
	}
	return fixed
}

func (c *configReader) block(s offer.Block, body *hclsyntax.Body, where, path string) map[string]any {
	out := map[string]any{}
	c.names(s, body, where, path == "")
	for _, a := range s.Attrs {
		attr := body.Attributes[a.Name]
		if attr == nil || path == "" && c.skip != nil && c.skip.Attr(a.Name) != nil {
			if a.Required && attr == nil && !c.r.Broken {
				c.r.Sure.Errorat(body.SrcRange, a.Name+" is missing", "%s needs %s = …: %s", wording.Capitalised(where), a.Name, diag.Lower(a.Doc))
			}
			continue
		}
		v, ok := c.r.Eval(attr.Expr)
		if !ok {
			continue
		}
		if v.ContainsMarked() {
			c.sensitive = append(c.sensitive, path+"/"+a.Name)
		}
		if j, ok := c.r.typed(attr.Expr, a, v); ok {
			out[a.Name] = j
		}
	}
	for _, n := range s.Blocks {
		c.nested(n, body, where, path, out)
	}
	return out
}

func (c *configReader) nested(n offer.NestedBlock, body *hclsyntax.Body, where, path string, out map[string]any) {
	var list []map[string]any
	for _, b := range body.Blocks {
		if b.Type != n.Name {
			continue
		}
		if len(list) > 0 && !n.Many {
			c.r.Sure.Errorat(b.DefRange(), "Duplicate "+n.Name, "There can be only one %s block here.", n.Name)
			continue
		}
		v := c.block(n.Block, b.Body, n.Name, path+"/"+n.Name)
		switch {
		case len(b.Labels) == 1 && hasAttr(n.Block, "name"):
			v["name"] = b.Labels[0]
		case len(b.Labels) > 0:
			c.r.Sure.Errorat(b.DefRange(), "A label too many", "A %s block has no label here.", n.Name)
		}
		list = append(list, v)
	}
	switch {
	case n.Many && len(list) > 0:
		out[n.Name] = list
	case len(list) > 0:
		out[n.Name] = list[0]
	case n.Required && !c.r.Broken:
		c.r.Sure.Errorat(body.SrcRange, n.Name+" is missing", "%s needs a %s block: %s", wording.Capitalised(where), n.Name, diag.Lower(n.Doc))
	}
}

func hasAttr(b offer.Block, name string) bool {
	for _, a := range b.Attrs {
		if a.Name == name {
			return true
		}
	}
	return false
}

// names reports names that the schema does not have.
func (c *configReader) names(s offer.Block, body *hclsyntax.Body, where string, outer bool) {
	spec := &schema.Block{Name: where}
	for _, a := range s.Attrs {
		spec.Attrs = append(spec.Attrs, schema.Attr{Name: a.Name})
	}
	for _, n := range s.Blocks {
		spec.Blocks = append(spec.Blocks, &schema.Block{Name: n.Name})
	}
	if outer && c.skip != nil {
		spec.Attrs, spec.Blocks = append(spec.Attrs, c.skip.Attrs...), append(spec.Blocks, c.skip.Blocks...)
	}
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		if spec.Attr(name) == nil {
			syntax.UnknownAttr(&c.r.Sure, spec, body.Attributes[name])
		}
	}
	for _, b := range body.Blocks {
		if spec.Block(b.Type) == nil {
			syntax.UnknownBlock(&c.r.Sure, spec, b)
		}
	}
}

// typed checks and converts one attribute to a value for JSON.
func (r *Reader) typed(e hcl.Expression, a offer.Attr, v cty.Value) (any, bool) {
	v, _ = v.UnmarkDeep()
	out, err := value.Typed(a, v)
	if err != nil {
		r.Wrong(e, a.Name, "%s", wording.Sentence(err))
		return nil, false
	}
	if len(a.OneOf) > 0 {
		if s, ok := out.(string); ok && !slices.Contains(a.OneOf, s) {
			r.Wrong(e, a.Name, "%q is not one of %s%s", wording.Clip(s), strings.Join(a.OneOf, ", "), wording.DidYouMean(s, a.OneOf))
			return nil, false
		}
	}
	if a.Check != nil {
		texts, _ := out.([]string)
		if s, ok := out.(string); ok {
			texts = []string{s}
		}
		for _, s := range texts {
			if err := a.Check(s); err != nil {
				r.Wrong(e, a.Name, "%s", wording.Sentence(err))
				return nil, false
			}
		}
	}
	return out, true
}
