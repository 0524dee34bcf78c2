package page

import (
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers/offer"
)

// Hosts are pools: what is free, who holds the rest, and which cannot be
// asked stand beside each.
func TestBackendsOfSeveralHosts(t *testing.T) {
	got := BackendsText([]Backend{
		{Name: "ssh.lab", Pools: []offer.Pool{
			{Kind: offer.HostPool, Word: "host", Name: "a", CPUs: 64, GPUs: 8, GPUModel: "A100", Idle: 5, Total: 8, Others: 2, Source: "live", Price: offer.Price{Known: true},
				Notes: []string{"GPU 3 is held by python of ada (pid 4711)"}},
			{Kind: offer.HostPool, Word: "host", Name: "b", GPUs: 4, Idle: -1, Source: "live", Notes: []string{"cannot be reached since 12 min: no route to host"}},
		}},
		{Name: "slurm.alpine", Problem: "sinfo: command not found"},
		{Name: "slurm.other", Problem: "site.hcl:2: verified is not a month\nsite.hcl:5: max_nodes is 5"},
		{Name: "local.local", Pools: []offer.Pool{{Kind: offer.MachinePool, Word: "machine", CPUs: 2, Idle: 1, Total: 2, MaxJobs: 2, Source: "live", Price: offer.Price{Known: true, USDPerHour: "0.60"}}}},
	}, term.MaxWidth, 0)
	want := `
backend.ssh.lab   live
  host a  64 cores, 8×A100  5 of 8 GPUs free, 2 held by others    no charge
  host b  4×GPU             ? free                                price unknown
  note on a: GPU 3 is held by python of ada (pid 4711)
  note on b: cannot be reached since 12 min: no route to host

backend.slurm.alpine
  ? cannot be asked: sinfo: command not found

backend.slurm.other
  ? cannot be asked:
    site.hcl:2: verified is not a month
    site.hcl:5: max_nodes is 5

backend.local.local
  machine  2 cores  1 of 2 slots free  2 jobs at once  $0.60/hour  live
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBackendsChargedByBilling: where a scheduler computes the charge, the page shows its
// rate, and not that nothing is known.
func TestBackendsChargedByBilling(t *testing.T) {
	t.Parallel()
	by := func(name, value string, p offer.Price) offer.Pool {
		p.Known, p.UnknownSU = true, true
		return offer.Pool{Price: p, Facts: []offer.Fact{{Name: "cores", Value: "64"}, {Name: name, Value: value}}}
	}
	for _, c := range []struct {
		pool offer.Pool
		want string
	}{
		{by("price", "0.5 SU/billing-hour", offer.Price{}), "0.5 SU/billing-hour"},
		{by("price", "$1/hour + 0.5 SU/billing-hour", offer.Price{USDPerHour: "1"}), "$1/hour, 0.5 SU/billing-hour"},
		{by("price in service units", "2 SU/billing-hour", offer.Price{USDPerHour: "1"}), "$1/hour, 2 SU/billing-hour"},
		{by("price", "service units not known", offer.Price{}), "SU unknown"},
	} {
		if got := poolPrice(c.pool); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
