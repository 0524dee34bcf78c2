package place

import (
	"strconv"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Names of a recorded price's parts beside its rates, which have the names of the language.
const (
	unknownPrice = "unknown"
	unknownUnits = "unknown_service_units"
	guessed      = "estimated"
	wholeNodes   = "whole_node"
	billsQueue   = "bills_while_queued"
	cores        = "cpus"
	disk         = "disk"
	walltime     = "walltime"
	givenCores   = "given_cpus"
	givenDevices = "given_gpus"
	risenBy      = "risen_by"
	dearestHour  = "usd_per_hour_at_most"
)

func rates(p *offer.Price) map[string]*string {
	return map[string]*string{
		"usd_per_gpu_hour": &p.USDPerGPUHour, "usd_per_hour": &p.USDPerHour, "usd_per_cpu_hour": &p.USDPerCPUHour, "usd_per_gb_month": &p.USDPerGBMonth, dearestHour: &p.USDPerHourAtMost,
		"service_units_per_gpu_hour": &p.SUPerGPUHour, "service_units_per_node_hour": &p.SUPerNodeHour, "service_units_per_cpu_hour": &p.SUPerCPUHour,
	}
}

func times(p *offer.Price, d *Decision) map[string]*time.Duration {
	out := map[string]*time.Duration{"granularity": &p.Granularity, "minimum": &p.Minimum, "around": &d.Boot, "hold": &d.Hold, "spare": &p.Spare}
	if p.BillsWhileQueued {
		out["wait"] = &d.Wait
	}
	return out
}

// sizes are the charged parts of a shape. The number of cores is always in a record: a record
// without one is older than recorded shapes.
func sizes(s *offer.Shape) map[string]*int {
	return map[string]*int{cores: &s.CPUs, "gpus": &s.GPUs, "nodes": &s.Nodes, "pack": &s.Pack, "slots": &s.Slots}
}

// given is how many of them a launch gets, where that differs from its request.
func given(p *offer.Price) map[string]*int {
	return map[string]*int{givenCores: &p.CPUs, givenDevices: &p.GPUs}
}

// Rates are the rates of a launch at the place of a decision, and the charged sizes, as
// recorded with its attempt: its use is billed at the rates and for the request of its launch.
func (d Decision) Rates(launched offer.Shape) map[string]string {
	out := map[string]string{}
	for name, rate := range rates(&d.Price) {
		if *rate != "" {
			out[name] = *rate
		}
	}
	charged := len(out) > 0 || !d.Price.Known || d.Price.UnknownSU || d.WholeNode || d.Price.Granularity > 0 || d.Price.Minimum > 0
	for _, counts := range []map[string]*int{sizes(&launched), given(&d.Price)} {
		for name, n := range counts {
			if *n > 0 {
				out[name] = strconv.Itoa(*n)
			}
		}
	}
	out[cores] = strconv.Itoa(max(launched.CPUs, 1))
	if launched.Disk > 0 {
		out[disk] = strconv.FormatInt(launched.Disk, 10)
	}
	if launched.Walltime > 0 {
		out[walltime] = launched.Walltime.String()
	}
	if !charged {
		return out
	}
	for name, t := range times(&d.Price, &d) {
		if *t != 0 {
			out[name] = t.String()
		}
	}
	if !d.Price.Known {
		out[unknownPrice] = "true"
	}
	if d.Price.UnknownSU {
		out[unknownUnits] = "true"
	}
	if d.Price.Estimated {
		out[guessed] = "true"
	}
	if d.Price.Risen != "" {
		out[risenBy] = d.Price.Risen
	}
	if d.WholeNode {
		out[wholeNodes] = "true"
	}
	if d.Price.BillsWhileQueued {
		out[billsQueue] = "true"
	}
	return out
}

// Launched is the shape that was recorded with an attempt, as far as it is
// charged; ok is false where none was.
func Launched(at *state.Attempt) (s offer.Shape, ok bool) {
	for name, n := range sizes(&s) {
		*n, _ = strconv.Atoi(at.Rates[name])
	}
	s.Disk, _ = strconv.ParseInt(at.Rates[disk], 10, 64)
	s.Walltime, _ = time.ParseDuration(at.Rates[walltime])
	return s, at.Rates[cores] != ""
}

// Charged is a decision with the charge recorded with an attempt; service units that were
// unknown then have today's rate. ok is false without a record, or without a known price then.
func (d Decision) Charged(at *state.Attempt) (out Decision, ok bool) {
	queue, unknown := at.Rates[billsQueue] != "", at.Rates[unknownPrice] != ""
	if unknown && !queue || at.Rates == nil && (at.Ceiling == nil || at.Ceiling[USD] != "" || at.Ceiling[ServiceUnits] != "") {
		return d, false
	}
	today := d.Price
	d.Price, d.WholeNode = offer.Price{Known: !unknown, UnknownSU: at.Rates[unknownUnits] != "", Estimated: at.Rates[guessed] != "", BillsWhileQueued: queue}, at.Rates[wholeNodes] != ""
	for name, rate := range rates(&d.Price) {
		*rate = at.Rates[name]
	}
	if d.Price.UnknownSU && today.Known {
		d.Price.Estimated = d.Price.Estimated || today.Estimated
		d.Price.UnknownSU, d.Price.SUPerGPUHour, d.Price.SUPerNodeHour, d.Price.SUPerCPUHour = today.UnknownSU, today.SUPerGPUHour, today.SUPerNodeHour, today.SUPerCPUHour
	}
	d.Price.Risen = at.Rates[risenBy]
	for name, n := range given(&d.Price) {
		*n, _ = strconv.Atoi(at.Rates[name])
	}
	for name, t := range times(&d.Price, &d) {
		*t, _ = time.ParseDuration(at.Rates[name])
	}
	return d, true
}

// Yields reports whether a launch that was recorded at one price and has not
// started counts at the current price of its place: where that is dearer, and
// where a limit holds the launch, so that it can start at the new price.
func (d Decision) Yields(now Decision, s offer.Shape, held bool) bool {
	if !now.Price.Known || now.Price.UnknownSU {
		return false
	}
	was, _ := AtMost(s, d.Price, d.Around(), d.Hold)
	is, _ := AtMost(s, now.Price, now.Around(), now.Hold)
	for _, unit := range []string{USD, ServiceUnits, NodeHours} {
		if is[unit].GreaterThan(was[unit]) || held && is[unit].LessThan(was[unit]) {
			return true
		}
	}
	return false
}
