// Package machine describes one machine as a place to run jobs: the resources
// that muster may use, those that are free, whether given jobs could run there,
// and its files.
package machine

import (
	"runtime"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// A Tenant is one campaign's backend as the queue of a machine sees it.
type Tenant struct {
	Lineage     string `json:"lineage"`
	Campaign    string `json:"campaign,omitempty"`
	Backend     string `json:"backend"`
	Workdir     string `json:"workdir"`
	MaxParallel int    `json:"max_parallel,omitempty"` // most jobs of this campaign here; 0 = no cap
	Settings
}

// Cores is how many cores the tenant may use out.
func (p Tenant) Cores() int {
	if p.CPUs > 0 {
		return p.CPUs
	}
	return runtime.NumCPU()
}

// CoresOf is how many cores a shape takes. A GPU job that requests only the default core takes
// none, so that a machine with fewer cores than GPUs can use all GPUs.
func CoresOf(s offer.Shape) int {
	if s.GPUs > 0 && s.CPUs <= 1 {
		return 0
	}
	return s.CPUs
}

// Bytes is how much memory the tenant may use out.
func (p Tenant) Bytes() int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return memory()
}

// defaultFreeMax is the memory in use, in bytes, up to which a GPU counts as free.
const defaultFreeMax = 500 << 20

// FreeMax is the memory in use up to which a GPU counts as free here.
func (p Tenant) FreeMax() int64 {
	if p.GPUFreeMax > 0 {
		return p.GPUFreeMax
	}
	return defaultFreeMax
}

// MayUse reports whether the tenant may use out a device.
func (p Tenant) MayUse(d gpu.Device) bool { return p.GPUs.Has(d) }
