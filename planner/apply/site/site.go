// Package site adds a backend's settings to every job: workdir, setup,
// environment, and the environment and secrets of local jobs.
package site

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Backend is a campaign's backend as its provider is given it.
func Backend(c *lang.Campaign, b *lang.Backend, lineage string) providers.Backend {
	return providers.Backend{
		Name: b.Address(), Type: b.Type, Workdir: Workdir(c, b), Setup: b.Setup, Env: b.Env, MaxParallel: b.MaxParallel,
		Profile: b.Profile, ProfileSource: b.ProfileSource, Price: b.Price, Config: b.Config, Campaign: c.Name, Lineage: lineage, Dir: c.Dir, Hold: b.Hold, OnHold: b.OnHold,
	}
}

// Rented are the machines that a state has as rented on a backend, by id.
func Rented(st *state.State, backend string) (out []offer.Rental) {
	for _, id := range slices.Sorted(maps.Keys(st.Rentals)) {
		if r := st.Rentals[id]; r.Backend == backend && r.Rented() {
			out = append(out, offer.Rental{ID: id, Kind: r.Kind, Since: r.Since, Rate: r.PerHour, Status: offer.RentalStatus(r.Status), Account: offer.Account{ID: r.Account, Key: r.AccountKey}})
		}
	}
	return out
}

// Workdir is where jobs of a backend leave their outputs; of none, the campaign's folder.
func Workdir(c *lang.Campaign, b *lang.Backend) string {
	if b == nil {
		return c.Dir
	}
	return b.WorkdirOf(c.Dir)
}

// Setup is the backend's setup, then the job's; empty ones are left out.
func Setup(b *lang.Backend, job string) []string {
	var out []string
	if b != nil && strings.TrimSpace(b.Setup) != "" {
		out = append(out, b.Setup)
	}
	if strings.TrimSpace(job) != "" {
		out = append(out, job)
	}
	return out
}

// Env is the environment that a backend gives each job, by name.
func Env(b *lang.Backend) []providers.EnvVar {
	if b == nil {
		return nil
	}
	var out []providers.EnvVar
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		out = append(out, providers.EnvVar{Name: name, Value: b.Env[name]})
	}
	return out
}

// Environ is the initial environment of jobs on this machine; nil is
// os.Environ().
func Environ(environ []string) []providers.EnvVar {
	if environ == nil {
		environ = os.Environ()
	}
	return providers.JobEnviron(environ)
}
