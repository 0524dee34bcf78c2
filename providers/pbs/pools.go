package pbs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// Pools are the queues: the profile's facts, and over them the server's limits. If
// the server cannot be asked, they are the profile's.
func (b *Site) Pools(ctx context.Context) ([]offer.Pool, error) {
	f, err := b.Facts(ctx, facts.Fresh)
	if err != nil {
		if b.Profile == nil {
			return nil, err
		}
		return b.Known(err.Error()), nil
	}
	var all []offer.Pool
	for _, q := range b.ordered(f.Queues) {
		if q.Inner || !q.Yours {
			continue
		}
		p := b.merged(f, q)
		p.Facts = b.whose(p, f)
		all = append(all, p)
	}
	all = b.chosen(all)
	if len(all) == 0 {
		all = append(all, b.none(f))
	}
	b.forTests(all)
	b.account.Fill(ctx, all, b.Cluster.Site)
	return all, nil
}

// ordered are queues in the order in which the profile has them, which is that of
// preference, and then the others as the server lists them.
func (b *Site) ordered(queues []cluster.Queue) []cluster.Queue {
	if b.Profile == nil {
		return queues
	}
	place := func(q cluster.Queue) int {
		i := slices.IndexFunc(b.Profile.Pools, func(p offer.Pool) bool { return p.Name == q.Name })
		if i < 0 {
			return len(b.Profile.Pools)
		}
		return i
	}
	return slices.SortedStableFunc(slices.Values(queues), func(x, y cluster.Queue) int { return place(x) - place(y) })
}

// Known are the profile's queues; why is the reason that the server was not asked.
func (b *Site) Known(why string) []offer.Pool {
	if b.Profile == nil {
		return nil
	}
	all := slices.Clone(b.Profile.Pools)
	for i := range all {
		all[i].Idle, all[i].Wait = -1, -1
		all[i].Price = b.price(all[i].Price)
		all[i].Facts = b.whose(all[i], nil)
		all[i].Notes = slices.Clone(all[i].Notes)
		if why != "" {
			all[i].Notes = append(all[i].Notes, "the server could not be asked: "+why)
		}
	}
	all = b.chosen(all)
	b.account.Fill(context.Background(), all, nil)
	return all
}

// known is a queue as the profile has it; none if it does not.
func (b *Site) known(name string) offer.Pool {
	if b.Profile != nil {
		if i := slices.IndexFunc(b.Profile.Pools, func(p offer.Pool) bool { return p.Name == name }); i >= 0 {
			return b.Profile.Pools[i]
		}
	}
	return offer.Pool{Backend: b.Name, Name: name, Kind: offer.QueuePool, Word: "queue", Idle: -1, Wait: -1, MinNodes: 1, Price: offer.Price{Known: true, UnknownSU: b.Profile != nil}}
}

// price is a queue's price, the backend block's where it states one.
func (b *Site) price(known offer.Price) offer.Price {
	if !b.Price.Known {
		return known
	}
	p := b.Price
	if !p.InServiceUnits() {
		p.UnknownSU, p.SUPerGPUHour, p.SUPerNodeHour, p.SUPerCPUHour = known.UnknownSU, known.SUPerGPUHour, known.SUPerNodeHour, known.SUPerCPUHour
	}
	return p
}

// merged is one queue, the server's limits over those of the profile.
func (b *Site) merged(f *cluster.Facts, q cluster.Queue) offer.Pool {
	p, q := b.known(q.Name), f.Widest(q)
	p.Source = "live"
	if p.Verified != "" {
		p.Source = "live, and profile " + b.Profile.Name
	}
	p.Price = b.price(p.Price)
	p.Arrays, p.Wait, p.Notes = true, -1, slices.Clone(p.Notes)
	if home, err := os.UserHomeDir(); err == nil {
		p.Home = home // where a workdir's ~ is
	}
	if q.MaxTime > 0 {
		p.MaxTime = q.MaxTime
	}
	p.MinNodes = max(p.MinNodes, q.MinNodes)
	if q.MaxNodes > 0 {
		p.MaxNodes = q.MaxNodes
	}
	if q.MaxRun > 0 {
		p.MaxJobs = q.MaxRun
	}
	if q.MaxQueue > 0 {
		p.MaxSubmit, p.SubmitBy = q.MaxQueue, q.QueueBy
	}
	b.nodes(f, q, &p)
	p.Most, p.MostBy = together(q.Most, p), q.MostBy
	if !q.Enabled {
		p.Notes, p.Idle = append(p.Notes, "the queue takes no jobs now"), 0
	} else if !q.Started {
		p.Notes, p.Idle = append(p.Notes, "the queue starts no jobs now"), 0
	} else if f.Stopped {
		p.Notes, p.Idle = append(p.Notes, cluster.SchedulingOff), 0
	}
	return p
}

// together is the part of a queue that our jobs may hold under its limits on
// cores, GPUs and nodes.
func together(most cluster.Amounts, p offer.Pool) offer.Room {
	r := offer.Room{Devices: most.GPUs, Cores: most.CPUs}
	least := func(have *int, n int) {
		if n > 0 && (*have == 0 || n < *have) {
			*have = n
		}
	}
	least(&r.Devices, most.Nodes*p.GPUs)
	least(&r.Cores, most.Nodes*p.CPUs)
	return r
}

