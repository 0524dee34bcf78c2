// Package site says what a configured place is to a provider: its own half of
// every job (workdir, setup, environment), and where a local job's
// environment and secrets come from.
package site

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// Backend is a campaign's backend as its provider is given it.
func Backend(c *lang.Campaign, b *lang.Backend, lineage string) providers.Backend {
	return providers.Backend{
		Name: b.Address(), Type: b.Type, Workdir: Workdir(c, b), Setup: b.Setup, Env: b.Env, MaxParallel: b.MaxParallel,
		Profile: b.Profile, Price: b.Price, Config: b.Config, Campaign: c.Name, Lineage: lineage, Dir: c.Dir,
	}
}

// Workdir is where jobs of a backend leave their outputs: absolute, or
// beginning with ~/. Without one it is the campaign's directory, and what is
// relative lies below that.
func Workdir(c *lang.Campaign, b *lang.Backend) string {
	switch {
	case b == nil || b.Workdir == "":
		return c.Dir
	case filepath.IsAbs(b.Workdir) || strings.HasPrefix(b.Workdir, "~"):
		return b.Workdir
	case b.Type == "local":
		return filepath.Join(c.Dir, b.Workdir)
	}
	return b.Workdir
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

// Env is what every job of a backend has: for a local one (remote false) what
// it takes from environ, then the backend's own.
func Env(b *lang.Backend, remote bool, environ []string) []providers.EnvVar {
	var out []providers.EnvVar
	if !remote {
		out = inherited(environ)
	}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		out = append(out, providers.EnvVar{Name: name, Value: b.Env[name]})
	}
	return out
}

// inherited is what a local job takes from the apply that submits it.
func inherited(environ []string) []providers.EnvVar {
	if environ == nil {
		environ = os.Environ()
	}
	var out []providers.EnvVar
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && passes(name) {
			out = append(out, providers.EnvVar{Name: name, Value: value})
		}
	}
	slices.SortStableFunc(out, func(a, b providers.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func passes(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "SHELL", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "CONDA_")
}
