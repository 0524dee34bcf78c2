package main

import (
	"context"
	"fmt"

	goversion "github.com/hashicorp/go-version"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/launch"
)

// lockProviders starts each external provider the campaign uses once, checks
// its version, and writes down what was found; read-only it only checks.
func (a *app) lockProviders(ctx context.Context, c *lang.Campaign, upgrade, readonly bool) error {
	types := externalTypes(c)
	if len(types) == 0 {
		return nil
	}
	pin := launch.PinRecord
	if readonly {
		pin = launch.PinRequired
	}
	l := launch.New(launch.Options{Builtin: served(), Dir: a.dir, Logger: a.logger(), Pin: pin})
	defer l.Close()
	before, err := launch.ReadLock(l.LockPath())
	if err != nil {
		return err
	}
	var diags diag.List
	for _, typ := range types {
		version, err := a.lockOne(ctx, l, typ)
		switch {
		case err != nil:
			diags.Append(diag.Diagnostic{Summary: fmt.Sprintf("Provider %q cannot be used", typ), Detail: err.Error()})
			continue
		case !upgrade && !readonly && changed(before, l, typ):
			diags.Append(diag.Diagnostic{Summary: fmt.Sprintf("Provider %q is not the program that was locked", typ),
				Detail: "If it was replaced on purpose, lock what is found now:\n\n    muster init -upgrade"})
			continue
		}
		if d := unsatisfied(c, typ, version); d != nil {
			diags.Append(*d)
			continue
		}
		a.printf("provider %s %s\n", typ, version)
	}
	if err := a.report(diags); err != nil || readonly {
		return err
	}
	lock, err := l.Lock()
	if err != nil {
		return err
	}
	return lock.Write(l.LockPath())
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
	return sortedKeys(seen)
}

// changed reports whether a program that was locked for this platform has
// another hash now.
func changed(before *launch.Lock, l *launch.Launcher, typ string) bool {
	now, err := l.Lock()
	if err != nil {
		return false
	}
	was, is := before.Providers[typ].Hashes[launch.Platform()], now.Providers[typ].Hashes[launch.Platform()]
	return was != "" && was != is
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
	if err != nil || !want.Check(have) {
		return &diag.Diagnostic{Summary: fmt.Sprintf("Provider %q has the wrong version", typ), Subject: need.Range.Ptr(),
			Detail: fmt.Sprintf("The campaign needs %s, found is %s. Install another one, or change required_providers.", need.Version, version)}
	}
	return nil
}
