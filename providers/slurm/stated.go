package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// profiled is the quality of service under which jobs run on a partition, as the
// profile has it: the one that is asked for, else the one that is for this
// partition, else the default; nil if it is not told.
func (f *fitter) profiled(partition string) *QoS {
	if f.Profile == nil {
		return nil
	}
	list := f.Profile.QoS
	at := -1
	if asked := f.askedQoS(); asked != "" {
		at = slices.IndexFunc(list, func(q QoS) bool { return q.Name == asked })
	} else if at = slices.IndexFunc(list, func(q QoS) bool { return slices.Contains(q.Only, partition) }); at < 0 {
		at = slices.IndexFunc(list, func(q QoS) bool { return q.Default })
	}
	if at < 0 {
		return nil
	}
	return &list[at]
}

func (f *fitter) askedQoS() string { return cmp.Or(f.o.QoS, f.Config.QoS) }

// stated says why the profile's qualities of service forbid a shape on a
// partition, for a cluster that does not tell its own.
func (f *fitter) stated(shape offer.Shape, p offer.Pool) (why, would string) {
	if f.Profile == nil || len(f.Profile.QoS) == 0 {
		return "", ""
	}
	q := f.profiled(p.Name)
	if asked := f.askedQoS(); q == nil && asked != "" {
		var names []string
		for _, q := range f.Profile.QoS {
			names = append(names, q.Name)
		}
		return fmt.Sprintf("profile %s knows no qos %s; %s", f.Profile.Name, asked, cluster.Meant("qos", asked, names)), ""
	}
	switch {
	case q == nil:
	case len(q.Only) > 0 && !slices.Contains(q.Only, p.Name):
		return fmt.Sprintf("qos %s is for partition %s", q.Name, strings.Join(q.Only, " or ")), f.otherStated(shape, p, "leave qos out")
	case q.MaxTime > 0 && shape.Walltime > q.MaxTime:
		return fmt.Sprintf("qos %s ends jobs at %s", q.Name, units.FormatDuration(q.MaxTime)),
			f.otherStated(shape, p, "")
	}
	return "", ""
}

// otherStated says which of the profile's qualities of service would take a shape
// on a partition; without one, what else to do.
func (f *fitter) otherStated(shape offer.Shape, p offer.Pool, without string) string {
	var names []string
	for _, q := range f.Profile.QoS {
		if (len(q.Only) == 0 || slices.Contains(q.Only, p.Name)) && (q.MaxTime == 0 || shape.Walltime <= q.MaxTime) {
			names = append(names, q.Name)
		}
	}
	if len(names) == 0 {
		return without
	}
	return "set qos = \"" + strings.Join(names, `" or "`) + `" in options "slurm"`
}
