package lang

import (
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/providers/offer"
)

// config checks a body against a provider's schema and returns it as JSON:
// durations in seconds, sizes in bytes. skip names what the caller reads
// itself. The second result lists attributes with sensitive values.
func (l *loader) config(schema offer.Block, body *hclsyntax.Body, where string, skip *blockSpec) (json.RawMessage, []string) {
	c := configReader{l: l, skip: skip}
	v := c.block(schema, body, where, "")
	return jsonAny(v), c.sensitive
}

// A configReader reads one block of a provider's.
type configReader struct {
	l         *loader
	skip      *blockSpec
	sensitive []string // JSON pointers
}

func (c *configReader) block(schema offer.Block, body *hclsyntax.Body, where, path string) map[string]any {
	out := map[string]any{}
	c.names(schema, body, where, path == "")
	for _, a := range schema.Attrs {
		attr := body.Attributes[a.Name]
		if attr == nil || path == "" && c.skip != nil && c.skip.attr(a.Name) != nil {
			if a.Required && attr == nil && !c.l.broken {
				c.l.sure.Errorat(body.SrcRange, a.Name+" is missing", "%s needs %s = …: %s", capitalised(where), a.Name, lower(a.Doc))
			}
			continue
		}
		v, ok := c.l.eval(attr.Expr)
		if !ok {
			continue
		}
		if v.ContainsMarked() {
			c.sensitive = append(c.sensitive, path+"/"+a.Name)
		}
		if j, ok := c.l.typed(attr.Expr, a, v); ok {
			out[a.Name] = j
		}
	}
	for _, n := range schema.Blocks {
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
			c.l.sure.Errorat(b.DefRange(), "Duplicate "+n.Name, "There can be only one %s block here.", n.Name)
			continue
		}
		v := c.block(n.Block, b.Body, n.Name, path+"/"+n.Name)
		switch {
		case len(b.Labels) == 1 && hasAttr(n.Block, "name"):
			v["name"] = b.Labels[0]
		case len(b.Labels) > 0:
			c.l.sure.Errorat(b.DefRange(), "A label too many", "A %s block has no label here.", n.Name)
		}
		list = append(list, v)
	}
	switch {
	case n.Many && len(list) > 0:
		out[n.Name] = list
	case len(list) > 0:
		out[n.Name] = list[0]
	case n.Required && !c.l.broken:
		c.l.sure.Errorat(body.SrcRange, n.Name+" is missing", "%s needs a %s block: %s", capitalised(where), n.Name, lower(n.Doc))
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

// names tells what the schema does not know.
func (c *configReader) names(schema offer.Block, body *hclsyntax.Body, where string, outer bool) {
	spec := &blockSpec{Name: where}
	for _, a := range schema.Attrs {
		spec.Attrs = append(spec.Attrs, attrSpec{Name: a.Name})
	}
	for _, n := range schema.Blocks {
		spec.Blocks = append(spec.Blocks, &blockSpec{Name: n.Name})
	}
	if outer && c.skip != nil {
		spec.Attrs = append(spec.Attrs, c.skip.Attrs...)
	}
	for _, name := range sortedKeys(body.Attributes) {
		if spec.attr(name) == nil {
			c.l.unknownAttr(spec, body.Attributes[name])
		}
	}
	for _, b := range body.Blocks {
		if spec.block(b.Type) == nil {
			c.l.unknownBlock(spec, b)
		}
	}
}

// typed checks and converts one attribute to what goes into JSON.
func (l *loader) typed(e hcl.Expression, a offer.Attr, v cty.Value) (any, bool) {
	v, _ = v.UnmarkDeep()
	out, err := convertTyped(a, v)
	if err != nil {
		l.wrong(e, a.Name, "%s", sentence(err))
		return nil, false
	}
	if len(a.OneOf) > 0 {
		if s, ok := out.(string); ok && !contains(a.OneOf, s) {
			l.wrong(e, a.Name, "%q is not one of %s%s", clip(s), strings.Join(a.OneOf, ", "), didYouMean(s, a.OneOf))
			return nil, false
		}
	}
	return out, true
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
