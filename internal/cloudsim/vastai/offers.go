package vastai

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// A machine is one host's, cut into parts of some GPUs that are rented one by one.
type machine struct {
	id, host    int
	gpu         string
	mib         int // of a GPU
	part, parts int // GPUs of a part; parts
	cores       int // of a part
	ramMB       int
	diskGB      float64
	perHour     decimal.Decimal // of a part, without its disk
	minBid      decimal.Decimal
	perGBMonth  decimal.Decimal // of disk
	upGB        decimal.Decimal // of 10^9 bytes from it
	downGB      decimal.Decimal
	up, down    float64 // Mbit/s
	reliability float64
	cuda        float64
	driver      string
	compute     int
	ports       int
	place       string
	verified    bool
	datacenter  bool
	ends        time.Duration // from the simulator's start

	start     time.Time
	strangers int // parts that others rent
	ours      int // parts that instances of this simulator hold
	offer     *offer
	offline   bool
}

// An offer is a machine's while a part of it is free. Its id does not last: each
// rent and each release lists the machine again.
type offer struct {
	id      int
	machine *machine
}

// catalogue is invented: prices of the magnitude of 2026, and hosts of every kind
// that matters.
func catalogue() []*machine {
	d := decimal.RequireFromString
	const day = 24 * time.Hour
	return []*machine{
		{id: 41001, host: 3101, gpu: "RTX 4090", mib: 24564, part: 1, parts: 4, cores: 16, ramMB: 64000, diskGB: 800, perHour: d("0.34"), minBid: d("0.16"), perGBMonth: d("0.15"), upGB: d("0.004"), downGB: d("0.003"), up: 820, down: 910, reliability: 0.994, cuda: 12.8, driver: "570.124.06", compute: 890, ports: 250, place: "Sweden, SE", verified: true, ends: 60 * day},
		{id: 41002, host: 3102, gpu: "RTX 4090", mib: 24564, part: 1, parts: 1, cores: 12, ramMB: 32000, diskGB: 180, perHour: d("0.29"), minBid: d("0.14"), perGBMonth: d("0.20"), upGB: d("0.01"), downGB: d("0.01"), up: 210, down: 480, reliability: 0.931, cuda: 12.4, driver: "550.90.07", compute: 890, ports: 40, place: "Texas, US", verified: true, ends: 12 * day},
		{id: 41003, host: 3103, gpu: "RTX 5090", mib: 32607, part: 1, parts: 2, cores: 24, ramMB: 96000, diskGB: 900, perHour: d("0.61"), minBid: d("0.33"), perGBMonth: d("0.12"), upGB: d("0.002"), downGB: d("0.002"), up: 940, down: 940, reliability: 0.989, cuda: 12.9, driver: "575.57.08", compute: 1200, ports: 100, place: "Japan, JP", verified: true, ends: 30 * day},
		{id: 41004, host: 3104, gpu: "A100 SXM4", mib: 81920, part: 1, parts: 8, cores: 16, ramMB: 120000, diskGB: 1500, perHour: d("0.98"), minBid: d("0.55"), perGBMonth: d("0.10"), upGB: d("0"), downGB: d("0"), up: 5200, down: 6100, reliability: 0.998, cuda: 12.8, driver: "570.124.06", compute: 800, ports: 999, place: "Norway, NO", verified: true, datacenter: true, ends: 180 * day},
		{id: 41005, host: 3104, gpu: "A100 SXM4", mib: 81920, part: 4, parts: 2, cores: 64, ramMB: 480000, diskGB: 3000, perHour: d("3.92"), minBid: d("2.20"), perGBMonth: d("0.10"), upGB: d("0"), downGB: d("0"), up: 5200, down: 6100, reliability: 0.998, cuda: 12.8, driver: "570.124.06", compute: 800, ports: 999, place: "Norway, NO", verified: true, datacenter: true, ends: 180 * day},
		{id: 41006, host: 3105, gpu: "H100 SXM", mib: 81559, part: 1, parts: 8, cores: 24, ramMB: 180000, diskGB: 2000, perHour: d("2.40"), minBid: d("1.45"), perGBMonth: d("0.10"), upGB: d("0.001"), downGB: d("0.001"), up: 8000, down: 8000, reliability: 0.997, cuda: 12.9, driver: "575.57.08", compute: 900, ports: 999, place: "Iceland, IS", verified: true, datacenter: true, ends: 365 * day},
		{id: 41007, host: 3106, gpu: "RTX 3090", mib: 24576, part: 1, parts: 2, cores: 8, ramMB: 24000, diskGB: 120, perHour: d("0.13"), minBid: d("0.06"), perGBMonth: d("0.18"), upGB: d("0.02"), downGB: d("0.02"), up: 35, down: 180, reliability: 0.962, cuda: 12.2, driver: "535.183.01", compute: 860, ports: 0, place: "Brazil, BR", verified: true, ends: 20 * day},
		{id: 41008, host: 3107, gpu: "RTX 4090", mib: 24564, part: 1, parts: 1, cores: 16, ramMB: 48000, diskGB: 300, perHour: d("0.19"), minBid: d("0.09"), perGBMonth: d("0.15"), upGB: d("0.01"), downGB: d("0.01"), up: 100, down: 300, reliability: 0.870, cuda: 12.4, driver: "550.90.07", compute: 890, ports: 20, place: "Vietnam, VN", verified: false, ends: 9 * day},
	}
}

// free are the parts that nobody rents.
func (m *machine) free() int { return m.parts - m.ours - m.strangers }

