package slurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Pools are the partitions: the profile's facts, and over them the cluster's. If
// the cluster cannot be asked, they are the profile's.
func (b *Site) Pools(ctx context.Context) ([]offer.Pool, error) {
	live, err := b.Facts(ctx)
	if err != nil && b.Profile == nil {
		return nil, err
	}
	var all []offer.Pool
	if err != nil {
		all = b.known(err.Error())
	} else {
		for i := range live.Partitions {
			all = append(all, b.pool(live, &live.Partitions[i]))
		}
		standard := func(p offer.Pool) int { // where Slurm sends jobs that name no partition
			if live.Partition(p.Name).IsDefault {
				return 0
			}
			return 1
		}
		slices.SortStableFunc(all, func(x, y offer.Pool) int { return standard(x) - standard(y) })
	}
	all = b.chosen(all)
	if err == nil {
		forTests(all)
	}
	if err == nil && len(all) == 0 {
		all = append(all, b.none(live))
	}
	run := b.Cluster.Site
	if err != nil {
		run = nil
	}
	b.account.Fill(ctx, all, run)
	return all, nil
}

// known are the profile's partitions; why is the reason that the cluster was not
// asked.
func (b *Site) known(why string) []offer.Pool {
	all := slices.Clone(b.Profile.Pools)
	for i := range all {
		all[i].Idle, all[i].Wait = -1, -1
		if q := (&fitter{Site: b}).profiled(all[i].Name); q != nil {
			if all[i].MaxSubmit = q.MaxSubmit; q.MaxSubmit > 0 {
				all[i].SubmitBy = "qos " + q.Name
			}
		}
		all[i].Facts = b.whose(all[i], nil)
		all[i].Notes = append(slices.Clone(all[i].Notes), "the cluster could not be asked: "+why)
		if why := b.endsEarlier(nil, all[i]); why != "" {
			all[i].Notes = append(all[i].Notes, why)
		}
		all[i].Price = stated(b.Price, all[i].Price)
	}
	return all
}

// Known are the profile's partitions.
func (b *Site) Known(why string) []offer.Pool {
	if b.Profile == nil {
		return nil
	}
	all := b.chosen(b.known(why))
	b.account.Fill(context.Background(), all, nil)
	return all
}

// KnownQuotes are quotes by the profile.
func (b *Site) KnownQuotes(shapes []offer.Shape) (out []offer.Quote, err error) {
	pools := b.Known("")
	for i, shape := range shapes {
		o, err := optionsOf(shape.Options)
		if err != nil {
			return nil, err
		}
		f := b.fitter(nil, shape, o, pools)
		for _, p := range pools {
			q := f.quote(p)
			q.Shape = i
			out = append(out, q)
		}
	}
	return out, nil
}

// chosen are the partitions that the backend block allows, in its order.
func (b *Site) chosen(all []offer.Pool) (out []offer.Pool) {
	for _, p := range all {
		if slices.Contains(b.Config.Exclude, p.Name) || len(b.Config.Partitions) > 0 && !slices.Contains(b.Config.Partitions, p.Name) {
			continue
		}
		p.Scratch, p.Pack = b.scratch(p.Name), scheduler.Packs(p, b.Config.Pack)
		out = append(out, p)
	}
	if order := b.Config.Partitions; len(order) > 0 {
		slices.SortStableFunc(out, func(x, y offer.Pool) int { return slices.Index(order, x.Name) - slices.Index(order, y.Name) })
	}
	return out
}

// scratch is the folder on the disks of a partition's nodes.
func (b *Site) scratch(partition string) string {
	return cmp.Or(b.Config.Scratch, b.profiledPool(partition).Scratch)
}

// none is the pool of a backend whose block allows no partition; its note says why
// nothing fits.
func (b *Site) none(live *cluster.Facts) offer.Pool {
	why := "the backend block leaves no partition"
	for _, name := range b.Config.Partitions {
		if live.Partition(name) == nil {
			why = "the backend block leaves no partition: " + noPartition(name, live)
			break
		}
	}
	return offer.Pool{Backend: b.Name, Wait: -1, Source: live.Source(), Notes: []string{why}}
}

