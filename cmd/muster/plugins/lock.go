package plugins

import (
	"context"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/launch"
)

// A Locked is an external provider as it was found.
type Locked struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Lock starts each external provider of the campaign once, checks its version, and records it;
// read-only it only checks.
func (p Set) Lock(ctx context.Context, c *lang.Campaign, readonly bool) ([]Locked, diag.List, error) {
	locked := []Locked{}
	types := externalTypes(c)
	if len(types) == 0 {
		return locked, nil, nil
	}
	l := p.Launcher()
	defer l.Close()
	var diags diag.List
	for _, typ := range types {
		version, err := lockOne(ctx, l, typ)
		if err != nil {
			d := Fault(err)
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
		locked = append(locked, Locked{typ, version})
	}
	if diags.HasErrors() || readonly {
		return locked, diags, nil
	}
	lock, err := l.Lock()
	if err != nil {
		return locked, diags, err
	}
	return locked, diags, lock.Write(l.LockPath())
}

func lockOne(ctx context.Context, l *launch.Launcher, typ string) (version string, err error) {
	p, err := l.Provider(ctx, typ)
	if err != nil {
		return "", err
	}
	s, err := p.Schema(ctx)
	return s.Version, err
}

// Meet asks the gate about each external provider the campaign uses, and starts
// none.
func (p Set) Meet(c *lang.Campaign) {
	l := p.Launcher()
	defer l.Close()
	for _, typ := range externalTypes(c) {
		if path, digest, err := l.Digest(typ); err == nil && p.Gate != nil {
			_ = p.Gate.Start(typ, path, digest)
		}
	}
}