// list offers a machine under another id, or withdraws it where nothing is free.
func (v *Vast) list(m *machine) {
	if m.start.IsZero() {
		m.start = v.Clock.Now()
	}
	m.offer = nil
	if m.free() > 0 && !m.offline {
		v.lastOffer += 13
		m.offer = &offer{v.lastOffer, m}
		v.offers[m.offer.id] = m.offer
	}
}

// end is when its host takes a machine back.
func (m *machine) end() time.Time { return m.start.Add(m.ends) }

// hoursOfMonth turn a price by the month into one by the hour.
var hoursOfMonth = decimal.NewFromInt(730)

// diskHour is the hourly cost of a disk.
func (m *machine) diskHour(gb float64) decimal.Decimal {
	return m.perGBMonth.Mul(decimal.NewFromFloat(gb)).Div(hoursOfMonth)
}

func (m *machine) price(bid bool) decimal.Decimal {
	if bid {
		return m.minBid
	}
	return m.perHour
}

// machineHappens changes a machine: its prices, who else rents it, its host.
func (v *Vast) machineHappens(m *machine, e cloudsim.Event) error {
	switch e.What {
	case "price", "min_bid":
		d, err := decimal.NewFromString(e.Value)
		if err != nil || !d.IsPositive() {
			return fmt.Errorf("value %q: dollars an hour", e.Value)
		}
		if e.What == "price" {
			m.perHour = d
		} else {
			m.minBid = d
			v.auction(m)
		}
	case "rented":
		n, err := strconv.Atoi(e.Value)
		if err != nil || n < 0 || n > m.parts {
			return fmt.Errorf("value %q: how many of its %d parts others rent", e.Value, m.parts)
		}
		m.strangers = min(n, m.parts-m.ours)
		v.list(m)
		v.auction(m)
	case "relist":
		v.list(m)
	case "offline", "online":
		m.offline = e.What == "offline"
		v.list(m)
		for _, i := range v.instances {
			if i.machine == m && !i.gone {
				i.hostIs(!m.offline)
			}
		}
	default:
		return fmt.Errorf("what %q: a machine has price, min_bid, rented, relist, offline and online", e.What)
	}
	return nil
}

// row is an offer as the API shows it.
func (v *Vast) row(o *offer, bid bool, gb float64) map[string]any {
	m, now := o.machine, v.Clock.Now()
	base := m.price(bid)
	disk := m.diskHour(gb)
	total := base.Add(disk)
	left := m.end().Sub(now).Seconds()
	dlperf := float64(m.part) * float64(m.mib) / 300
	verification := "unverified"
	if m.verified {
		verification = "verified"
	}
	parts := map[string]any{"gpuCostPerHour": f(base), "diskHour": f(disk), "totalHour": f(total), "discountTotalHour": 0.0, "discountedTotalPerHour": f(total)}
	return map[string]any{
		"id": o.id, "ask_contract_id": o.id, "bundle_id": m.id * 10, "machine_id": m.id, "host_id": m.host,
		"gpu_name": m.gpu, "num_gpus": m.part, "gpu_frac": float64(m.part) / float64(m.part*m.parts), "gpu_arch": "nvidia",
		"gpu_ram": m.mib, "gpu_total_ram": m.mib * m.part, "cpu_ram": m.ramMB, "cpu_arch": "amd64", "cpu_cores": m.cores * m.parts, "cpu_cores_effective": float64(m.cores),
		"disk_space": m.diskGB, "disk_bw": 2400.0, "dph_base": f(base), "dph_total": f(total), "min_bid": f(m.minBid), "search": parts, "instance": parts,
		"storage_cost": f(m.perGBMonth), "storage_total_cost": f(disk), "inet_up": m.up, "inet_down": m.down, "inet_up_cost": f(m.upGB), "inet_down_cost": f(m.downGB),
		"reliability": m.reliability, "reliability2": m.reliability, "cuda_max_good": m.cuda, "driver_version": m.driver, "compute_cap": m.compute,
		"dlperf": dlperf, "dlperf_per_dphtotal": dlperf / f(total), "total_flops": dlperf * 3, "flops_per_dphtotal": dlperf * 3 / f(total), "score": dlperf / f(total) * m.reliability,
		"direct_port_count": m.ports, "static_ip": m.datacenter, "geolocation": m.place, "verification": verification, "verified": m.verified, "hosting_type": btoi(m.datacenter),
		"datacenter": m.datacenter, "rentable": o == m.offer, "rented": false, "is_bid": bid, "external": false, "vms_enabled": false, "has_avx": 1,
		"start_date": epoch(m.start), "end_date": epoch(m.end()), "duration": left, "resource_type": "gpu", "public_ipaddr": "127.0.0.1",
		"pci_gen": 4.0, "pcie_bw": 25.0, "bw_nvlink": 0.0, "gpu_mem_bw": 1000.0, "gpu_lanes": 16, "gpu_max_power": 450.0, "gpu_max_temp": 85.0, "gpu_display_active": false,
		"cpu_name": "EPYC 7543", "cpu_ghz": 2.8, "mobo_name": "H12SSL", "os_version": "22.04", "ubuntu_version": "22.04", "disk_name": "nvme",
	}
}

// gpuNames are the models, for anybody.
func (v *Vast) gpuNames(*cloudsim.Call) cloudsim.Answer {
	names := map[string]bool{}
	for _, m := range v.machines {
		names[m.gpu] = true
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"gpu_names": slices.Sorted(maps.Keys(names))})
}

func f(d decimal.Decimal) float64 { return d.InexactFloat64() }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// epoch is a time in seconds since 1970.
func epoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
