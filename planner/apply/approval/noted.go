package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state"
)

// Backends are the campaign's, as they are noted to reach them when they have
// left it: without secrets.
func Backends(c *lang.Campaign, lineage string) map[string]state.Backend {
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

// Variables are the campaign's values; of a sensitive one a digest keyed by
// the lineage is kept, to see that it changed.
func Variables(c *lang.Campaign, lineage string) map[string]state.Variable {
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
