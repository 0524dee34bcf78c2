package planfile

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
)

// TestReprice: a saved plan uses the prices of the day when it is applied, also for pools that
// it would only fall back on, and by the node where nodes are charged whole.
func TestReprice(t *testing.T) {
	t.Parallel()
	c := load(t, "backend \"ssh\" \"x\" { workdir = \"/w\" }\n"+strings.Replace(source, "[backend.local.local]", "[backend.local.local, backend.ssh.x]", 1))
	plan := func(edit func(here, there *offer.Pool)) *planner.Plan {
		here, there := pool(), pool()
		there.Backend, there.Name, there.Price.USDPerGPUHour = "ssh.x", "h", "2"
		edit(&here, &there)
		p, diags := planner.Make(planner.Input{Campaign: c, Pools: []offer.Pool{here, there}, Now: now})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return p
	}
	whole := func(here, _ *offer.Pool) { here.WholeNode = true }
	for name, tc := range map[string]struct {
		was, is func(here, there *offer.Pool)
		want    string // what is refused; "" = nothing
		here    string // $ of a GPU-hour by then
		there   string
	}{
		"as it was":        {nil, func(_, _ *offer.Pool) {}, "", "1", "2"},
		"a little more":    {nil, func(here, _ *offer.Pool) { here.Price.USDPerGPUHour = "1.1" }, "", "1.1", "2"},
		"less":             {nil, func(here, _ *offer.Pool) { here.Price.USDPerGPUHour = "0.5" }, "", "0.5", "2"},
		"much more":        {nil, func(here, _ *offer.Pool) { here.Price.USDPerGPUHour = "1.2" }, "usd of a launch were 1 at most and are 1.2", "1.2", "2"},
		"a longer minimum": {nil, func(here, _ *offer.Pool) { here.Price.Minimum = 2 * time.Hour }, "were 1 at most and are 2", "1", "2"},
		"elsewhere":        {nil, func(_, there *offer.Pool) { there.Price.USDPerGPUHour = "20" }, "", "1", "20"},
		"not known in units any more": {func(here, _ *offer.Pool) { here.Price.SUPerNodeHour = "0" }, func(here, _ *offer.Pool) { here.Price.UnknownSU = true },
			"the price in service units is no longer known", "1", "2"},
		"known in units by now": {func(here, _ *offer.Pool) { here.Price.UnknownSU = true }, func(here, _ *offer.Pool) { here.Price.SUPerGPUHour = "500" }, "", "1", "2"},
		"known in units by now, and dearer": {func(here, _ *offer.Pool) { here.Price.UnknownSU = true }, func(here, _ *offer.Pool) { here.Price.SUPerGPUHour, here.Price.USDPerGPUHour = "500", "1.2" },
			"usd of a launch were 1 at most and are 1.2", "1.2", "2"},
		"free in units, and not any more": {func(here, _ *offer.Pool) { here.Price.SUPerGPUHour = "0" }, func(here, _ *offer.Pool) { here.Price.SUPerGPUHour = "3" },
			"service_units of a launch were 0 at most and are 3", "1", "2"},
		"not known any more":      {nil, func(here, _ *offer.Pool) { here.Price = offer.Price{} }, "no longer known", "", "2"},
		"not asked":               {nil, func(here, _ *offer.Pool) { here.Price = offer.Price{} }, "", "1", "2"},
		"nodes that cost as much": {whole, whole, "", "", "2"},
		"nodes that cost more": {whole, func(here, _ *offer.Pool) { here.WholeNode, here.Price.USDPerGPUHour = true, "1.9" },
			"usd of a launch were 2 at most and are 3.8", "", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.was == nil {
				tc.was = func(_, _ *offer.Pool) {}
			}
			p := plan(tc.was)
			before := p.Phases[0].Placements
			today := plan(tc.is)
			if name == "not asked" {
				today.Backends = []planner.BackendView{{Name: "ssh.x"}, {Name: "local.local", Problem: "no route to host"}}
			}
			l := Reprice(p, today, lang.Policy{PriceTolerance: 0.1})
			if got := l.HasErrors(); got != (tc.want != "") || got && !strings.Contains(l.Err().Error(), tc.want) {
				t.Errorf("refused %t: %v", got, l)
			}
			d := p.Phases[0].Decision(0)
			if d.Backend != "local.local" || d.Price.USDPerGPUHour != tc.here {
				t.Errorf("on %s for $%s", d.Backend, d.Price.USDPerGPUHour)
			}
			there := false
			for _, o := range d.Candidates {
				there = there || o.Backend == "ssh.x" && o.Price.USDPerGPUHour == tc.there
			}
			if g := p.Phases[0].Smoke.Place; !there || g.Price.USDPerGPUHour != tc.here {
				t.Errorf("candidates %+v, smoke on %s for $%s", d.Candidates, g.Backend, g.Price.USDPerGPUHour)
			}
			if tc.here == "1.1" && before[1].Price.USDPerGPUHour != "1" {
				t.Error("the plan that was saved is changed, too")
			}
		})
	}
}
