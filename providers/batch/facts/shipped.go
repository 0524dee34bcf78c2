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

// Profiles are the profiles of one scheduler or platform: those that come with muster, as
// NAME.hcl, and a campaign's own files.
type Profiles[P any] struct {
	Files embed.FS // the folder "profiles": NAME.hcl, and a template
	Of    string   // "Slurm"
	// Parse reads a profile's source; pools bear the backend's address.
	Parse func(name, backend string, src []byte) (P, error)
}

// Names lists the shipped ones, sorted.
func (p Profiles[P]) Names() []string {
	entries, err := p.Files.ReadDir("profiles")
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

// Sources are the shipped ones as HCL, by name.
func (p Profiles[P]) Sources() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range p.Names() {
		all[name], _ = p.Files.ReadFile("profiles/" + name + ".hcl")
	}
	return all
}

// Load reads a shipped one by name.
func (p Profiles[P]) Load(name, backend string) (none P, err error) {
	if src, ok := p.Sources()[name]; ok {
		return p.Parse(name, backend, src)
	}
	if near := diag.Suggest(name, p.Names()); near != "" {
		return none, fmt.Errorf("there is no %s profile %q; did you mean %q?", p.Of, name, near)
	}
	return none, fmt.Errorf("there is no %s profile %q; there are %s", p.Of, name, strings.Join(p.Names(), ", "))
}

// Named is the profile that a backend names: the campaign's own, a file whose source
// it brings, or one that is shipped; nil if it names none.
func (p Profiles[P]) Named(b providers.Backend) (*P, error) {
	if b.Profile == "" {
		return nil, nil
	}
	var found P
	var err error
	if strings.HasSuffix(b.Profile, ".hcl") {
		found, err = p.Parse(b.Profile, b.Name, []byte(b.ProfileSource))
	} else {
		found, err = p.Load(b.Profile, b.Name)
	}
	if err != nil {
		return nil, providers.Errorf(providers.Invalid, "%v", err)
	}
	return &found, nil
}
