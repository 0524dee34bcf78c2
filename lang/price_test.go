package lang

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/offer"
)

// TestPrices: a price in another currency is money at the rate that it states,
// and says that rate.
func TestPrices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src      string
		want     offer.Price
		exchange string
		wrong    string
	}{
		{src: `{ usd_per_gpu_hour = "1.10" }`, want: offer.Price{Known: true, USDPerGPUHour: "1.10"}},
		{src: `{ currency = "CNY", usd_per_unit = "0.14", per_gpu_hour = "2.5", per_gb_month = "0.3" }`, want: offer.Price{Known: true, USDPerGPUHour: "0.35", USDPerGBMonth: "0.042"}, exchange: "1 CNY = $0.14"},
		{src: `{ currency = "EUR", usd_per_unit = 1.08, per_hour = 2, service_units_per_gpu_hour = 3 }`, want: offer.Price{Known: true, USDPerHour: "2.16", SUPerGPUHour: "3"}, exchange: "1 EUR = $1.08"},
		{src: `{ currency = "EUR", per_hour = 2 }`, wrong: "what one unit of it is worth"},
		{src: `{ per_hour = 2 }`, wrong: "what one unit of it is worth"},
		{src: `{ currency = "EUR", usd_per_unit = 0, per_hour = 2 }`, wrong: "what one unit of it is worth"},
		{src: `{ currency = "EUR", usd_per_unit = 1, per_hour = 2, usd_per_hour = 2 }`, wrong: "say the same"},
		{src: `{ usd_per_gb_month = -1 }`, wrong: "negative"},
	} {
		text := "campaign \"c\" {}\nbackend \"local\" \"local\" { price = " + c.src + " }\nphase \"p\" {\n  job { command = \"true\" }\n}\n"
		camp, diags := LoadFiles(map[string][]byte{"c.muster.hcl": []byte(text)}, LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
		if c.wrong != "" {
			if err := diags.Err(); err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, not %q", c.src, err, c.wrong)
			}
			continue
		}
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.src, diags.Err())
			continue
		}
		if b := camp.Backends[0]; b.Price != c.want || b.Exchange != c.exchange {
			t.Errorf("%s: %+v, %q", c.src, b.Price, b.Exchange)
		}
	}
}
