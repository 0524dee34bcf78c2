package lambda

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
)

// A kind is an instance type.
type kind struct {
	name, gpu      string // gpu_1x_a10, A10 (24 GB PCIe)
	device         string // as nvidia-smi calls it
	mib            int    // of a GPU
	gpus           int
	cents          int64 // an hour of the instance
	cpus, ram, ssd int   // cores, GiB, GiB
	arm            bool
	regions        []string
	each           int // instances that each region has to begin with
}

// kinds have the prices of the public page of September 2026.
var kinds = []kind{
	{name: "gpu_1x_a10", gpu: "A10 (24 GB PCIe)", device: "NVIDIA A10", mib: 23028, gpus: 1, cents: 129, cpus: 30, ram: 200, ssd: 1400, regions: []string{"us-west-1", "us-east-1"}, each: 2},
	{name: "gpu_1x_a6000", gpu: "A6000 (48 GB)", device: "NVIDIA RTX A6000", mib: 49140, gpus: 1, cents: 109, cpus: 14, ram: 100, ssd: 512, regions: []string{"us-south-1"}, each: 1},
	{name: "gpu_1x_rtx6000", gpu: "RTX 6000 (24 GB)", device: "Quadro RTX 6000", mib: 24576, gpus: 1, cents: 69, cpus: 14, ram: 46, ssd: 512, regions: []string{"us-south-1"}, each: 0},
	{name: "gpu_1x_a100_sxm4", gpu: "A100 (40 GB SXM4)", device: "NVIDIA A100-SXM4-40GB", mib: 40960, gpus: 1, cents: 199, cpus: 30, ram: 220, ssd: 512, regions: []string{"us-east-1", "asia-south-1"}, each: 2},
	{name: "gpu_1x_h100_pcie", gpu: "H100 (80 GB PCIe)", device: "NVIDIA H100 PCIe", mib: 81559, gpus: 1, cents: 329, cpus: 26, ram: 225, ssd: 1024, regions: []string{"us-west-3"}, each: 2},
	{name: "gpu_1x_h100_sxm5", gpu: "H100 (80 GB SXM5)", device: "NVIDIA H100 80GB HBM3", mib: 81559, gpus: 1, cents: 429, cpus: 26, ram: 225, ssd: 2816, regions: []string{"us-east-3", "us-south-2"}, each: 2},
	{name: "gpu_1x_gh200", gpu: "GH200 (96 GB)", device: "NVIDIA GH200 480GB", mib: 97871, gpus: 1, cents: 229, cpus: 64, ram: 432, ssd: 4096, arm: true, regions: []string{"us-east-3"}, each: 3},
	{name: "gpu_2x_h100_sxm5", gpu: "H100 (80 GB SXM5)", device: "NVIDIA H100 80GB HBM3", mib: 81559, gpus: 2, cents: 838, cpus: 52, ram: 450, ssd: 5632, regions: []string{"us-east-3"}, each: 1},
	{name: "gpu_8x_h100_sxm5", gpu: "H100 (80 GB SXM5)", device: "NVIDIA H100 80GB HBM3", mib: 81559, gpus: 8, cents: 3192, cpus: 208, ram: 1800, ssd: 22528, regions: []string{"us-east-3"}, each: 1},
	{name: "gpu_8x_a100_80gb_sxm4", gpu: "A100 (80 GB SXM4)", device: "NVIDIA A100-SXM4-80GB", mib: 81920, gpus: 8, cents: 2232, cpus: 240, ram: 1800, ssd: 19968, regions: []string{"us-midwest-1"}, each: 1},
	{name: "gpu_8x_v100", gpu: "Tesla V100 (16 GB)", device: "Tesla V100-SXM2-16GB", mib: 16384, gpus: 8, cents: 632, cpus: 88, ram: 448, ssd: 5939, regions: []string{"us-south-1"}, each: 1},
}

// regionNames are the regions with capacity here, and how the API describes them.
var regionNames = map[string]string{
	"us-west-1": "California, USA", "us-west-3": "Utah, USA", "us-east-1": "Virginia, USA", "us-east-3": "Washington DC, USA", "us-south-1": "Texas, USA",
	"us-south-2": "North Texas, USA", "us-midwest-1": "Illinois, USA", "asia-south-1": "India",
}

func region(name string) map[string]any {
	return map[string]any{"name": name, "description": regionNames[name]}
}

// hourly is the price of an hour, USD.
func (k *kind) hourly() decimal.Decimal { return decimal.New(k.cents, -2) }

// boots is how long an instance boots: minutes, with eight GPUs a quarter of an hour.
func (k *kind) boots() time.Duration {
	if k.gpus == 8 {
		return 12 * time.Minute
	}
	return 3 * time.Minute
}

func (k *kind) row(newer bool) map[string]any {
	row := map[string]any{
		"name": k.name, "description": fmt.Sprintf("%dx %s", k.gpus, k.gpu), "gpu_description": k.gpu, "price_cents_per_hour": k.cents,
		"specs": map[string]any{"vcpus": k.cpus, "memory_gib": k.ram, "storage_gib": k.ssd, "gpus": k.gpus},
	}
	if newer {
		row["architecture"] = k.architecture()
	}
	return row
}

func (k *kind) architecture() string {
	if k.arm {
		return "arm64"
	}
	return "x86_64"
}

// types is the catalogue: an object by name. Its capacity may be old.
func (l *Lambda) types(*cloudsim.Call) cloudsim.Answer {
	out := map[string]any{}
	for _, k := range kinds {
		regions := []any{}
		for _, r := range k.regions {
			if l.shown[place{k.name, r}] {
				regions = append(regions, region(r))
			}
		}
		out[k.name] = map[string]any{"instance_type": k.row(l.newer), "regions_with_capacity_available": regions}
	}
	return data(out)
}

func (l *Lambda) regions(*cloudsim.Call) cloudsim.Answer {
	out := []any{}
	for _, name := range slices.Sorted(maps.Keys(regionNames)) {
		out = append(out, region(name))
	}
	return data(out)
}

// An image is one family's in one region.
type image struct{ id, family, architecture, region string }

func allImages() (out []image) {
	for n, name := range slices.Sorted(maps.Keys(regionNames)) {
		for m, i := range []image{{"", "lambda-stack-22-04", "x86_64", name}, {"", "ubuntu-22-04", "x86_64", name}, {"", "lambda-stack-22-04", "arm64", name}} {
			i.id = fmt.Sprintf("43336648-096d-4cba-9aa2-%012d", 10*n+m)
			out = append(out, i)
		}
	}
	return out
}

func (l *Lambda) images(*cloudsim.Call) cloudsim.Answer {
	out := []any{}
	for _, i := range allImages() {
		out = append(out, map[string]any{
			"id": i.id, "name": i.family + "-2026-08", "description": i.family, "family": i.family, "version": "2026.08", "architecture": i.architecture, "region": region(i.region),
			"created_time": "2026-08-03T00:00:00Z", "updated_time": "2026-08-03T00:00:00Z",
		})
	}
	return data(out)
}
