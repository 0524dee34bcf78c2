package decode

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// Price reads price = { usd_per_gpu_hour = 1.10 }.
func (r *Reader) Price(e hcl.Expression) offer.Price {
	p := offer.Price{Known: true}
	v, ok := r.Eval(e)
	if !ok {
		return offer.Price{}
	}
	if v, _ = v.UnmarkDeep(); !value.IsMap(v) {
		r.Wrong(e, "price", "An object is needed, { usd_per_gpu_hour = 1.10 }.")
		return offer.Price{}
	}
	rates := map[string]*string{
		"usd_per_gpu_hour": &p.USDPerGPUHour, "usd_per_hour": &p.USDPerHour, "service_units_per_gpu_hour": &p.SUPerGPUHour,
		"service_units_per_node_hour": &p.SUPerNodeHour, "service_units_per_cpu_hour": &p.SUPerCPUHour,
	}
	m := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r.rate(e, name, m[name], rates, &p)
	}
	return p
}

func (r *Reader) rate(e hcl.Expression, name string, v cty.Value, rates map[string]*string, p *offer.Price) {
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
	case name == "granularity":
		p.Granularity, err = value.Duration(v)
	case name == "bills_while_queued":
		p.BillsWhileQueued = v.Type() == cty.Bool && v.IsKnown() && !v.IsNull() && v.True()
	default:
		known := append(slices.Sorted(maps.Keys(rates)), "granularity", "bills_while_queued")
		r.Wrong(e, "price", "There is no rate named %q%s Rates are %s.", wording.Clip(name), wording.DidYouMean(name, known), strings.Join(known, ", "))
	}
	if err != nil {
		r.Wrong(e, "price", "%s: %s", name, wording.Sentence(err))
	}
}
