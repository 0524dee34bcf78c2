package rental_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/lambda"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/paperspace"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/runpod"
	"github.com/muster-run/muster/providers/vastai"
)

// The pages of platforms say what survives as their facts do. UPDATE_DOCS=1 writes it.
func TestDocsSurvival(t *testing.T) {
	// Requirement: STO-01, TDN-02
	t.Parallel()
	const begin, end = "<!-- what survives: from the facts of the platform, by UPDATE_DOCS=1 go test ./providers/rental -run TestDocs -->\n\n", "\n<!-- end of what survives -->"
	for _, p := range []rental.Platform{vastai.Platform{}, lambda.Platform{}, runpod.Platform{}, paperspace.Platform{}} {
		path := "../../docs/reference/backends/" + p.Facts().Type + ".md"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(text), begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no %q … %q", path, begin, end)
			continue
		}
		want := head + begin + p.Facts().Survival() + end + tail
		if os.Getenv("UPDATE_DOCS") != "" {
			err = os.WriteFile(path, []byte(want), 0o644)
		}
		if err != nil || os.Getenv("UPDATE_DOCS") == "" && string(text) != want {
			t.Errorf("%s is not what the facts say; UPDATE_DOCS=1 writes it (%v)", path, err)
		}
	}
}

// TestDangerClocks: each platform names what it bills or deletes by itself, and the month
// in which that was verified, with every pool.
func TestDangerClocks(t *testing.T) {
	// Requirement: CLK-02, CST-09
	t.Parallel()
	for _, c := range []struct {
		p     rental.Platform
		words []string
	}{
		{vastai.Platform{}, []string{"no claim on its GPU", "disk and bandwidth are billed until it is released", "at $0 of credit", "the host's offer ends"}},
		{runpod.Platform{}, []string{"no claim on its GPU", "billed at twice the price", "said to be removed after 30d", "at $0 of balance"}},
		{lambda.Platform{}, []string{"shut down from within is billed on", "a file system is billed until somebody deletes it"}},
		{paperspace.Platform{}, []string{"disk of a stopped machine is billed", "timer stops a machine", "a snapshot and a claimed address are billed on"}},
	} {
		text := c.p.Facts().Survival()
		for _, w := range append(c.words, "verified in 2026-") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in %s", c.p.Facts().Type, w, text)
			}
		}
	}
}

// TestTheHostsDateIsAClock: a market says until when a machine can be had, and that date
// wins over facts; of several machines the first counts.
func TestTheHostsDateIsAClock(t *testing.T) {
	t.Parallel()
	n := newTown(t, map[string]any{"gpu": []string{"RTX 4090"}})
	pools, err := n.provider.Pools(t.Context(), n.backend.Name)
	if err != nil || len(pools) != 1 {
		t.Fatalf("%+v %v", pools, err)
	}
	at := start.Add(60 * 24 * time.Hour)
	if !slices.ContainsFunc(pools[0].Clocks, func(c offer.Clock) bool {
		return c.At.Equal(at) && strings.Contains(c.What, "deleted with its disk 48h later")
	}) || pools[0].Verified != (vastai.Platform{}).Facts().Verified {
		t.Errorf("%+v of %s", pools[0].Clocks, pools[0].Verified)
	}
}

// TestNothingIsOffered: where no machine is within the limits, the plan says which limits,
// and what would help.
func TestNothingIsOffered(t *testing.T) {
	t.Parallel()
	n := newTown(t, map[string]any{"max_usd_per_hour": 0.05})
	pools, err := n.provider.Pools(t.Context(), n.backend.Name)
	if err != nil || len(pools) != 1 || pools[0].Total != 0 || len(pools[0].Offers) != 0 {
		t.Fatalf("%+v %v", pools, err)
	}
	quotes, err := n.provider.Quote(t.Context(), n.backend.Name, []offer.Shape{{CPUs: 1, Nodes: 1, GPUs: 1}})
	if err != nil || len(quotes) != 1 || quotes[0].Fits || quotes[0].Why != "no machine with 1× RTX 4090 and 20GB of disk is offered now for up to $0.05/h and a reliability of 95% or more" || !strings.Contains(quotes[0].Would, "max_usd_per_hour") {
		t.Errorf("%+v %v", quotes, err)
	}
}
