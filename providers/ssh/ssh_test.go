package ssh

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/providertest"
)

// The test binary stands in for muster-host: it is put on the test hosts,
// whose environment has this variable.
const beHost = "MUSTER_TEST_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(beHost) != "" || len(os.Args) > 1 && (os.Args[1] == "queue" || os.Args[1] == verifier.Mode[0] || os.Args[1] == agent.EnvironMode) {
		os.Exit(agent.Command(os.Args[1:]))
	}
	var err error
	if shared, err = os.MkdirTemp("", "muster-install"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(shared)
	os.Exit(code)
}

// shared is where tests that are about something else find the program; the first of them puts
// it there.
var shared string

// ourselves are the binaries of this test, packed once: a small program that becomes the test,
// whose own program is ten times as large as the real one.
var ourselves = sync.OnceValue(func() *binaries { return padded(3 << 20) })

// padded is a program that becomes the test, packed in a little more than so many bytes.
func padded(size int) *binaries {
	rest := make([]byte, size)
	_, _ = rand.Read(rest) // it never fails
	return packed(fmt.Appendf(nil, "#!/bin/sh\nexec %q \"$@\"\n#%x\n", self(), rest))
}

// self is the path of this test's program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// packed is a program for hosts of this machine's kind.
func packed(text []byte) *binaries {
	b := &binaries{from: []fs.FS{fstest.MapFS{"muster-host-linux-" + runtime.GOARCH: {Data: text}}}}
	if _, err := b.of(runtime.GOARCH); err != nil {
		panic(err)
	}
	return b
}

// provider reaches test hosts from this side's home on the first of them.
func provider(t *testing.T, first *testHost) *SSH {
	t.Helper()
	s := NewWith(first.options())
	all := ourselves()
	s.binaries.found = maps.Clone(all.found)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// backendOn is a backend of one test host.
func backendOn(t *testing.T, h *testHost, install string) providers.Backend {
	t.Helper()
	name, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	c, err := json.Marshal(config{Host: name, Port: n, InstallDir: install})
	if err != nil {
		t.Fatal(err)
	}
	return providers.Backend{Name: "ssh.test", Type: "ssh", Workdir: t.TempDir(), Config: c, Campaign: "test", Lineage: strings.ReplaceAll(t.Name(), "/", "-")}
}

// TestConformance holds the provider to the suite, over an ssh server of this process; a
// restart kills the queue, cuts the link and starts over.
func TestConformance(t *testing.T) {
	t.Parallel()
	var at sync.Map // test → its host
	find := func(t *testing.T) *testHost {
		if h, ok := at.Load(t.Name()); ok {
			return h.(*testHost)
		}
		h := newTestHost(t)
		at.Store(t.Name(), h)
		return h
	}
	providertest.Run(t, providertest.Options{
		Backend: func(t *testing.T) providers.Backend { return backendOn(t, find(t), shared) },
		New:     func(t *testing.T) providers.Provider { return provider(t, find(t)) },
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			h := find(t)
			hosttest.Kill(t, h.spool())
			h.Cut()
			_ = p.(*SSH).Close()
			return provider(t, h)
		},
		Spool: func(t *testing.T, _ providers.Backend) []string { return []string{find(t).spool()} },
	})
}
