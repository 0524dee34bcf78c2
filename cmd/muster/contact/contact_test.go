package contact

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A spot is a backend that has one pool, and counts how often it is configured.
type spot struct {
	providers.Provider
	configured atomic.Int64
	away       error
}

func (p *spot) Configure(context.Context, providers.Backend) error {
	p.configured.Add(1)
	return p.away
}

func (p *spot) Pools(_ context.Context, backend string) ([]offer.Pool, error) {
	return []offer.Pool{{Backend: backend, Name: "x"}}, nil
}

// cleaned is a spot at which something is to be cleaned up.
type cleaned struct{ *spot }

func (c cleaned) Clean(context.Context, string) ([]string, error) { return []string{"~/.muster"}, nil }

// backends are two of a campaign, and one that left it.
func backends(serve func(kind string) (providers.Provider, error)) *Backends {
	c := &lang.Campaign{Name: "c", Backends: []*lang.Backend{
		{Type: "ssh", Name: "lab", Clocks: []offer.Clock{{What: "it is purged"}}}, {Type: "local", Name: "local"}}}
	return Of(c, &state.State{Backends: map[string]state.Backend{"sim.gone": {Config: []byte(`{"Name": "sim.gone", "Type": "sim"}`)}}}, serve)
}

// TestConfiguredOnce: whoever reaches a backend at the same time gets the same one.
func TestConfiguredOnce(t *testing.T) {
	t.Parallel()
	p := &spot{}
	b := backends(func(string) (providers.Provider, error) { return p, nil })
	var wg sync.WaitGroup
	all := make(chan struct{})
	for range 64 {
		wg.Go(func() {
			<-all
			for _, name := range []string{"ssh.lab", "sim.gone"} {
				if got, err := b.Reach(t.Context(), name); err != nil || got != p {
					t.Errorf("%s: %v, %v", name, got, err)
				}
			}
		})
	}
	close(all)
	wg.Wait()
	if n := p.configured.Load(); n != 2 {
		t.Errorf("two backends were configured %d times", n)
	}
}

// TestReach: what cannot be reached is said, and asked for again when it may be
// there; what nobody knows is a mistake of whoever names it.
func TestReach(t *testing.T) {
	t.Parallel()
	p := &spot{away: errors.New("no route")}
	b := backends(func(kind string) (providers.Provider, error) {
		if kind == "local" {
			return nil, errors.New("no such provider")
		}
		return p, nil
	})
	asked := b.Ask(t.Context(), []string{"ssh.lab", "local.local"})
	if !strings.Contains(asked[0].Problem, "configure backend.ssh.lab: no route") || asked[1].Problem != "no such provider" || len(asked[0].Pools)+len(asked[1].Pools) > 0 {
		t.Errorf("%+v", asked)
	}
	p.away = nil
	asked = b.Ask(t.Context(), []string{"ssh.lab", "sim.gone"})
	if asked[0].Problem != "" || len(asked[0].Pools) != 1 || len(asked[0].Pools[0].Clocks) != 1 || len(asked[1].Pools) != 1 {
		t.Errorf("when it is back: %+v", asked)
	}
	var usage command.UsageError
	if _, err := b.Reach(t.Context(), "ssh.other"); !errors.As(err, &usage) {
		t.Errorf("one that nobody knows: %v", err)
	}
}

// TestClean: what has nothing to clean up says so.
func TestClean(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]providers.Provider{"": &spot{}, "~/.muster": cleaned{&spot{}}} {
		removed, err := backends(func(string) (providers.Provider, error) { return p, nil }).Clean(t.Context(), "ssh.lab")
		if err != nil || strings.Join(removed, " ") != want {
			t.Errorf("%q, %v, want %q", removed, err, want)
		}
	}
}
