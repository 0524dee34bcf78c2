package machine

import (
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// Settings are the arguments of a backend block that say how much of a machine jobs may
// use. Sizes are in bytes.
type Settings struct {
	CPUs       int           `json:"cpus,omitempty"`         // cores that jobs may use; 0 = the machine's
	Memory     int64         `json:"memory,omitempty"`       // for jobs that request some; 0 = the machine's
	Slots      int           `json:"slots,omitempty"`        // most jobs at once on the machine; 0 = no cap
	GPUs       gpu.Selection `json:"gpus,omitempty"`         // GPUs that jobs may use; nil = all
	GPUFreeMax int64         `json:"gpu_free_max,omitempty"` // a GPU with at most this much memory in use is free; 0 = 500 MiB
	Scratch    string        `json:"scratch,omitempty"`      // folder on the machine's own disk for jobs' scratch; "" = that for temporary files
}

// SettingAttrs declares Settings in the schema of a backend.
func SettingAttrs() []offer.Attr {
	return []offer.Attr{
		{Name: "cpus", Type: offer.Number, Doc: "Cores of a machine that jobs may use, at least 1. A GPU job that requests at most one core takes none. Default: all."},
		{Name: "memory", Type: offer.Size, Doc: "Memory of a machine for jobs that request some. Default: all."},
		{Name: "slots", Type: offer.Number, Doc: "Most jobs at once on a machine, over all campaigns of this user; at least 1. Default: one for each core, one for each GPU."},
		{Name: "gpus", Type: offer.StringList, Doc: "GPUs that jobs may use: indexes as nvidia-smi counts, or UUIDs, of devices or MIG slices. Default: all."},
		{Name: "gpu_free_max", Type: offer.Size, Default: `"500MiB"`, Doc: "A GPU with at most this much memory in use counts as free."},
		{Name: "scratch", Type: offer.String, Doc: "Folder on the machine's own disk for `scratch` of jobs, \"/local/scratch\"; it may name variables there, \"$TMPDIR\". Default: the folder for temporary files."},
	}
}

// Wrong says which setting has no meaning, "" if all have one.
func (s Settings) Wrong() string {
	switch {
	case s.CPUs < 0 || s.Slots < 0:
		return "cpus and slots must be at least 1"
	case s.Memory < 0 || s.GPUFreeMax < 0:
		return "memory and gpu_free_max cannot be negative"
	}
	if why := s.GPUs.Wrong(); why != "" {
		return "gpus: " + why
	}
	return ""
}
