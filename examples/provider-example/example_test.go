package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/providertest"
)

// built builds the program once, as its users would.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "muster-example")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, launch.NamePrefix+"example")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// started is the provider as muster runs it: found, locked, launched.
func started(t *testing.T) (*launch.Launcher, providers.Provider) {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(path, err)
	}
	campaign := t.TempDir()
	init := launch.New(launch.Options{Dir: campaign, PluginDir: filepath.Dir(path), Pin: launch.PinRecord})
	defer init.Close()
	if _, err := init.Provider(t.Context(), "example"); err != nil {
		t.Fatal(err)
	}
	lock, err := init.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Write(init.LockPath()); err != nil {
		t.Fatal(err)
	}
	l := launch.New(launch.Options{Dir: campaign, PluginDir: filepath.Dir(path)})
	t.Cleanup(l.Close)
	p, err := l.Provider(t.Context(), "example")
	if err != nil {
		t.Fatal(err)
	}
	return l, p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var launchers sync.Map // provider → its launcher
	providertest.Run(t, providertest.Options{
		New: func(t *testing.T) providers.Provider {
			l, p := started(t)
			launchers.Store(p, l)
			return p
		},
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			l, _ := launchers.Load(p)
			if err := syscall.Kill(l.(*launch.Launcher).PIDs()["example"], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return p
		},
	})
}

func TestConformanceInProcess(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Options{
		New: func(t *testing.T) providers.Provider {
			x := newExample()
			t.Cleanup(func() { _ = x.Close() })
			return x
		},
		Restart: func(_ *testing.T, p providers.Provider) providers.Provider {
			_ = p.(*example).Close()
			return newExample()
		},
	})
}

func TestCleanIsAnAbility(t *testing.T) {
	t.Parallel()
	_, p := started(t)
	if err := p.Configure(t.Context(), providers.Backend{Name: "example.x", Type: "example", Workdir: t.TempDir(), Lineage: "l"}); err != nil {
		t.Fatal(err)
	}
	c, ok := p.(providers.Cleaner)
	if !ok {
		t.Fatal("the provider cannot clean")
	}
	if removed, err := c.Clean(t.Context(), "example.x"); err != nil || len(removed) != 1 {
		t.Error(removed, err)
	}
	if _, ok := p.(providers.Renter); ok {
		t.Error("the provider says it releases")
	}
}
