package slurm

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// endsEarlier says what ends jobs without a qos before their partition's walltime;
// "" = nothing that is known.
func (b *Site) endsEarlier(s *cluster.Facts, p offer.Pool) string {
	if l := s.Partition(p.Name); l != nil && !s.Closed {
		return s.EndsEarlier(b.Config.Account, b.QoSName(s, l, ""), l)
	}
	q := (&fitter{Site: b}).profiled(p.Name)
	if q == nil || q.MaxTime == 0 || p.MaxTime > 0 && q.MaxTime >= p.MaxTime {
		return ""
	}
	return fmt.Sprintf("qos %s ends jobs at %s", q.Name, units.FormatDuration(q.MaxTime))
}