// pool is one partition, with whose word each fact is.
func (b *Site) pool(s *cluster.Facts, l *cluster.Partition) offer.Pool {
	p := b.merged(s, l)
	p.Facts = b.whose(p, s)
	return p
}

// merged is one partition, the live facts over those of the profile.
func (b *Site) merged(s *cluster.Facts, l *cluster.Partition) offer.Pool {
	p := offer.Pool{Backend: b.Name, Name: l.Name, Kind: offer.QueuePool, Word: "partition", Price: b.unlisted(), Source: s.Source()}
	if known := b.profiledPool(l.Name); known.Name != "" {
		p = known
		p.Source = s.Source() + ", and profile " + b.Profile.Name
	}
	p.Price = stated(b.Price, p.Price)
	p.Arrays, p.Wait, p.MinNodes = true, -1, max(l.MinNodes, 1)
	if home, err := os.UserHomeDir(); err == nil {
		p.Home = home // where a workdir's ~ is
	}
	p.CPUs, p.Memory, p.MaxTime = l.CPUs, l.Memory, l.MaxTime
	if p.MaxNodes = l.Nodes; l.MaxNodes > 0 {
		p.MaxNodes = min(l.MaxNodes, l.Nodes)
	}
	p.Idle, p.Total = l.IdleCPUs, l.AllCPUs
	if l.AllGPUs > 0 {
		p.Idle, p.Total, p.GPUs = l.IdleGPUs, l.AllGPUs, 0
		var models []string
		for _, model := range slices.Sorted(maps.Keys(l.GPUs)) {
			p.GPUs = max(p.GPUs, l.GPUs[model])
			models = append(models, modelName(model))
		}
		if p.GPUModel == "" || len(models) > 1 {
			p.GPUModel = strings.Join(models, " or ")
		}
		if p.GPUClass == "" {
			p.GPUClass = p.GPUModel
		}
	}
	p.MaxJobs, p.MaxSubmit, p.SubmitBy = b.jobs(s, l, "")
	p.Most, p.MostBy = s.Most(b.Config.Account, b.QoSName(s, l, ""), l)
	programs.Note(&p, l.Archs)
	if s.Old() {
		p.Notes = append(slices.Clone(p.Notes), "Slurm "+s.Version+" is older than any version that muster is tested with (20.11): facts that it does not report are unknown")
	}
	if n, of := l.Asleep(); n > 0 {
		note := fmt.Sprintf("%d of its %d nodes are powered down until a job needs them", n, of)
		if d := s.ResumeTime(); d > 0 {
			note += ", and may take " + units.FormatDuration(d) + " to come up"
		}
		p.Notes = append(slices.Clone(p.Notes), note)
	}
	if why := b.endsEarlier(s, p); why != "" {
		p.Notes = append(slices.Clone(p.Notes), why)
	}
	if !l.Up {
		p.Notes = append(slices.Clone(p.Notes), "the partition is closed now")
		p.Idle = 0
	}
	return p
}

// forTests finds the partitions for smokes, and the partitions with the same
// devices that they test. A name means that only where there are such others: many
// small clusters call their only partition debug, as in the slurm.conf that comes
// with Slurm.
func forTests(all []offer.Pool) {
	for i := range all {
		p := &all[i]
		named := meantForTests(p.Name)
		if !p.Testing && !named || len(p.StandsFor) > 0 {
			continue
		}
		for _, other := range all {
			if !other.Testing && !meantForTests(other.Name) && other.GPUModel == p.GPUModel {
				p.StandsFor = append(p.StandsFor, other.Name)
			}
		}
		p.Testing = p.Testing || len(p.StandsFor) > 0
	}
}

func meantForTests(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "test") || strings.Contains(name, "debug")
}

// modelName is a GPU's name as the field writes it, from a site's "a100".
func modelName(gres string) string { return strings.ToUpper(gres) }
