package lang

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
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
	b := l.top.One("campaign")
	if b == nil {
		return
	}
	l.c.Name = b.Name()
	l.c.Description = l.Text(b, "description")
	l.c.MaxParallel = l.Integer(b, "max_parallel", 1, 0)
	l.cells = l.Integer(b, "max_cells", 1, grid.DefaultMaxCells)
	l.requiredVersion(b)
	l.requiredProviders(b)
	if s := b.One("state"); s != nil {
		l.c.Store = l.store(s)
	}
	for _, n := range b.All("notify") {
		l.Sure.Warnat(n.Range, "Notifications are not sent yet", "This version of muster reads notify blocks and sends nothing; %q will not be told.", n.Name())
		l.c.Notify = append(l.c.Notify, Typed{Type: n.Name(), Config: l.openConfig(n), Range: n.Range})
	}
}

func (l *loader) requiredVersion(b *syntax.Block) {
	text, ok := l.MaybeText(b, "required_version")
	if !ok {
		return
	}
	l.c.RequiredVersion = text
	want, err := version.NewConstraint(text)
	if err != nil {
		l.Wrong(b.Expr("required_version"), "required_version", "%q is not a version constraint; write one such as \">= 0.1\".", wording.Clip(text))
		return
	}
	have, err := version.NewVersion(l.o.Version)
	if err != nil {
		return // a build without a version
	}
	if !want.Check(have.Core()) {
		l.Sure.Errorat(b.Expr("required_version").Range(), "Another version of muster is required", "The campaign requires %s; this is muster %s.", text, l.o.Version)
	}
}

// requiredProviders reads name = ">= 1.2" or name = { version = ">= 1.2" },
// as an attribute or a block.
func (l *loader) requiredProviders(b *syntax.Block) {
	if e := b.Expr("required_providers"); e != nil {
		if v, ok := l.Eval(e); ok {
			if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
				l.Wrong(e, "required_providers", "A map is needed, { example = \">= 1.2\" }.")
				return
			}
			for name, x := range v.AsValueMap() {
				l.requiredProvider(name, x, e.Range())
			}
		}
	}
	if inner := b.One("required_providers"); inner != nil {
		for _, name := range slices.Sorted(maps.Keys(inner.Attrs)) {
			if v, ok := l.Eval(inner.Attrs[name].Expr); ok {
				l.requiredProvider(name, v, inner.Attrs[name].Expr.Range())
			}
		}
	}
}

func (l *loader) requiredProvider(name string, v cty.Value, at hcl.Range) {
	v, _ = v.UnmarkDeep()
	if value.IsMap(v) {
		m := v.AsValueMap()
		if v = m["version"]; v == cty.NilVal {
			v = cty.StringVal(">= 0")
		}
	}
	text, err := value.Text(v)
	if err == nil {
		_, err = version.NewConstraint(text)
	}
	if err != nil {
		l.Sure.Errorat(at, "Invalid required_providers", "The version of %q must be a constraint such as \">= 1.2\".", wording.Clip(name))
		return
	}
	l.c.RequiredProviders[name] = RequiredProvider{Version: text, Range: at}
}

// store reads a state block.
func (l *loader) store(b *syntax.Block) Typed {
	stores := l.o.Stores
	if stores == nil {
		stores = map[string]offer.Block{"file": fileStore}
	}
	t := Typed{Type: b.Name(), Config: json.RawMessage("{}"), Range: b.Range}
	schema, ok := stores[b.Name()]
	if !ok {
		l.Sure.Errorat(b.Syntax.LabelRanges[0], "Unknown state store", "There is no state store of type %q%s Known: %s.", wording.Clip(b.Name()), wording.DidYouMean(b.Name(), slices.Sorted(maps.Keys(stores))), strings.Join(slices.Sorted(maps.Keys(stores)), ", "))
		return t
	}
	l.NoSecret(b, "path")
	t.Config, _ = l.Config(schema, b.Syntax.Body, "state "+b.Name(), nil)
	return t
}

// openConfig evaluates attributes that nobody has a schema for.
func (l *loader) openConfig(b *syntax.Block) json.RawMessage {
	vals := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
		if v, ok := l.Eval(b.Attrs[name].Expr); ok && !v.ContainsMarked() {
			vals[name] = value.JSON(v)
		}
	}
	return value.Encode(vals)
}
