package lang

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/providers/offer"
)

// fileStore is what `state "file"` holds.
var fileStore = offer.Block{Attrs: []offer.Attr{
	{Name: "path", Type: offer.String, Default: "\".muster\"", Doc: "Folder of the state, relative to the campaign's directory."},
}}

// campaign reads the campaign block. A campaign without one has the name of
// its directory.
func (l *loader) campaign() {
	l.c.Name = filepath.Base(l.c.Dir)
	l.c.Store = Typed{Type: "file", Config: json.RawMessage("{}")}
	b := l.top.one("campaign")
	if b == nil {
		return
	}
	l.c.Name = b.name()
	l.c.Description = l.text(b, "description")
	l.c.MaxParallel = l.integer(b, "max_parallel", 1, 0)
	l.cells = l.integer(b, "max_cells", 1, grid.DefaultMaxCells)
	l.requiredVersion(b)
	l.requiredProviders(b)
	if s := b.one("state"); s != nil {
		l.c.Store = l.store(s)
	}
	for _, n := range b.all("notify") {
		l.sure.Warnat(n.rng, "Notifications are not sent yet", "This version of muster reads notify blocks and sends nothing; %q will not be told.", n.name())
		l.c.Notify = append(l.c.Notify, Typed{Type: n.name(), Config: l.openConfig(n), Range: n.rng})
	}
}

func (l *loader) requiredVersion(b *block) {
	text, ok := l.maybeText(b, "required_version")
	if !ok {
		return
	}
	l.c.RequiredVersion = text
	want, err := version.NewConstraint(text)
	if err != nil {
		l.wrong(b.expr("required_version"), "required_version", "%q is not a version constraint; write one such as \">= 0.1\".", clip(text))
		return
	}
	have, err := version.NewVersion(l.o.Version)
	if err != nil {
		return // a build without a version
	}
	if !want.Check(have.Core()) {
		l.sure.Errorat(b.expr("required_version").Range(), "Another version of muster is required", "The campaign requires %s; this is muster %s.", text, l.o.Version)
	}
}

// requiredProviders reads name = ">= 1.2" or name = { version = ">= 1.2" },
// as an attribute or a block.
func (l *loader) requiredProviders(b *block) {
	if e := b.expr("required_providers"); e != nil {
		if v, ok := l.eval(e); ok {
			if v, _ = v.UnmarkDeep(); !isMap(v) {
				l.wrong(e, "required_providers", "A map is needed, { example = \">= 1.2\" }.")
				return
			}
			for name, x := range v.AsValueMap() {
				l.requiredProvider(name, x, e.Range())
			}
		}
	}
	if inner := b.one("required_providers"); inner != nil {
		for _, name := range sortedKeys(inner.attrs) {
			if v, ok := l.eval(inner.attrs[name].Expr); ok {
				l.requiredProvider(name, v, inner.attrs[name].Expr.Range())
			}
		}
	}
}

func (l *loader) requiredProvider(name string, v cty.Value, at hcl.Range) {
	v, _ = v.UnmarkDeep()
	if isMap(v) {
		m := v.AsValueMap()
		if v = m["version"]; v == cty.NilVal {
			v = cty.StringVal(">= 0")
		}
	}
	text, err := asText(v)
	if err == nil {
		_, err = version.NewConstraint(text)
	}
	if err != nil {
		l.sure.Errorat(at, "Invalid required_providers", "The version of %q must be a constraint such as \">= 1.2\".", clip(name))
		return
	}
	l.c.RequiredProviders[name] = RequiredProvider{Version: text, Range: at}
}

// store reads a state block.
func (l *loader) store(b *block) Typed {
	stores := l.o.Stores
	if stores == nil {
		stores = map[string]offer.Block{"file": fileStore}
	}
	t := Typed{Type: b.name(), Config: json.RawMessage("{}"), Range: b.rng}
	schema, ok := stores[b.name()]
	if !ok {
		l.sure.Errorat(b.syntax.LabelRanges[0], "Unknown state store", "There is no state store of type %q%s Known: %s.", clip(b.name()), didYouMean(b.name(), sortedKeys(stores)), strings.Join(sortedKeys(stores), ", "))
		return t
	}
	t.Config, _ = l.config(schema, b.syntax.Body, "state "+b.name(), nil)
	return t
}

// openConfig evaluates attributes that nobody has a schema for.
func (l *loader) openConfig(b *block) json.RawMessage {
	vals := map[string]json.RawMessage{}
	for _, name := range sortedKeys(b.attrs) {
		if v, ok := l.eval(b.attrs[name].Expr); ok && !v.ContainsMarked() {
			vals[name] = jsonValue(v)
		}
	}
	return jsonAny(vals)
}

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
