package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// A fitter says on which partitions one shape fits, and names others where it does
// not.
type fitter struct {
	*Site
	live  *cluster.Facts // nil = the cluster cannot be asked
	shape offer.Shape    // with the nodes that the options ask for
	o     Options
	all   []offer.Pool
	found map[string]misfit // by partition, whichever the options name
	wrong misfit            // a problem of the request, whatever the partition
}

// A misfit is why a shape cannot run on a partition; zero = it can.
type misfit struct {
	why, would string
	passing    bool // it is over when nodes or the partition are back
	refused    bool // by Slurm itself, whatever the walltime
	shut       bool // the partition takes no job of this account and qos, whatever its shape
}

func (b *Site) fitter(live *cluster.Facts, shape offer.Shape, o Options, all []offer.Pool) *fitter {
	f := &fitter{Site: b, live: live, shape: o.Spread(shape), o: o, all: all, found: map[string]misfit{}}
	for _, p := range all {
		f.found[p.Name] = f.misfit(f.shape, p)
	}
	f.wrong = f.nowhere()
	return f
}

// quote is the quote for a partition without asking the scheduler.
func (f *fitter) quote(p offer.Pool) offer.Quote {
	q := offer.Quote{Backend: f.Name, Pool: p.Name, Price: p.Price, Wait: -1}
	m := f.found[p.Name]
	if f.wrong.why != "" {
		m = f.wrong
	} else if f.o.Partition != "" && f.o.Partition != p.Name {
		m = f.elsewhere()
	} else if p.Testing && !f.shape.Smoke && f.o.Partition != p.Name {
		m = misfit{why: fmt.Sprintf("partition %s is for tests only", p.Name), would: f.choices(p.Name)}
	} else if m.why != "" {
		if m.would = f.another(m.would, p.Name); !m.refused {
			q.MaxTime = f.cut(p)
		}
	} else if p.MaxTime > 0 && f.shape.Walltime > p.MaxTime {
		q.MaxTime = cmp.Or(f.longest(p), f.shape.Walltime)
	} else if most := f.most(p); most > 0 && (p.MaxTime == 0 || most < p.MaxTime) {
		q.MaxTime = most
	}
	q.MaxJobs, q.MaxSubmit, q.SubmitBy = f.jobs(p)
	q.Most, q.MostBy = f.together(p)
	q.Why, q.Would, q.Passing, q.Fits, q.Shut = m.why, m.would, m.passing, m.why == "", m.shut
	return q
}

// nowhere says what no partition can satisfy, so that one mistake is reported
// once.
func (f *fitter) nowhere() (m misfit) {
	if f.live == nil {
		return m
	}
	switch name := f.o.Partition; {
	case len(f.all) == 1 && f.all[0].Name == "":
		return misfit{why: f.all[0].Notes[0], would: "correct partitions or exclude_partitions of the backend block"}
	case name != "" && f.live.Partition(name) == nil:
		return misfit{why: noPartition(name, f.live), would: f.choices("")}
	}
	if f.o.QoS != "" {
		m.why, m.would = f.live.Unasked(f.Config.Account, f.o.QoS)
	}
	if m.why == "" {
		m.why, m.would = f.live.Unmet(f.Cluster.User, f.Config.Account, f.shape, f.o.Requirements())
	}
	return m
}

// noPartition says that a partition does not exist, and suggests one.
func noPartition(name string, live *cluster.Facts) string {
	var names []string
	for i := range live.Partitions {
		names = append(names, live.Partitions[i].Name)
	}
	return fmt.Sprintf("there is no partition %s here; %s", name, cluster.Meant("partitions", name, names))
}

// worth reports whether it is worth asking the scheduler about a partition: jobs go there, and
// preflight has no finding about the request.
func (f *fitter) worth(p offer.Pool) bool {
	if f.live.Enforced && len(f.live.Associations) == 0 {
		return false // it takes nothing of this user's
	}
	return f.wrong.why == "" && f.mine(f.live, f.Config.QoS) && (f.o.Partition == "" || f.o.Partition == p.Name) && (!p.Testing || f.shape.Smoke || f.o.Partition == p.Name) &&
		ownOption(f.o.Extra) == "" && (f.live.Closed || f.Config.Account == "" || slices.Contains(f.live.Accounts(), f.Config.Account))
}

