package plugins

import (
	"maps"
	"slices"
	"strings"
)

// A Provider is one provider in `muster providers -json`.
type Provider struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"` // "built-in", "external"
	Path    string `json:"path,omitempty"`
	Note    string `json:"note,omitempty"`
}

// List is every provider that is found, and those that are locked.
func (p Set) List(version string) ([]Provider, error) {
	var out []Provider
	for name, b := range Builtins {
		r := Provider{Name: name, Version: version, Kind: "built-in"}
		if b.New == nil {
			r.Note = "checked and planned for, from facts; not driven in this version"
		}
		out = append(out, r)
	}
	l := p.Launcher()
	defer l.Close()
	lock, err := l.Lock()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, f := range l.Discover() {
		r := Provider{Name: f.Type, Kind: "external", Path: f.Path, Note: "not locked; muster init locks what the campaign needs"}
		found[f.Type] = true
		if locked, ok := lock.Providers[f.Type]; ok {
			r.Version, r.Note = locked.Version, "locked"
			if _, err := l.Resolve(f.Type); err != nil {
				r.Version, r.Note = "", Fault(err).Summary
			}
		}
		out = append(out, r)
	}
	for _, name := range slices.Sorted(maps.Keys(lock.Providers)) {
		if !found[name] {
			out = append(out, Provider{Name: name, Version: lock.Providers[name].Version, Kind: "external", Note: "locked, but not found"})
		}
	}
	slices.SortFunc(out, func(x, y Provider) int {
		return strings.Compare(x.Kind+x.Name, y.Kind+y.Name) // "built-in" sorts before "external"
	})
	return out, nil
}
