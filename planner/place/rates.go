package place

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Names of what is recorded of a price beside its rates, which have the names
// that they have in the language.
const (
	unknownPrice = "unknown"
	wholeNodes   = "whole_node"
	billsQueue   = "bills_while_queued"
)

func rates(p *offer.Price) map[string]*string {
	return map[string]*string{
		"usd_per_gpu_hour": &p.USDPerGPUHour, "usd_per_hour": &p.USDPerHour, "usd_per_gb_month": &p.USDPerGBMonth,
		"service_units_per_gpu_hour": &p.SUPerGPUHour, "service_units_per_node_hour": &p.SUPerNodeHour, "service_units_per_cpu_hour": &p.SUPerCPUHour,
	}
}

func times(p *offer.Price, d *Decision) map[string]*time.Duration {
	out := map[string]*time.Duration{"granularity": &p.Granularity, "minimum": &p.Minimum, "around": &d.Boot, "hold": &d.Hold}
	if p.BillsWhileQueued {
		out["wait"] = &d.Wait
	}
	return out
}

// Rates are what a launch is charged by where a decision puts it, as they are
// recorded with its attempt: what it took is reckoned by what was asked when it
// was launched. Nil where nothing is charged.
func (d Decision) Rates() map[string]string {
	out := map[string]string{}
	for name, rate := range rates(&d.Price) {
		if *rate != "" {
			out[name] = *rate
		}
	}
	if len(out) == 0 && d.Price.Known && !d.WholeNode {
		return nil
	}
	for name, t := range times(&d.Price, &d) {
		if *t != 0 {
			out[name] = t.String()
		}
	}
	if !d.Price.Known {
		out[unknownPrice] = "true"
	}
	if d.WholeNode {
		out[wholeNodes] = "true"
	}
	if d.Price.BillsWhileQueued {
		out[billsQueue] = "true"
	}
	return out
}

// Charged is a decision charged as was recorded with an attempt. ok is false
// where that was not recorded or not known then.
func (d Decision) Charged(at *state.Attempt) (out Decision, ok bool) {
	queue, unknown := at.Rates[billsQueue] != "", at.Rates[unknownPrice] != ""
	if unknown && !queue || at.Rates == nil && (at.Ceiling == nil || at.Ceiling[USD] != "" || at.Ceiling[ServiceUnits] != "") {
		return d, false
	}
	d.Price, d.WholeNode = offer.Price{Known: !unknown, BillsWhileQueued: queue}, at.Rates[wholeNodes] != ""
	for name, rate := range rates(&d.Price) {
		*rate = at.Rates[name]
	}
	for name, t := range times(&d.Price, &d) {
		*t, _ = time.ParseDuration(at.Rates[name])
	}
	return d, true
}