// elsewhere is the finding for a partition that the job does not name.
func (f *fitter) elsewhere() misfit {
	name := f.o.Partition
	switch {
	case slices.ContainsFunc(f.all, func(p offer.Pool) bool { return p.Name == name }):
		return misfit{why: fmt.Sprintf("the job is for partition %s only", name)}
	case f.live.Partition(name) != nil:
		return misfit{why: fmt.Sprintf("the backend block keeps partition %s out, by partitions or exclude_partitions", name), would: f.choices("")}
	}
	return misfit{why: fmt.Sprintf("profile %s knows no partition %s; %s", f.Profile.Name, name, cluster.Meant("partitions", name, poolNames(f.all))), would: f.choices("")}
}

// choices names the other partitions that fit, with their longest walltimes; "" =
// none do.
func (f *fitter) choices(but string) string {
	var names []string
	all := slices.Clone(f.all)
	if f.shape.GPUs == 0 { // those that would idle their GPUs come last
		slices.SortStableFunc(all, func(a, b offer.Pool) int { return cmp.Compare(min(a.GPUs, 1), min(b.GPUs, 1)) })
	}
	for _, p := range all {
		if p.Name == but || f.found[p.Name].why != "" || p.Testing && !f.shape.Smoke {
			continue
		}
		text := p.Name
		if most := f.most(p); most > 0 {
			text += " (" + units.FormatDuration(most) + ")"
		}
		names = append(names, text)
	}
	if len(names) == 0 {
		return ""
	}
	if n := len(names) - choicesMost; n > 1 {
		names = append(names[:choicesMost], fmt.Sprintf("%d others", n))
	}
	return "choose partition " + strings.Join(names, " or ")
}

// choicesMost is how many partitions an error names.
const choicesMost = 5

// either are two ways out.
func either(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	return a + "; or " + b
}

// misfit says why a shape cannot run on a partition, whichever the job names.
func (f *fitter) misfit(shape offer.Shape, p offer.Pool) misfit {
	if l := f.live.Partition(p.Name); l != nil {
		if why, would := f.live.Shuts(f.Config.Account, f.QoSName(f.live, l, f.o.QoS), f.o.Requirements().Reservation != "", l); why != "" {
			return misfit{why: why, would: would, shut: true}
		}
	}
	p.MaxTime = f.longest(p)
	if l := f.live.Partition(p.Name); l != nil && p.MaxTime > 0 && shape.Walltime > p.MaxTime && f.live.LongestTime(f.Config.Account, f.QoSName(f.live, l, f.o.QoS), l) != l.MaxTime {
		if why, would := f.limits(f.live, shape, f.o, p); why != "" {
			return misfit{why: why, would: would} // another limit than the partition's own
		}
	}
	if why := unfit(shape, p, f.live.Partition(p.Name)); why != "" {
		return misfit{why: why, would: f.longer(shape, p)}
	}
	if f.live == nil || f.live.Closed {
		if why, would := f.stated(shape, p); why != "" {
			return misfit{why: why, would: would}
		}
	}
	l := f.live.Partition(p.Name)
	if l == nil {
		return misfit{}
	}
	if why, would := f.limits(f.live, shape, f.o, p); why != "" {
		return misfit{why: why, would: would}
	}
	if why, would := l.Lacks(shape, f.o.Requirements().Constraint); why != "" {
		return misfit{why: why, would: would}
	}
	if why := l.Away(shape); why != "" {
		return misfit{why: why, would: "the same, when it is back", passing: true}
	}
	return misfit{}
}

// longest is a partition's walltime, or the qos's where that lifts it; 0 = no
// limit.
func (f *fitter) longest(p offer.Pool) time.Duration {
	l := f.live.Partition(p.Name)
	if l == nil {
		return p.MaxTime
	}
	qos := f.QoSName(f.live, l, f.o.QoS)
	if !f.live.Lifts(qos) {
		return p.MaxTime
	}
	return f.live.LongestTime(f.Config.Account, qos, l)
}

// longer names the user's qos that would lift a partition's walltime for a shape
// which fits otherwise.
func (f *fitter) longer(shape offer.Shape, p offer.Pool) string {
	l := f.live.Partition(p.Name)
	if l == nil || f.live.Closed || p.MaxTime == 0 || shape.Walltime <= p.MaxTime {
		return ""
	}
	asked := shape.Walltime
	if shape.Walltime = p.MaxTime; unfit(shape, p, l) != "" {
		return ""
	}
	return f.live.LongerQoS(f.Config.Account, l, asked)
}

