package queue

import (
	"math"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// scale is the shape of a job's next attempt after a failure of a class: nil
// if it does not change. It reports false where the machine is too small.
func scale(s offer.Shape, r providers.Retry, class string, memory int64) (*offer.Shape, bool) {
	by, ok := r.Scale[class]
	if !ok {
		for name, f := range r.Scale {
			if failure.Is(class, name) {
				by, ok = f, true
			}
		}
	}
	if !ok {
		return nil, true
	}
	grown := s
	grown.Memory = times(s.Memory, by.Memory)
	grown.CPUs = int(times(int64(s.CPUs), by.CPUs))
	grown.GPUs = int(times(int64(s.GPUs), by.GPUs))
	grown.Disk = times(s.Disk, by.Disk)
	grown.Walltime = time.Duration(times(int64(s.Walltime), by.Walltime))
	if memory > 0 && grown.Memory > memory {
		if s.Memory >= memory {
			return nil, false
		}
		grown.Memory = memory // bounded by the pool
	}
	return &grown, true
}

func times(n int64, by float64) int64 {
	if by <= 0 || by == 1 {
		return n
	}
	return int64(math.Ceil(float64(n) * by))
}

// trimSIG is a signal's name without its prefix.
func trimSIG(name string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(name)), "SIG")
}
