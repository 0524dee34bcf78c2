package pbs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/pbs"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// bank is PBS's commands beside the site's, which says the balance of an account.
type bank struct{ cluster.Here }

func (b bank) Run(ctx context.Context, argv []string, stdin []byte) (command.Result, error) {
	if argv[0] != "sbank-list-allocations" {
		return b.Here.Run(ctx, argv, stdin)
	}
	if !strings.HasPrefix(strings.Join(argv, " "), "sbank-list-allocations -p bio -r polaris -f available_balance") {
		return command.Result{Err: []byte("usage"), Code: 2}, nil
	}
	return command.Result{Out: []byte("1,200.0\n34.5\n")}, nil
}

// TestBalanceOfTheSite: plans count with the balance that sbank prints.
func TestBalanceOfTheSite(t *testing.T) {
	// Requirement: CLK-06
	t.Parallel()
	server := pbssim.Start(t, pbssim.Config{})
	runner := bank{cluster.Here{Environ: func() []string { return append(os.Environ(), "PATH="+server.Bin+":"+os.Getenv("PATH")) }}}
	site, err := pbs.Type{Runner: runner}.Open(scheduler.Opening{Backend: providers.Backend{Name: "pbs.polaris", Profile: "alcf-polaris", Config: []byte(`{"account": "bio", "balance": 7, "filesystems": "home"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	pools, err := site.Pools(t.Context())
	if err != nil || len(pools) == 0 {
		t.Fatalf("%d pools, %v", len(pools), err)
	}
	var names []string
	for _, p := range pools {
		names = append(names, p.Name)
		if p.Balance != "1234.5" || p.Account != "bio" {
			t.Errorf("%s: %q left of %q; notes %q", p.Name, p.Balance, p.Account, p.Notes)
		}
	} // The server lists workq first, which is its default, and the others by name.
	if got := strings.Join(names, " "); !strings.HasPrefix(got, "debug prod preemptable workq ") {
		t.Errorf("queues %s: those of the profile come first, in its order", got)
	}
}
