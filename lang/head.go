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

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// stores are the types of `state` blocks and their arguments.
var stores = map[string]offer.Block{
	"file": {Attrs: []offer.Attr{
		{Name: "path", Type: offer.String, Doc: "Folder of the state, or a .json file, relative to the campaign's folder. Default: the campaign's folder."},
	}},
}

// A headReader reads the campaign block.
type headReader struct {
	*decode.Reader
	c       *Campaign
	version string // muster's own, "" is not checked
}

// readHead reads the campaign block, and returns max_cells. A campaign without
// one has the name of its directory.
func readHead(r *decode.Reader, c *Campaign, version string, b *syntax.Block) (maxCells int) {
	c.Name = filepath.Base(c.Dir)
	c.Store = Typed{Type: "file", Config: json.RawMessage("{}")}
	if b == nil {
		return grid.DefaultMaxCells
	}
	hr := headReader{r, c, version}
	hr.c.Name = b.Name()
	hr.c.Description = hr.Text(b, "description")
	hr.c.MaxParallel = hr.Integer(b, "max_parallel", 1, 0)
	hr.requiredVersion(b)
	hr.requiredProviders(b)
	if s := b.One("state"); s != nil {
		hr.c.Store = hr.store(s)
	}
	for _, n := range b.All("notify") {
		hr.Sure.Warnat(n.Range, "Notifications are not sent yet", "This version of muster reads notify blocks and sends nothing; it will not notify %q.", n.Name())
		hr.c.Notify = append(hr.c.Notify, Typed{Type: n.Name(), Config: hr.openConfig(n), Range: n.Range})
	}
	return hr.Integer(b, "max_cells", 1, grid.DefaultMaxCells)
}

func (hr *headReader) requiredVersion(b *syntax.Block) {
	text, ok := hr.MaybeText(b, "required_version")
	if !ok {
		return
	}
	want, err := version.NewConstraint(text)
	if err != nil {
		hr.Wrong(b.Expr("required_version"), "required_version", "%q is not a version constraint; write one such as \">= 0.1\".", wording.Clip(text))
		return
	}
	have, err := version.NewVersion(hr.version)
	if err != nil {
		return // a build without a version
	}
	if !want.Check(have.Core()) {
		hr.Sure.Errorat(b.Expr("required_version").Range(), "Another version of muster is required", "The campaign requires %s; this is muster %s.", text, hr.version)
	}
}

// requiredProviders reads name = ">= 1.2" or name = { version = ">= 1.2" },
// as an attribute or a block.
func (hr *headReader) requiredProviders(b *syntax.Block) {
	if e := b.Expr("required_providers"); e != nil {
		if v, ok := hr.Eval(e); ok {
			if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
				hr.Wrong(e, "required_providers", "A map is needed, { example = \">= 1.2\" }.")
				return
			}
			for name, x := range v.AsValueMap() {
				hr.requiredProvider(name, x, e.Range())
			}
		}
	}
	if inner := b.One("required_providers"); inner != nil {
		for _, name := range slices.Sorted(maps.Keys(inner.Attrs)) {
			if v, ok := hr.Eval(inner.Attrs[name].Expr); ok {
				hr.requiredProvider(name, v, inner.Attrs[name].Expr.Range())
			}
		}
	}
}

func (hr *headReader) requiredProvider(name string, v cty.Value, at hcl.Range) {
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
		hr.Sure.Errorat(at, "Invalid required_providers", "The version of %q must be a constraint such as \">= 1.2\".", wording.Clip(name))
		return
	}
	hr.c.RequiredProviders[name] = RequiredProvider{Version: text, Range: at}
}

// store reads a state block.
func (hr *headReader) store(b *syntax.Block) Typed {
	t := Typed{Type: b.Name(), Config: json.RawMessage("{}"), Range: b.Range}
	schema, ok := stores[b.Name()]
	if !ok {
		hr.Sure.Errorat(b.Syntax.LabelRanges[0], "Unknown state store", "There is no state store of type %q%s Known: %s.", wording.Clip(b.Name()), wording.DidYouMean(b.Name(), slices.Sorted(maps.Keys(stores))), strings.Join(slices.Sorted(maps.Keys(stores)), ", "))
		return t
	}
	hr.NoSecret(b, "path")
	t.Config, _ = hr.Config(schema, b.Syntax.Body, "state "+b.Name(), nil)
	return t
}

// openConfig evaluates attributes that nobody has a schema for.
func (hr *headReader) openConfig(b *syntax.Block) json.RawMessage {
	vals := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(b.Attrs)) {
		if v, ok := hr.Eval(b.Attrs[name].Expr); ok && !v.ContainsMarked() {
			vals[name] = value.JSON(v)
		}
	}
	return value.Encode(vals)
}
