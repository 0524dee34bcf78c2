package slurm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Type is Slurm, for package batch.
type Type struct {
	// Runner runs Slurm's commands; nil = on this machine.
	Runner command.Runner
	// Keep is the folder for limits that are used while the cluster's accounting
	// is away; default muster/slurm in the user's cache, none with a Runner.
	Keep string
}

var (
	_ scheduler.Type     = Type{}
	_ scheduler.Site     = (*Site)(nil)
	_ scheduler.Profiled = (*Site)(nil)
)

// Name is the type of its backends.
func (Type) Name() string { return "slurm" }

// schema says what the backend block and a job's options may hold.
func (Type) Schema() offer.Schema { return schema() }

// Node is Slurm on compute nodes.
func (Type) Node() scheduler.Node { return cluster.Node{} }

// Terms are the requests of jobs to the queue; their own options come before
// the backend block.
func (Type) Terms(config, options json.RawMessage) offer.Terms {
	var c settings
	_ = json.Unmarshal(config, &c) // Configure reports its errors
	o, _ := parseOptions(options)
	w := cluster.Notation{}.Words()
	return offer.Terms{QoS: cmp.Or(o.QoS, c.QoS), Mail: o.Recipient(), Pool: w.Pool, Submit: w.Submit}
}

// Open is the cluster of a backend. A cluster that was configured before keeps its
// commands and cached facts.
func (t Type) Open(o scheduler.Opening) (scheduler.Site, error) {
	s, err := New(o.Backend)
	if err != nil {
		return nil, err
	}
	if err := command.CheckOwn(s.Config.Commands, cluster.Programs); err != nil {
		return nil, providers.Errorf(providers.Invalid, "Configuration of %s: %v", o.Name, err)
	}
	if old, ok := o.Before.(*Site); ok && maps.Equal(old.Config.Commands, s.Config.Commands) {
		s.Cluster, s.facts = old.Cluster, old.facts
		return s, nil
	}
	runner, keep := t.Runner, t.Keep
	if runner == nil {
		runner = cluster.Here{Environ: o.Environ, Own: s.Config.Commands}
		if dir, err := os.UserCacheDir(); err == nil && keep == "" {
			keep = filepath.Join(dir, "muster", "slurm")
		}
	}
	s.Cluster = cluster.New(runner, scheduler.User())
	s.Cluster.Keep = keep
	return s, nil
}

// Scheduler is the cluster's commands.
func (b *Site) Scheduler() scheduler.Scheduler { return b.Cluster }

// settings are the part of the backend block that package batch uses.
func (b *Site) Settings() scheduler.Settings {
	return scheduler.Settings{InstallDir: b.Config.InstallDir, Rate: b.Config.Rate, Keep: b.Cluster.Keep}
}

// Check refuses a job that sbatch cannot be given.
func (b *Site) Check(j *providers.Job) *providers.Error {
	o, err := parseOptions(j.Options)
	if err != nil {
		return providers.Errorf(providers.Invalid, "options of %s cannot be read: %v", j.Address, err)
	}
	if bad := ownOption(o.Extra); bad != "" {
		return providers.Errorf(providers.Invalid, "options.extra of %s holds %s", j.Address, bad)
	}
	return nil
}

// Script is the text for sbatch.
func (b *Site) Script(r scheduler.Request) (string, error) {
	text, err := b.Config.request(r.Job, b.Last().Partition(r.Pool))
	if err != nil {
		return "", err
	}
	text.Request = r
	return text.text()
}

// LongestArray is how many elements one array may have.
func (b *Site) LongestArray() int {
	s := b.Last()
	if s == nil || s.MaxArray <= 0 {
		return cluster.StandardArray
	}
	return s.MaxArray
}

// read are the options of a job, which were read when it came; nil = none.
func read(like *providers.Job) (o Options) {
	if like != nil {
		o, _ = parseOptions(like.Options)
	}
	return o
}

// Bounds are the maxima of a retry on a partition, and the billing of one job.
func (b *Site) Bounds(pool string, like *providers.Job) scheduler.Bounds {
	s, o := b.Last(), read(like)
	p := s.Partition(pool)
	if p == nil {
		return scheduler.Bounds{Scratch: b.scratch(pool)}
	}
	return scheduler.Bounds{Memory: p.Memory, Walltime: s.LongestTime(b.Config.Account, b.QoSName(s, p, o.QoS), p), Billing: s.Billing(p, o.Given(p, like.Shape)), Requeue: s.RequeueExits, Scratch: b.scratch(pool)}
}

// Limits are the limits on submitted jobs that apply to jobs like one.
func (b *Site) Limits(ctx context.Context, pool string, like *providers.Job) ([]scheduler.Limit, error) {
	s, err := b.factsForLimits(ctx)
	if err != nil {
		return nil, err
	}
	return b.submitLimits(s, pool, like), nil
}

func (b *Site) submitLimits(s *cluster.Facts, pool string, like *providers.Job) []scheduler.Limit {
	l := s.Partition(pool)
	if l == nil {
		return nil
	}
	return s.SubmitLimits(b.Config.Account, b.QoSName(s, l, read(like).QoS), l)
}

// Refused is why Slurm takes no more jobs like one, with the limits that are known
// and their numbers.
func (b *Site) Refused(pool string, like *providers.Job, why *providers.Error) string {
	text := why.Summary
	if strings.Contains(text, "lets you have") {
		return text
	}
	for _, l := range b.submitLimits(b.Last(), pool, like) {
		if strings.Contains(why.Summary, "(QOS") && !strings.HasPrefix(l.Who, "qos ") || strings.Contains(why.Summary, "(Assoc") && !strings.HasPrefix(l.Who, "account ") {
			continue
		}
		text += fmt.Sprintf("; %s lets you have %d jobs submitted", l.Who, l.Most)
	}
	return text
}

// Processors are those of a partition's nodes.
func (b *Site) Processors(pool string) []string {
	if l := b.Last().Partition(pool); l != nil {
		return l.Archs
	}
	return nil
}
