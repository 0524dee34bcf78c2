package paperspace

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// The regions, in the words that clients send.
const (
	ny2  = "East Coast (NY2)"
	ca1  = "West Coast (CA1)"
	ams1 = "Europe (AMS1)"
)

// A kind is a machine type.
type kind struct {
	name      string // A4000x2
	gpu       string // A4000
	device    string // as nvidia-smi calls it
	mib, gpus int
	cpus      int
	ramGiB    int64
	hourly    string // USD
	template  string
	regions   []string
	each      int // machines that each region has to begin with
}

// The purposes of templates.
const (
	common = "tkni3aa4" // ML-in-a-Box
	h100s  = "tiq8mhti"
	bare   = "t0nspur5" // Ubuntu 20.04
)

// kinds have the prices of the public page of September 2026.
var kinds = []kind{
	{name: "P4000", gpu: "P4000", device: "Quadro P4000", mib: 8192, gpus: 1, cpus: 8, ramGiB: 30, hourly: "0.51", template: common, regions: []string{ny2, ca1, ams1}, each: 3},
	{name: "RTX4000", gpu: "RTX4000", device: "Quadro RTX 4000", mib: 8192, gpus: 1, cpus: 8, ramGiB: 30, hourly: "0.56", template: common, regions: []string{ny2, ca1, ams1}, each: 2},
	{name: "A4000", gpu: "A4000", device: "NVIDIA RTX A4000", mib: 16376, gpus: 1, cpus: 8, ramGiB: 45, hourly: "0.76", template: common, regions: []string{ny2, ca1, ams1}, each: 2},
	{name: "A4000x2", gpu: "A4000", device: "NVIDIA RTX A4000", mib: 16376, gpus: 2, cpus: 16, ramGiB: 90, hourly: "1.52", template: common, regions: []string{ny2}, each: 1},
	{name: "A6000", gpu: "A6000", device: "NVIDIA RTX A6000", mib: 49140, gpus: 1, cpus: 8, ramGiB: 45, hourly: "1.89", template: common, regions: []string{ny2, ca1}, each: 1},
	{name: "V100", gpu: "V100", device: "Tesla V100-SXM2-16GB", mib: 16384, gpus: 1, cpus: 8, ramGiB: 30, hourly: "2.30", template: common, regions: []string{ny2, ams1}, each: 0},
	{name: "A100-80G", gpu: "A100-80G", device: "NVIDIA A100-SXM4-80GB", mib: 81920, gpus: 1, cpus: 12, ramGiB: 90, hourly: "3.18", template: common, regions: []string{ny2}, each: 1},
	{name: "H100", gpu: "H100", device: "NVIDIA H100 80GB HBM3", mib: 81559, gpus: 1, cpus: 20, ramGiB: 250, hourly: "5.95", template: h100s, regions: []string{ny2}, each: 1},
}

// monthly is the price of a disk by its size in GB, USD a month: those that there are.
var monthly = map[int]string{50: "5", 100: "7", 250: "10", 500: "20", 1000: "40", 2000: "120"}

// addressHour is the price of a public address, USD an hour, while its machine exists.
var addressHour = decimal.RequireFromString("0.0045")

// hoursOfMonth turn a price by the month into one by the hour.
var hoursOfMonth = decimal.NewFromInt(730)

func findKind(name string) *kind {
	for n := range kinds {
		if kinds[n].name == name {
			return &kinds[n]
		}
	}
	return nil
}

func (p *Paperspace) availability(c *cloudsim.Call) cloudsim.Answer {
	at := place{c.Query.Get("machineType"), c.Query.Get("region")}
	if at.kind == "" || at.region == "" {
		return failure("BAD_REQUEST", "Input validation failed: machineType and region are required")
	}
	n, there := p.free[at]
	if !there {
		return failure("BAD_REQUEST", "Invalid machine type or region")
	}
	return ok(map[string]any{"available": n > 0})
}

// templates restrict types: H100s need one of their own.
func (p *Paperspace) templates(c *cloudsim.Call) cloudsim.Answer {
	type template struct{ id, name, label string }
	all := []template{{bare, "Ubuntu 20.04", "Ubuntu 20.04 Server"}, {common, "ML-in-a-Box 22.04", "Ubuntu 22.04 Server"}, {h100s, "ML-in-a-Box H100", "Ubuntu 22.04 Server"}, {"twnd0ws9", "Windows 10", "Windows 10 (Server 2022)"}}
	return page(c, all, func(t template) map[string]any {
		types := []any{}
		for _, k := range kinds {
			if k.template == t.id || t.id == bare && k.template == common {
				types = append(types, map[string]any{"machineTypeLabel": k.name, "isAvailable": true})
			}
		}
		agent := "LinuxHeadless"
		if t.name == "Windows 10" {
			agent = "WindowsDesktop"
		}
		return map[string]any{"id": t.id, "name": t.name, "agentType": agent, "operatingSystemLabel": t.label, "defaultSizeGb": 50, "availableMachineTypes": types, "dtCreated": "2026-01-05T00:00:00.000Z"}
	})
}

// allows reports whether a template is for a type.
func allows(template string, k *kind) bool {
	return template == k.template || template == bare && k.template == common
}
