package rental_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/providertest"
	"github.com/muster-run/muster/providers/rental"
)

// TestConformance holds the provider of rented machines to the suite that every
// provider passes, on machines with four GPUs that are folders here.
func TestConformance(t *testing.T) {
	t.Parallel()
	type site struct {
		*rental.Provider
		town *town
	}
	var towns sync.Map // by test
	settings, err := json.Marshal(map[string]any{"image": "i", "gpu": []string{"A100 SXM4"}, "gpus": 4, "max_usd_per_hour": 5, "disk": 20e9})
	if err != nil {
		t.Fatal(err)
	}
	open := func(n *town) *site {
		return &site{rental.NewWith(platform{world: n.world, key: "key"}, n, n.now, 20*time.Millisecond), n}
	}
	providertest.Run(t, providertest.Options{
		New: func(t *testing.T) providers.Provider {
			n := &town{world: newWorld(t), cut: map[string]bool{}, folders: map[string]string{}, says: func(string) string {
				a100 := "gpu NVIDIA A100-SXM4-80GB, 81920, 570.124.06\n"
				return report(a100 + a100 + a100 + a100[:len(a100)-1])
			}}
			towns.Store(t.Name(), n)
			s := open(n)
			t.Cleanup(func() { s.Close() })
			return s
		},
		Backend: func(t *testing.T) providers.Backend {
			dir := t.TempDir()
			records := filepath.Join(dir, ".muster/rentals/abc/vastai.test")
			if err := os.MkdirAll(records, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/", filepath.Join(records, "files")); err != nil { // what is kept here is where the machines have it
				t.Fatal(err)
			}
			return providers.Backend{Name: "vastai.test", Type: "vastai", Workdir: t.TempDir(), Dir: dir, Lineage: "abc", Config: settings, Hold: time.Hour, OnHold: "keep"}
		},
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			s := p.(*site)
			s.Close()
			s = open(s.town)
			t.Cleanup(func() { s.Close() })
			return s
		},
		Timeout: 2 * time.Minute,
	})
}
