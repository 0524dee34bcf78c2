package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	goversion "github.com/hashicorp/go-version"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/offer"
)

// lockProviders starts each external provider the campaign uses once, checks
// its version, and writes down what was found; read-only it only checks.
func (a *app) lockProviders(ctx context.Context, c *lang.Campaign, readonly bool) ([]lockedProvider, error) {
	locked := []lockedProvider{}
	types := externalTypes(c)
	if len(types) == 0 {
		return locked, nil
	}
	l := launch.New(launch.Options{Builtin: served(), Dir: a.dir, Logger: a.logger(), Pin: a.pin})
	defer l.Close()
	var diags diag.List
	for _, typ := range types {
		version, err := a.lockOne(ctx, l, typ)
		if err != nil {
			d := providerFault(err)
			if need, ok := c.RequiredProviders[typ]; ok {
				d.Subject = need.Range.Ptr()
			}
			diags.Append(d)
			continue
		}
		if d := unsatisfied(c, typ, version); d != nil {
			diags.Append(*d)
			continue
		}
		locked = append(locked, lockedProvider{typ, version})
	}
	if err := a.report(diags); err != nil || readonly {
		return locked, err
	}
	lock, err := l.Lock()
	if err != nil {
		return locked, err
	}
	return locked, lock.Write(l.LockPath())
}

func (a *app) lockOne(ctx context.Context, l *launch.Launcher, typ string) (version string, err error) {
	p, err := l.Provider(ctx, typ)
	if err != nil {
		return "", err
	}
	s, err := p.Schema(ctx)
	return s.Version, err
}

// externalTypes are the backend types that are not built in.
func externalTypes(c *lang.Campaign) []string {
	seen := map[string]bool{}
	for name := range c.RequiredProviders {
		seen[name] = true
	}
	for _, b := range c.Backends {
		seen[b.Type] = true
	}
	for name := range builtins {
		delete(seen, name)
	}
	return slices.Sorted(maps.Keys(seen))
}

// unknownType is the summary with which lang meets a type without a schema.
const unknownType = "Unknown type of backend"

// explainAbsent puts why a provider cannot be used in the place of what lang
// says of its type, which knows only that it is not there.
func explainAbsent(diags diag.List, absent map[string]error) diag.List {
	said := map[string]bool{}
	for i, d := range diags {
		for typ, err := range absent {
			if d.Summary != unknownType || !strings.Contains(d.Detail, fmt.Sprintf("of type %q", typ)) {
				continue
			}
			said[typ] = true
			var e *providers.Error
			if errors.As(err, &e) && e.Class == providers.NotFound {
				diags[i].Detail = d.Detail + "\n\n" + e.Detail
				continue
			}
			why := providerFault(err)
			diags[i].Summary, diags[i].Detail = why.Summary, why.Detail
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(absent)) {
		if !said[typ] {
			diags.Append(providerFault(absent[typ]))
		}
	}
	return diags
}

// providerFault tells of a provider's error what was found and what to do next.
func providerFault(err error) diag.Diagnostic {
	var e *providers.Error
	if errors.As(err, &e) {
		return diag.Diagnostic{Summary: diag.Sentence(e.Summary), Detail: strings.TrimSpace(e.Detail + "\n\n" + e.Hint)}
	}
	return diag.FromError(err)
}

// unsuitable tells of the providers whose versions the campaign does not
// want. A built-in one has muster's own version.
func unsuitable(c *lang.Campaign, schemas map[string]offer.Schema) (diags diag.List) {
	for _, typ := range slices.Sorted(maps.Keys(c.RequiredProviders)) {
		have := schemas[typ].Version
		if _, ok := builtins[typ]; ok {
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
