// Package pbs is PBS Pro and OpenPBS for package batch: a cluster's pools and
// limits, from its profile and its server, and the script for qsub, which is meant
// for people to read. Package cluster runs PBS's commands.
package pbs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// Type is PBS, for package batch.
type Type struct {
	// Runner runs PBS's commands; nil = on this machine.
	Runner command.Runner
}

var (
	_ scheduler.Type     = Type{}
	_ scheduler.Site     = (*Site)(nil)
	_ scheduler.Profiled = (*Site)(nil)
)

// A Site is the cluster of one backend.
type Site struct {
	providers.Backend
	Config  Settings
	Profile *Profile // nil = the backend block names none
	Cluster *cluster.Commands
	facts   *facts.Cache[cluster.Facts]
	account *facts.Account
}

// Settings are the backend block.
type Settings struct {
	scheduler.Block
	Queues      []string `json:"queues"`
	Exclude     []string `json:"exclude_queues"`
	Filesystems string   `json:"filesystems"`
	Place       string   `json:"place"`
}

// Name is the type of its backends.
func (Type) Name() string { return "pbs" }

// schema says what the backend block and a job's options may hold.
func (Type) Schema() offer.Schema { return schema() }

// Node is PBS on compute nodes.
func (Type) Node() scheduler.Node { return cluster.Node{} }

// Terms are the requests of jobs to the queue.
func (Type) Terms(_, options json.RawMessage) offer.Terms {
	o, _ := parseOptions(options)
	w := cluster.Notation{}.Words()
	return offer.Terms{Mail: o.Mail, Pool: w.Pool, Submit: w.Submit}
}

// Open is the cluster of a backend. A cluster that was configured before keeps its
// commands and cached facts.
func (t Type) Open(o scheduler.Opening) (scheduler.Site, error) {
	s := &Site{Backend: o.Backend, facts: &facts.Cache[cluster.Facts]{}}
	err := writable(o.Workdir)
	if err != nil {
		return nil, err
	}
	if err = scheduler.ReadBlock(o.Backend, &s.Config); err != nil {
		return nil, err
	}
	if s.Profile, err = profiles.Named(o.Backend); err != nil {
		return nil, err
	}
	var balance []string
	if s.Profile != nil {
		balance = s.Profile.Balance
	}
	s.account = s.Config.Funds(balance)
	if err := command.CheckOwn(s.Config.Commands, cluster.Programs); err != nil {
		return nil, providers.Errorf(providers.Invalid, "Configuration of %s: %v", o.Name, err)
	}
	if old, ok := o.Before.(*Site); ok && maps.Equal(old.Config.Commands, s.Config.Commands) {
		s.Cluster, s.facts = old.Cluster, old.facts
		return s, nil
	}
	runner := t.Runner
	if runner == nil {
		runner = cluster.Here{Environ: o.Environ, Own: s.Config.Commands}
	}
	s.Cluster = cluster.New(runner, scheduler.User())
	return s, nil
}

// Facts are those of the cluster, of at most an age.
func (b *Site) Facts(ctx context.Context, age time.Duration) (*cluster.Facts, error) {
	return b.facts.Within(ctx, age, b.Cluster.Facts)
}

// last are the last facts; nil = the cluster was not asked, or has not answered.
func (b *Site) last() *cluster.Facts { return b.facts.Last() }

// Scheduler is the cluster's commands.
func (b *Site) Scheduler() scheduler.Scheduler { return b.Cluster }

// Settings are the part of the backend block that package batch uses.
func (b *Site) Settings() scheduler.Settings {
	return scheduler.Settings{InstallDir: b.Config.InstallDir, Rate: b.Config.Rate}
}

// Check refuses a job that qsub cannot be given.
func (b *Site) Check(j *providers.Job) *providers.Error {
	o, err := parseOptions(j.Options)
	if err == nil {
		err = o.wrong()
	}
	if err != nil {
		return providers.Errorf(providers.Invalid, "options of %s: %v", j.Address, err)
	}
	return nil
}

// standardArray is max_array_size as PBS ships.
const standardArray = 10_000

// arrayFact is the fact of a pool that a script depends on.
const arrayFact = "jobs of an array"

// Recall takes a plan's facts about a pool for the cluster's answer.
func (b *Site) Recall(p offer.Pool) {
	f := &cluster.Facts{Queues: []cluster.Queue{{Name: p.Name, Enabled: true, Yours: true}}}
	if i := slices.IndexFunc(p.Facts, func(f offer.Fact) bool { return f.Name == arrayFact }); i >= 0 {
		fmt.Sscan(p.Facts[i].Value, &f.MaxArray)
	}
	b.facts.Recall(f)
}

// LongestArray is how many elements one array may have.
func (b *Site) LongestArray() int {
	if f := b.last(); f != nil && f.MaxArray > 0 {
		return f.MaxArray
	}
	return standardArray
}

// Bounds are the maxima of a retry in a queue.
func (b *Site) Bounds(pool string, _ *providers.Job) scheduler.Bounds {
	p := b.known(pool)
	if q := b.last().Queue(pool); q != nil {
		p = b.merged(b.last(), *q)
	}
	return scheduler.Bounds{Memory: p.Memory, Walltime: p.MaxTime, Scratch: b.scratch(p)}
}

// Limits are the limits on submitted jobs that apply to a queue.
func (b *Site) Limits(ctx context.Context, pool string, _ *providers.Job) ([]scheduler.Limit, error) {
	f, err := b.Facts(ctx, facts.FreshForLimits)
	if err != nil {
		return nil, err
	}
	q := f.Queue(pool)
	if q == nil {
		return nil, nil
	}
	p := b.merged(f, *q)
	if p.MaxSubmit == 0 {
		return nil, nil
	}
	l := scheduler.Limit{Who: p.SubmitBy, Most: p.MaxSubmit}
	if strings.HasPrefix(p.SubmitBy, "queue ") && len(q.Routes) == 0 {
		l.Pool = pool
	}
	return []scheduler.Limit{l}, nil
}

// Refused is why PBS takes no more jobs.
func (b *Site) Refused(_ string, _ *providers.Job, why *providers.Error) string {
	if why.Detail == "" {
		return why.Summary
	}
	return why.Summary + " (" + why.Detail + ")"
}

// Processors: pbsnodes says "linux" of all.
func (b *Site) Processors(string) []string { return nil }
