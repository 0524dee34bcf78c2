package apply

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state"
)

// begin notes the campaign, its variables (nil: its own) and the configuration that reaches
// its backends when they have left it. A state without a lineage gets the plan's, else a fresh
// one. It notes only changes.
func begin(p *planner.Plan, c *lang.Campaign, lineage, fresh string, variables map[string]state.Variable, muster string, now time.Time) state.Began {
	ev := state.Began{Campaign: c.Name, Muster: muster, Variables: variables, Protected: p.Protected(), Unprotected: p.Unprotected(), At: now}
	if lineage == "" {
		ev.Lineage = cmp.Or(p.Lineage, fresh)
		lineage = ev.Lineage
	}
	if ev.Variables == nil {
		ev.Variables = keptVariables(c, lineage)
	}
	ev.Backends = keptBackends(c, lineage)
	return ev
}

// keptBackends are the campaign's, as they are noted to reach them when they have
// left it: without secrets.
func keptBackends(c *lang.Campaign, lineage string) map[string]state.Backend {
	out := map[string]state.Backend{}
	for _, b := range c.Backends {
		text, err := json.Marshal(site.Kept(c, b, lineage))
		if err != nil {
			continue
		}
		out[b.Address()] = state.Backend{Type: b.Type, Config: text}
	}
	return out
}

// keptVariables are the campaign's values; of a sensitive one a digest keyed by
// the lineage is kept, to see that it changed.
func keptVariables(c *lang.Campaign, lineage string) map[string]state.Variable {
	out := map[string]state.Variable{}
	for _, v := range c.Variables {
		switch {
		case v.Sensitive && v.Digest != "":
			h := hmac.New(sha256.New, []byte(lineage))
			h.Write([]byte(v.Digest))
			out[v.Name] = state.Variable{Digest: hex.EncodeToString(h.Sum(nil)[:16])}
		case v.Sensitive:
		case v.Text != "":
			out[v.Name] = state.Variable{Value: json.RawMessage(v.Text)}
		}
	}
	return out
}