// most is the longest walltime of a job on a partition, by all limits; 0 = no
// limit.
func (f *fitter) most(p offer.Pool) time.Duration {
	most := f.longest(p)
	lower := func(d time.Duration) {
		if d > 0 && (most == 0 || d < most) {
			most = d
		}
	}
	if l := f.live.Partition(p.Name); l != nil {
		lower(f.live.LongestTime(f.Config.Account, f.QoSName(f.live, l, f.o.QoS), l))
	}
	if q := f.profiled(p.Name); q != nil && (f.live == nil || f.live.Closed) {
		lower(q.MaxTime)
	}
	return most
}

// cut is the walltime with which a shape would fit a partition; 0 = something else
// keeps it out.
func (f *fitter) cut(p offer.Pool) time.Duration {
	most := f.most(p)
	if most == 0 || f.shape.Walltime <= most {
		return 0
	}
	shorter := f.shape
	shorter.Walltime = most
	if f.misfit(shorter, p).why != "" {
		return 0
	}
	return most
}

// unfit says why the nodes of a partition cannot run a shape.
func unfit(s offer.Shape, p offer.Pool, l *cluster.Partition) string {
	nodes := max(s.Nodes, 1)
	each := func(n int) int { return (n + nodes - 1) / nodes }
	switch {
	case p.MaxTime > 0 && s.Walltime > p.MaxTime:
		return fmt.Sprintf("partition %s ends jobs at %s", p.Name, units.FormatDuration(p.MaxTime))
	case s.GPUs > 0 && p.GPUs == 0:
		return fmt.Sprintf("partition %s has no GPUs", p.Name)
	case each(s.GPUs) > p.GPUs:
		return fmt.Sprintf("a node of partition %s has %d GPUs, but the job requests %d", p.Name, p.GPUs, each(s.GPUs))
	case s.GPUs > 0 && !devices(s, p, l):
		return fmt.Sprintf("partition %s has GPUs of model %s", p.Name, p.GPUModel)
	case p.CPUs > 0 && each(s.CPUs) > p.CPUs:
		return fmt.Sprintf("a node of partition %s has %d cores, but the job requests %d", p.Name, p.CPUs, each(s.CPUs))
	case p.Memory > 0 && (s.Memory+int64(nodes)-1)/int64(nodes) > p.Memory:
		return fmt.Sprintf("a node of partition %s has %s of memory, but the job requests %s", p.Name, units.FormatSize(p.Memory), units.FormatSize((s.Memory+int64(nodes)-1)/int64(nodes)))
	case p.MaxNodes > 0 && nodes > p.MaxNodes:
		return fmt.Sprintf("partition %s gives a job %s at most, but the job requests %d", p.Name, units.Count(p.MaxNodes, "node"), nodes)
	case p.MinNodes > 1 && nodes < p.MinNodes:
		return fmt.Sprintf("partition %s takes jobs of %d nodes or more, but the job requests %d", p.Name, p.MinNodes, nodes)
	}
	return ""
}

// devices reports whether a partition's GPUs are those that are asked for.
func devices(s offer.Shape, p offer.Pool, l *cluster.Partition) bool {
	if s.GPU.Memory > 0 && p.GPUMem > 0 && p.GPUMem < s.GPU.Memory {
		return false
	}
	return len(s.GPU.Models) == 0 || slices.ContainsFunc(s.GPU.Models, func(m string) bool {
		return cluster.SameGPU(m, p.GPUModel) || cluster.SameGPU(m, p.GPUClass) || l.HasGPU(m)
	})
}

func poolNames(all []offer.Pool) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// limits says why a qos or a partition's rules forbid a shape.
func (b *Site) limits(s *cluster.Facts, shape offer.Shape, o Options, p offer.Pool) (why, would string) {
	l := s.Partition(p.Name)
	if l == nil {
		return "", ""
	}
	name := b.QoSName(s, l, o.QoS)
	if why, would := s.Forbids(b.Config.Account, name, o.Requirements().Reservation != "", shape, l); why != "" {
		return why, would
	}
	return s.UnmetOn(l, o.Requirements())
}
