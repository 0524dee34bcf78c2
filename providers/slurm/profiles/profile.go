// Package profiles holds the facts about known Slurm sites as data: one HCL
// file for each site, in the form that TEMPLATE.hcl explains.
package profiles

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

//go:embed *.hcl
var files embed.FS

// template is the commented form for new sites, which is no site itself.
const template = "TEMPLATE"

// A Profile is what is known of a site: its partitions as pools and its
// qualities of service. Live answers of the cluster win over it.
type Profile struct {
	Name     string // "cu-alpine", or a campaign's own file: "site.hcl"
	Site     string // "CU Boulder Alpine"
	Verified string // month: "2026-05"
	Pools    []offer.Pool
	QoS      []QoS
	// PerBilling are the service units that an hour of one unit of Slurm's
	// billing TRES costs, by partition, where the site charges so.
	PerBilling map[string]string
}

// QoS is a quality of service and its limits; zero is no limit stated.
type QoS struct {
	Name      string
	MaxTime   time.Duration
	MaxSubmit int      // most jobs of one user queued or running
	Only      []string // partitions it is for; empty = all
	Default   bool
	Note      string
}

// Names lists the names of the profiles shipped with muster, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
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
func Sources() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range Names() {
		all[name], _ = files.ReadFile(name + ".hcl")
	}
	return all
}

// Of is the profile that a backend names: the campaign's own, a file whose
// source it brings, or one that is shipped; nil if it names none.
func Of(b providers.Backend) (*Profile, error) {
	if b.Profile == "" {
		return nil, nil
	}
	read := Load
	if strings.HasSuffix(b.Profile, ".hcl") {
		read = func(name, backend string) (Profile, error) { return Parse(name, backend, []byte(b.ProfileSource)) }
	}
	p, err := read(b.Profile, b.Name)
	if err != nil {
		return nil, providers.Errorf(providers.Invalid, "%v", err)
	}
	return &p, nil
}

// Load reads a shipped profile by name; its pools bear the backend's address.
func Load(name, backend string) (Profile, error) {
	src, ok := Sources()[name]
	if !ok {
		if near := diag.Suggest(name, Names()); near != "" {
			return Profile{}, fmt.Errorf("there is no Slurm profile %q; did you mean %q?", name, near)
		}
		return Profile{}, fmt.Errorf("there is no Slurm profile %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return Parse(name, backend, src)
}
