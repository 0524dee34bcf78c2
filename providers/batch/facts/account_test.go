package facts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// What a site's command prints, and what is known of the account then.
func TestBalance(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		"12.5\n": "12.5", "1,204.75\n": "1204.75", "10\n2.25\n\n": "12.25", "-3\n": "-3", "0": "0",
		"": "", "N/A\n": "", "12 node-hours\n": "", "Infinity\n": "", strings.Repeat("9", 40): "",
	} {
		a := &Account{Name: "P", Command: []string{"sbank", "-p", "ACCOUNT"}}
		asked := 0
		run := func(_ context.Context, argv ...string) ([]byte, error) {
			asked++
			if strings.Join(argv, " ") != "sbank -p P" {
				t.Errorf("asked by %q", argv)
			}
			return []byte(printed), nil
		}
		var pools []offer.Pool
		for range 2 {
			pools = []offer.Pool{{Name: "prod"}, {Name: "debug"}}
			a.Fill(t.Context(), pools, run)
		}
		p := pools[1]
		if p.Balance != want || (want == "") != (len(p.Notes) == 1 && strings.Contains(p.Notes[0], "is not known")) || asked != 1 {
			t.Errorf("%q: %q left, notes %q, asked %d times", printed, p.Balance, p.Notes, asked)
		}
	}
}

// What the block states counts where nobody can be asked, or the command fails.
func TestBalanceStated(t *testing.T) {
	t.Parallel()
	a := &Account{Name: "P", Stated: "40", Command: []string{"sbank"}}
	for name, run := range map[string]func(context.Context, ...string) ([]byte, error){
		"away":  nil,
		"fails": func(context.Context, ...string) ([]byte, error) { return nil, errors.New("sbank: no such command") },
	} {
		pools := []offer.Pool{{}}
		a.Fill(t.Context(), pools, run)
		if pools[0].Balance != "40" || pools[0].Account != "P" || pools[0].Facts[0].Source != "backend block" {
			t.Errorf("%s: %+v", name, pools[0])
		}
	}
}
