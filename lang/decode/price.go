package decode

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/shopspring/decimal"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// Price reads price = { usd_per_gpu_hour = 1.10 }, or in another currency price = { currency =
// "EUR", usd_per_unit = 1.08, per_gpu_hour = 1.02 }, whose rates become money at the stated
// value; exchange describes that.
func (r *Reader) Price(e hcl.Expression) (p offer.Price, exchange string) {
	p = offer.Price{Known: true}
	v, ok := r.Eval(e)
	if !ok {
		return offer.Price{}, ""
	}
	if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
		r.Wrong(e, "price", "An object is needed, { usd_per_gpu_hour = 1.10 }.")
		return offer.Price{}, ""
	}
	var per money
	rates := map[string]*string{
		"usd_per_gpu_hour": &p.USDPerGPUHour, "usd_per_hour": &p.USDPerHour, "usd_per_cpu_hour": &p.USDPerCPUHour, "service_units_per_gpu_hour": &p.SUPerGPUHour,
		"service_units_per_node_hour": &p.SUPerNodeHour, "service_units_per_cpu_hour": &p.SUPerCPUHour, "usd_per_gb_month": &p.USDPerGBMonth, "usd_per_gb_out": &p.USDPerGBOut,
		"usd_per_unit": &per.rate, "per_gpu_hour": &per.gpuHour, "per_hour": &per.hour, "per_cpu_hour": &per.cpuHour, "per_gb_month": &per.gbMonth, "per_gb_out": &per.gbOut,
	}
	m := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r.rate(e, name, m[name], rates, &p, &per)
	}
	return p, r.exchange(e, &p, per)
}

// money is a price in another currency.
type money struct{ currency, rate, gpuHour, cpuHour, hour, gbMonth, gbOut string }

// exchange turns the rates of another currency into money.
func (r *Reader) exchange(e hcl.Expression, p *offer.Price, per money) string {
	if per == (money{}) {
		return ""
	}
	one, err := decimal.NewFromString(per.rate)
	if per.currency == "" || err != nil || !one.IsPositive() {
		r.Wrong(e, "price", "A price in another currency names it and says what one unit of it is worth: { currency = \"EUR\", usd_per_unit = 1.08, per_gpu_hour = 1.02 }.")
		return ""
	}
	if per.gpuHour+per.cpuHour+per.hour+per.gbMonth+per.gbOut == "" {
		r.Wrong(e, "price", "It has no rate in %s, so everything would be free: write per_gpu_hour, per_cpu_hour, per_hour, per_gb_month or per_gb_out, 0 where it is free.", wording.Clip(per.currency))
		return ""
	}
	for _, x := range []struct {
		name, text string
		into       *string
	}{{"gpu_hour", per.gpuHour, &p.USDPerGPUHour}, {"cpu_hour", per.cpuHour, &p.USDPerCPUHour}, {"hour", per.hour, &p.USDPerHour}, {"gb_month", per.gbMonth, &p.USDPerGBMonth}, {"gb_out", per.gbOut, &p.USDPerGBOut}} {
		d, err := decimal.NewFromString(x.text)
		if err != nil {
			continue
		}
		if *x.into != "" {
			r.Wrong(e, "price", "per_%s and usd_per_%s say the same; write one of them.", x.name, x.name)
		}
		*x.into = d.Mul(one).String()
	}
	return "1 " + per.currency + " = $" + one.String()
}

func (r *Reader) rate(e hcl.Expression, name string, v cty.Value, rates map[string]*string, p *offer.Price, per *money) {
	var err error
	switch into := rates[name]; {
	case into != nil:
		var text string
		if text, err = value.Text(v); err == nil {
			var a units.Amount
			if a, err = units.ParseAmount(text); err == nil && a.IsNegative() {
				r.Wrong(e, "price", "%s is negative.", name)
			}
			*into = text
		}
	case name == "currency":
		per.currency, err = value.Text(v)
	case name == "granularity":
		p.Granularity, err = value.Duration(v)
	case name == "minimum":
		p.Minimum, err = value.Duration(v)
	case name == "bills_while_queued":
		if v.Type() != cty.Bool || !v.IsKnown() || v.IsNull() {
			r.Wrong(e, "price", "bills_while_queued is true or false.")
			return
		}
		p.BillsWhileQueued = v.True()
	default:
		known := append(slices.Sorted(maps.Keys(rates)), "currency", "granularity", "minimum", "bills_while_queued")
		r.Wrong(e, "price", "There is no rate named %q%s Rates are %s.", wording.Clip(name), wording.DidYouMean(name, known), strings.Join(known, ", "))
	}
	if err != nil {
		r.Wrong(e, "price", "%s: %s", name, wording.Sentence(err))
	}
}
