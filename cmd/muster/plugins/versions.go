package plugins

import (
	"fmt"
	"maps"
	"slices"

	goversion "github.com/hashicorp/go-version"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// externalTypes are the backend types that are not built in.
func externalTypes(c *lang.Campaign) []string {
	seen := map[string]bool{}
	for name := range c.RequiredProviders {
		seen[name] = true
	}
	for _, b := range c.Backends {
		seen[b.Type] = true
	}
	for name := range Builtins {
		delete(seen, name)
	}
	return slices.Sorted(maps.Keys(seen))
}

// Unsuitable reports providers whose versions the campaign does not allow. A built-in one has
// muster's own version.
func Unsuitable(c *lang.Campaign, schemas map[string]offer.Schema, version string) (diags diag.List) {
	for _, typ := range slices.Sorted(maps.Keys(c.RequiredProviders)) {
		have := schemas[typ].Version
		if _, ok := Builtins[typ]; ok {
			have = version
		}
		if have == "" {
			continue // not used by a backend; init asks it
		}
		if d := unsatisfied(c, typ, have); d != nil {
			diags.Append(*d)
		}
	}
	return diags
}

func unsatisfied(c *lang.Campaign, typ, version string) *diag.Diagnostic {
	need, ok := c.RequiredProviders[typ]
	if !ok || need.Version == "" {
		return nil
	}
	want, err := goversion.NewConstraint(need.Version)
	if err != nil {
		return &diag.Diagnostic{Summary: "Not a version constraint", Detail: fmt.Sprintf("%q is not one; write for example \">= 1.2\".", need.Version), Subject: need.Range.Ptr()}
	}
	have, err := goversion.NewVersion(version)
	if err != nil || !want.Check(have.Core()) {
		return &diag.Diagnostic{Summary: fmt.Sprintf("Provider %q has the wrong version", typ), Subject: need.Range.Ptr(),
			Detail: fmt.Sprintf("The campaign requires %s; found is %s. Install another one, or change required_providers.", need.Version, version)}
	}
	return nil
}
