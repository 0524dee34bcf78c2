package gpu

import (
	"fmt"
	"strconv"

	"github.com/muster-run/muster/providers/offer"
)

// ID is the name of a device for CUDA_VISIBLE_DEVICES.
func (d Device) ID() string {
	if d.MIG {
		return d.UUID
	}
	return strconv.Itoa(d.Index)
}

// Lacks says which request of a job a device does not meet, "" if it meets all. n is how many
// devices the job requests: CUDA shows a process one slice only. NVIDIA Multi-Instance GPU
// User Guide, "CUDA Visible Devices".
func (d Device) Lacks(c offer.GPU, n int) string {
	if d.MIG && n > 1 {
		return "GPU " + d.ID() + " is a slice, of which a job can use one"
	}
	if !matches(d.Model, c.Models) {
		return fmt.Sprintf("GPU %s is a %s", d.ID(), d.Name)
	}
	if d.Memory > 0 && d.Memory < c.Memory {
		return fmt.Sprintf("GPU %s has %d MiB", d.ID(), d.Memory>>20)
	}
	return ""
}

// Busy says why a device that no job of ours holds is not available, "" if it is. A free
// device may have up to freeMax bytes in use.
func (d Device) Busy(freeMax int64) string {
	switch {
	case !d.Healthy:
		return "GPU " + d.ID() + " is not healthy: " + d.Reason
	case d.Zombie(freeMax) != "":
		return d.Zombie(freeMax)
	case d.Used > freeMax, d.Used < 0 && len(d.Processes) > 0:
		return "GPU " + d.ID() + " is in use by " + holders(d.Processes) + d.total()
	case d.Used < 0 && d.MIG:
		return "GPU " + d.ID() + ": its memory in use cannot be read"
	}
	return ""
}

// total is the memory in use, where it is not that of a single process.
func (d Device) total() string {
	if len(d.Processes) == 1 && d.Processes[0].Used > 0 || d.Used < 0 {
		return ""
	}
	return fmt.Sprintf("; %d MiB in all", d.Used>>20)
}
