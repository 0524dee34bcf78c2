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
		{src: `{ currency = "EUR", usd_per_unit = 1 }`, wrong: "It has no rate in EUR"},
		{src: `{ currency = "EUR", usd_per_unit = 1, usd_per_hour = 2 }`, wrong: "It has no rate in EUR"},
		{src: `{ currency = "EUR", usd_per_unit = 1, per_gb_out = 0 }`, want: offer.Price{Known: true, USDPerGBOut: "0"}, exchange: "1 EUR = $1"},
		{src: `{ currency = "EUR", usd_per_unit = 1, service_units_per_node_hour = 0 }`, wrong: "It has no rate in EUR"},
		{src: `{ service_units_per_node_hour = 0 }`, want: offer.Price{Known: true, SUPerNodeHour: "0"}},
		{src: `{ usd_per_hour = 1, bills_while_queued = true }`, want: offer.Price{Known: true, USDPerHour: "1", BillsWhileQueued: true}},
		{src: `{ usd_per_hour = 1, bills_while_queued = "yes" }`, wrong: "bills_while_queued is true or false"},
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

// TestRentedMachines: what one is billed an hour is its own rate, that of its
// disk, or both; what is billed at all is not free, and what nobody states is not
// known.
func TestRentedMachines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ src, want, wrong string }{
		{src: ``, want: ""},
		{src: `price = { usd_per_hour = 0 }`, want: "0"},
		{src: `price = { usd_per_hour = 0.5 }`, want: "0.5"},
		{src: "disk = \"73GB\"\nprice = { usd_per_gb_month = 0.1 }", want: "0.01"},
		{src: "disk = \"73GB\"\nprice = { usd_per_hour = 1, usd_per_gb_month = 0.1 }", want: "1.01"},
		{src: "disk = \"50GB\"\nprice = { usd_per_gb_month = 0.0002 }", want: "0.0001"},
		{src: "disk = \"50GB\"\nprice = { currency = \"CNY\", usd_per_unit = 0.14, per_gb_month = 0.2 }", want: "0.0019"},
		{src: `price = { usd_per_gb_month = 0.1 }`, wrong: "needs the size of the disk"},
		{src: `price = { usd_per_gpu_hour = 1 }`, wrong: "A machine is billed by the hour, for its disk by the month, or both"},
	} {
		text := "campaign \"c\" {}\nbackend \"local\" \"local\" {\n  rented \"m\" {\n" + c.src + "\n  }\n}\nphase \"p\" {\n  job { command = \"true\" }\n}\n"
		camp, diags := LoadFiles(map[string][]byte{"c.muster.hcl": []byte(text)}, LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
		switch err := diags.Err(); {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, not %q", c.src, err, c.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", c.src, err)
		case camp.Backends[0].Rented[0].PerHour != c.want:
			t.Errorf("%s: $%s an hour, not %q", c.src, camp.Backends[0].Rented[0].PerHour, c.want)
		}
	}
}
