// Package providertest is the conformance suite that every provider passes. It
// calls a provider as the engine does and checks the engine's assumptions:
// nothing runs twice, nothing is lost, and reports about jobs are true. It can
// test a provider on another machine if the test can read the backend's workdir
// as files.
package providertest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// Options say how the suite gets at a provider.
type Options struct {
	// New returns a provider. It is called for every test and cleans up after
	// itself with t.Cleanup.
	New func(t *testing.T) providers.Provider
	// Backend returns a backend with a lineage and a workdir of its own, not
	// yet configured. Nil makes one in t.TempDir() named TYPE.test.
	Backend func(t *testing.T) providers.Backend
	// Restart kills the provider (SIGKILL; its process, or its queue, too) and
	// returns one that serves again; it may be the same value. Nil skips the tests
	// that need it.
	Restart func(t *testing.T, p providers.Provider) providers.Provider
	// Spool returns folders beside the workdir in which the provider keeps
	// things, to look for secrets in; nil if there are none.
	Spool func(t *testing.T, b providers.Backend) []string
	// Skip names tests that do not apply, with the reason.
	Skip map[string]string
	// CPUs are those of each of 300 jobs that are submitted at once; 0 = 1. A cluster of many
	// CPUs, all of them on one small machine, is kept so from starting all of them at once.
	CPUs int
	// Timeout ends one test that hangs; 0 = 5 min.
	Timeout time.Duration
}

// A test is one promise.
type test struct {
	name string
	run  func(s *site)
	// needs names a missing requirement, nil = none.
	needs func(s *site) (missing string)
}

// Run runs the whole suite, each test in parallel.
func Run(t *testing.T, o Options) {
	t.Helper()
	if o.New == nil {
		t.Fatal("providertest.Options.New is not set")
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Minute
	}
	for _, group := range groups() {
		for _, tt := range group {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				if why, ok := o.Skip[tt.name]; ok {
					t.Skip(why)
				}
				s := newSite(t, o)
				if tt.needs != nil {
					if missing := tt.needs(s); missing != "" {
						t.Skip(missing)
					}
				}
				tt.run(s)
			})
		}
	}
}

func groups() [][]test {
	return [][]test{describeTests, submitTests, watchTests, runTests, guardTests, holdTests, cancelTests, logTests, fileTests}
}

// Names lists the tests, for Options.Skip.
func Names() (out []string) {
	for _, group := range groups() {
		for _, t := range group {
			out = append(out, t.name)
		}
	}
	return out
}

func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// needsRestart is the need of a test that kills.
func needsRestart(s *site) string {
	if s.opts.Restart == nil {
		return "nothing says how to kill this provider"
	}
	return ""
}

func withTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}
