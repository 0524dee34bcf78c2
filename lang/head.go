package lang

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
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
	l.noSecret(b, "path")
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
