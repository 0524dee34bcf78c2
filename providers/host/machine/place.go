// Package machine describes one machine as a place to run jobs: the resources
// that muster may use, those that are free, whether given jobs could run there,
// and its files.
package machine

import (
	"runtime"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// A Place is one campaign's backend as the queue of a machine sees it.
type Place struct {
	Lineage     string `json:"lineage"`
	Campaign    string `json:"campaign,omitempty"`
	Backend     string `json:"backend"`
	Workdir     string `json:"workdir"`
	MaxParallel int    `json:"max_parallel,omitempty"` // most jobs of this campaign here; 0 = no cap

	CPUs       int   `json:"cpus,omitempty"`         // cores to give out; 0 = the machine's
	Memory     int64 `json:"memory,omitempty"`       // bytes to give out; 0 = the machine's
	Slots      int   `json:"slots,omitempty"`        // most jobs at once on the machine; 0 = no cap
	GPUFreeMax int64 `json:"gpu_free_max,omitempty"` // bytes in use below which a GPU is free; 0 = 500 MiB

	Scratch string `json:"scratch,omitempty"` // folder on the machine's own disk for jobs' scratch; "" = that for temporary files

	GPUs gpu.Selection `json:"gpus,omitempty"` // those to use; nil = all
}

// Cores is how many cores the place may give out.
func (p Place) Cores() int {
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

// Bytes is how much memory the place may give out.
func (p Place) Bytes() int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return memory()
}

// defaultFreeMax is the memory in use, in bytes, up to which a GPU counts as free.
const defaultFreeMax = 500 << 20

// FreeMax is the memory in use up to which a GPU counts as free here.
func (p Place) FreeMax() int64 {
	if p.GPUFreeMax > 0 {
		return p.GPUFreeMax
	}
	return defaultFreeMax
}

// MayUse reports whether the place may give out a device.
func (p Place) MayUse(d gpu.Device) bool { return p.GPUs.Has(d) }
