package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sim "github.com/muster-run/muster/internal/cloudsim"
	simvast "github.com/muster-run/muster/internal/cloudsim/vastai"
)

// TestExampleRented plans examples/rented at a simulated Vast.ai: before anything is
// trusted it says what the campaign costs at most and asks nobody; then it has offers.
// internal/systemtest applies it.
func TestExampleRented(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands; make test does")
	}
	t.Parallel()
	accounts, err := sim.NewAccounts("k3y-of-mine account=me credit=10\n")
	if err != nil {
		t.Fatal(err)
	}
	cloud := simvast.New(&sim.World{Clock: sim.NewClock(time.Now(), 1), Accounts: accounts, Machines: sim.NoMachines{}})
	web := httptest.NewServer(sim.NewServer(cloud.World, cloud))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close(); cloud.Close() })
	e := exampleOf(t, filepath.Join(repository, "examples", "rented"))
	e.env = append(e.env, "VAST_URL="+web.URL, "VAST_API_KEY=k3y-of-mine", hostProgram(t))
	e.muster(0, "validate")
	e.muster(0, "fmt", "-check")
	has := func(text string, words ...string) {
		t.Helper()
		for _, w := range append(words, "") {
			if flat := strings.Join(strings.Fields(text), " "); !strings.Contains(flat, w) || strings.Contains(text, "k3y-of-mine") {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	has(e.muster(0, "plan"), "4 jobs would cost at most", `budget "money" ends at $5`, "`MUSTER_TRUST=1 muster plan`")
	e.env = append(e.env, "MUSTER_TRUST=1")
	has(e.muster(0, "plan"), "1x RTX 4090 from $0.34", "facts of 2026-08", "offer 1: 1x RTX 4090", "offer 2: 1x RTX 5090", "if jobs take as long there", "the cheapest that fits", "then releases it if every output is here")
	has(e.muster(0, "backends", "vastai.cloud"), "of up to 2 machines offered", "account: $10 left", "no claim on its GPU", "deleted with its disk 48h later")
}