// nodes puts the resources of a queue's nodes, and the free part of them, into a
// pool.
func (b *Site) nodes(f *cluster.Facts, q cluster.Queue, p *offer.Pool) {
	list := f.For(q.Name)
	if len(list) == 0 {
		return
	}
	whole, cpus, gpus, idleCPUs, idleGPUs, free, up := 0, 0, 0, 0, 0, 0, 0
	for _, n := range list {
		p.CPUs, p.GPUs, p.Memory = max(p.CPUs, n.CPUs), max(p.GPUs, n.GPUs), max(p.Memory, n.Memory)
		cpus, gpus, whole = cpus+n.CPUs, gpus+n.GPUs, whole+1
		if n.Up {
			up++
			idleCPUs, idleGPUs = idleCPUs+n.CPUs-n.UsedCPUs, idleGPUs+n.GPUs-n.UsedGPUs
		}
		if n.Free && n.UsedCPUs == 0 {
			free++
		}
	}
	if p.MaxNodes == 0 || p.MaxNodes > whole {
		p.MaxNodes = whole
	}
	if up == 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("no node is up, of %d (`pbsnodes -l` lists them)", whole))
	}
	if p.MinNodes > whole {
		p.Notes = append(p.Notes, fmt.Sprintf("takes jobs of %d nodes or more, and the server has %s for it", p.MinNodes, units.Count(whole, "node")))
	}
	switch {
	case p.WholeNode:
		p.Idle, p.Total = free*max(p.GPUs, 1), whole*max(p.GPUs, 1)
		if p.GPUs == 0 {
			p.Idle, p.Total = free*p.CPUs, whole*p.CPUs
		}
	case gpus > 0:
		p.Idle, p.Total = idleGPUs, gpus
	default:
		p.Idle, p.Total = idleCPUs, cpus
	}
}

// chosen are the queues that the backend block allows, in its order; those that the
// site opens on request only if it names them.
func (b *Site) chosen(all []offer.Pool) (out []offer.Pool) {
	for _, p := range all {
		named := slices.Contains(b.Config.Queues, p.Name)
		if slices.Contains(b.Config.Exclude, p.Name) || len(b.Config.Queues) > 0 && !named {
			continue
		}
		p.Scratch, p.Pack = b.scratch(p), scheduler.Packs(p, b.Config.Pack)
		out = append(out, p)
	}
	if order := b.Config.Queues; len(order) > 0 {
		slices.SortStableFunc(out, func(x, y offer.Pool) int { return slices.Index(order, x.Name) - slices.Index(order, y.Name) })
	}
	return out
}

// scratch is the folder on the disks of a queue's nodes.
func (b *Site) scratch(p offer.Pool) string { return cmp.Or(b.Config.Scratch, p.Scratch) }

// none is the pool of a backend whose block allows no queue; its note says why
// nothing fits.
func (b *Site) none(f *cluster.Facts) offer.Pool {
	var names []string
	for _, q := range f.Queues {
		names = append(names, q.Name)
	}
	return offer.Pool{Backend: b.Name, Wait: -1, Source: "live", Notes: []string{fmt.Sprintf("the backend block leaves no queue; the server has %s", strings.Join(names, ", "))}}
}

// forTests finds the queues for smokes where no profile names them: debug, beside
// others.
func (b *Site) forTests(all []offer.Pool) {
	named := func(name string) bool { return strings.Contains(name, "debug") || strings.Contains(name, "test") }
	for i := range all {
		p := &all[i]
		if b.known(p.Name).Verified != "" || !named(p.Name) {
			continue
		}
		for _, other := range all {
			if !named(other.Name) && other.GPUModel == p.GPUModel {
				p.StandsFor = append(p.StandsFor, other.Name)
			}
		}
		p.Testing = len(p.StandsFor) > 0
	}
}

// whose says whose word the facts of a queue are.
func (b *Site) whose(p offer.Pool, f *cluster.Facts) (out []offer.Fact) {
	known := b.known(p.Name)
	say := func(name, value, profiled string) {
		fact := offer.Fact{Name: name, Value: value}
		switch {
		case value == "" || value == "0":
			return
		case value == profiled:
			fact.Source, fact.Since = "profile "+b.Profile.Name, b.Profile.Verified
		default:
			fact.Source, fact.Since = "cluster", f.Asked.UTC().Format("15:04 UTC")
			if profiled != "" && profiled != "0" {
				fact.Differs = profiled + " in profile " + b.Profile.Name
			}
		}
		out = append(out, fact)
	}
	say("walltime", duration(p.MaxTime), duration(known.MaxTime))
	say("nodes of a job", nodes(p), nodes(known))
	say("cores", strconv.Itoa(p.CPUs), strconv.Itoa(known.CPUs))
	say("memory", bytes(p.Memory), bytes(known.Memory))
	say("GPUs", strconv.Itoa(p.GPUs), strconv.Itoa(known.GPUs))
	say("GPU model", p.GPUModel, known.GPUModel)
	say("jobs at once", strconv.Itoa(p.MaxJobs), strconv.Itoa(known.MaxJobs))
	say("jobs queued or running", strconv.Itoa(p.MaxSubmit), strconv.Itoa(known.MaxSubmit))
	if f != nil && f.MaxArray > 0 {
		say(arrayFact, strconv.Itoa(f.MaxArray), "")
	}
	if b.Profile != nil {
		say("site", b.Profile.Site, b.Profile.Site)
	}
	return out
}

func duration(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return units.FormatDuration(d)
}

// nodes is how many nodes a job may have, "10 to 496".
func nodes(p offer.Pool) string {
	switch {
	case p.MinNodes > 1 && p.MaxNodes >= p.MinNodes:
		return fmt.Sprintf("%d to %d", p.MinNodes, p.MaxNodes)
	case p.MinNodes > 1:
		return fmt.Sprintf("%d or more", p.MinNodes)
	}
	return strconv.Itoa(p.MaxNodes)
}

func bytes(n int64) string {
	if n <= 0 {
		return ""
	}
	return units.FormatSize(n)
}
