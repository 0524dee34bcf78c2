package place

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// Together says what our jobs hold of a pool at most: "4 GPUs and 64 cores of yours at once
// (qos normal)"; "" where no limit is stated, or the pool has no more.
func Together(p offer.Pool) string {
	var parts []string
	if n := p.Most.Devices; n > 0 && p.HasDevices() && (p.Total == 0 || n < p.Total) {
		parts = append(parts, units.Count(n, "GPU"))
	}
	if n := p.Most.Cores; n > 0 && (p.HasDevices() || p.Total == 0 || n < p.Total) {
		parts = append(parts, units.Count(n, "core"))
	}
	if p.Most.Memory > 0 {
		parts = append(parts, units.FormatSize(p.Most.Memory)+" of memory")
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts[:len(parts)-1], ", ")
	if text != "" {
		text += " and "
	}
	text += parts[len(parts)-1] + " of yours at once"
	if p.MostBy != "" {
		text += fmt.Sprintf(" (%s)", p.MostBy)
	}
	return text
}
