package facts

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers"
)

// template is the commented form for new sites, which is no site itself.
const template = "TEMPLATE"

// Shipped are the profiles of sites that come with muster, as NAME.hcl.
type Shipped struct {
	Files embed.FS
	Of    string // the scheduler: "Slurm"
}

// Names lists their names, sorted.
func (s Shipped) Names() []string {
	entries, err := s.Files.ReadDir(".")
	if err != nil {
		panic("bug: the profiles are not embedded: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".hcl"); name != template {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Sources are the profiles as HCL, by name.
func (s Shipped) Sources() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range s.Names() {
		all[name], _ = s.Files.ReadFile(name + ".hcl")
	}
	return all
}

// Source is one of them.
func (s Shipped) Source(name string) ([]byte, error) {
	src, ok := s.Sources()[name]
	if ok {
		return src, nil
	}
	if near := diag.Suggest(name, s.Names()); near != "" {
		return nil, fmt.Errorf("there is no %s profile %q; did you mean %q?", s.Of, name, near)
	}
	return nil, fmt.Errorf("there is no %s profile %q; there are %s", s.Of, name, strings.Join(s.Names(), ", "))
}

// Of is the profile that a backend names: the campaign's own, a file whose source
// it brings, or one that is shipped; nil if it names none.
func Of[P any](b providers.Backend, load func(name, backend string) (P, error), parse func(name, backend string, src []byte) (P, error)) (*P, error) {
	if b.Profile == "" {
		return nil, nil
	}
	if strings.HasSuffix(b.Profile, ".hcl") {
		load = func(name, backend string) (P, error) { return parse(name, backend, []byte(b.ProfileSource)) }
	}
	p, err := load(b.Profile, b.Name)
	if err != nil {
		return nil, providers.Errorf(providers.Invalid, "%v", err)
	}
	return &p, nil
}
