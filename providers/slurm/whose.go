package slurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// whose says of each fact of a partition whether the cluster or the profile says
// so, and what the other one says instead; s is nil where the cluster was not
// asked.
func (b *Site) whose(p offer.Pool, s *cluster.Facts) (out []offer.Fact) {
	known, from := b.profiledPool(p.Name), b.fromProfile()
	live := offer.Pool{}
	if s != nil {
		alone := *b
		alone.Profile, alone.Price = nil, offer.Price{}
		live = alone.merged(s, s.Partition(p.Name))
	}
	for _, r := range readings {
		holds, told, written := r.text(p), r.text(live), r.text(known)
		if s != nil && told == "" && holds == "" {
			holds, told = r.none, r.none // a limit that the cluster says that it has not
		}
		f := offer.Fact{Name: r.name, Value: holds}
		switch {
		case holds == "":
			continue
		case holds == told:
			f.Source, f.Since = "cluster", s.Asked.UTC().Format("15:04 UTC")
			if written != "" && written != told && !r.near(live, known) {
				f.Differs = written + " in " + from.Source
			}
		default:
			f.Source, f.Since = from.Source, from.Since
			if told != "" {
				f.Differs = told + " by the cluster"
			}
		}
		out = append(out, f)
	}
	said := func(name, value string) {
		out = append(out, offer.Fact{Name: name, Value: value, Source: "cluster", Since: s.Asked.UTC().Format("15:04 UTC")})
	}
	if l := s.Partition(p.Name); l != nil && len(l.GPUs) > 0 {
		said(gres, l.Types())
	}
	if s != nil && s.MaxArray > 0 {
		said(jobsOf, number(s.MaxArray))
	}
	return append(out, b.saidAlone(p.Name)...)
}

// A reading is a fact that both may tell.
type reading struct {
	name string
	text func(offer.Pool) string // "" = not told
	none string                  // the meaning when the cluster does not report it
}

var readings = []reading{
	{name: "cores", text: func(p offer.Pool) string { return number(p.CPUs) }},
	{name: memory, text: func(p offer.Pool) string { return size(p.Memory) }},
	{name: "GPUs", text: func(p offer.Pool) string { return number(p.GPUs) }},
	{name: "GPU model", text: func(p offer.Pool) string { return p.GPUModel }},
	{name: "GPU memory", text: func(p offer.Pool) string { return size(p.GPUMem) }},
	{name: "cores or GPUs in all", text: func(p offer.Pool) string { return number(p.Total) }},
	{name: "walltime", text: func(p offer.Pool) string {
		if p.MaxTime == 0 {
			return ""
		}
		return units.FormatDuration(p.MaxTime)
	}, none: "no limit"},
	{name: "nodes of a job", text: func(p offer.Pool) string { return number(p.MaxNodes) }},
	{name: "jobs at once", text: func(p offer.Pool) string { return number(p.MaxJobs) }},
	{name: "jobs queued or running", text: func(p offer.Pool) string { return number(p.MaxSubmit) }},
}

const memory = "memory"

// near reports whether two sizes differ only as a nominal and a measured one do: a
// node of "256GB" has a little less for jobs.
func (r reading) near(live, known offer.Pool) bool {
	return r.name == memory && min(live.Memory, known.Memory) > max(live.Memory, known.Memory)/10*9
}

// saidAlone are the facts of a partition that no cluster tells.
func (b *Site) saidAlone(pool string) (out []offer.Fact) {
	say := func(name, value string) {
		if value != "" {
			f := b.fromProfile()
			f.Name, f.Value = name, value
			out = append(out, f)
		}
	}
	switch known := b.profiledPool(pool); {
	case b.Price.Known:
		out = append(out, offer.Fact{Name: "price", Value: charges(b.Price, ""), Source: "backend block"})
		if !b.Price.InServiceUnits() {
			say("price in service units", charges(offer.Price{UnknownSU: known.Price.UnknownSU, SUPerGPUHour: known.Price.SUPerGPUHour, SUPerNodeHour: known.Price.SUPerNodeHour, SUPerCPUHour: known.Price.SUPerCPUHour}, b.perBilling(pool)))
		}
	case known.Name != "":
		say("price", charges(known.Price, b.perBilling(pool)))
	}
	if b.Profile == nil {
		return out
	}
	known := b.profiledPool(pool)
	if known.Testing {
		say("for tests", cmp.Or(strings.Join(known.StandsFor, ", "), "yes"))
	}
	for _, c := range known.Clocks {
		when := units.FormatDuration(c.After) + " after the last use"
		if !c.At.IsZero() {
			when = "on " + c.At.UTC().Format(time.DateOnly)
		}
		say(c.What, when)
	}
	say("site", b.Profile.Site)
	for _, q := range b.Profile.QoS {
		if len(q.Only) == 0 || slices.Contains(q.Only, pool) {
			say("qos "+q.Name, described(q))
		}
	}
	return out
}

// described is a profile's description of a quality of service.
func described(q QoS) string {
	var parts []string
	if q.Default {
		parts = append(parts, "the default")
	}
	if q.MaxTime > 0 {
		parts = append(parts, "≤"+units.FormatDuration(q.MaxTime))
	}
	if q.MaxSubmit > 0 {
		parts = append(parts, "at most "+units.Count(q.MaxSubmit, "job")+" queued or running")
	}
	if q.Note != "" {
		parts = append(parts, q.Note)
	}
	return strings.Join(parts, "; ")
}

// charges is a price in words.
func charges(p offer.Price, perBilling string) string {
	var parts []string
	for _, r := range []struct{ rate, format string }{
		{p.USDPerGPUHour, "$%s/GPU-hour"}, {p.USDPerHour, "$%s/hour"}, {p.USDPerCPUHour, "$%s/core-hour"}, {p.SUPerGPUHour, "%s SU/GPU-hour"}, {p.SUPerNodeHour, "%s SU/node-hour"},
		{p.SUPerCPUHour, "%s SU/core-hour"}, {perBilling, "%s" + offer.PerBilling},
	} {
		if r.rate != "" {
			parts = append(parts, fmt.Sprintf(r.format, r.rate))
		}
	}
	if p.UnknownSU && perBilling == "" {
		parts = append(parts, "service units not known")
	}
	return strings.Join(parts, " + ")
}

// fromProfile is a fact of the profile's, without name and value.
func (b *Site) fromProfile() offer.Fact {
	if b.Profile == nil {
		return offer.Fact{}
	}
	return offer.Fact{Source: "profile " + b.Profile.Name, Since: b.Profile.Verified}
}

// profiledPool is a partition as the profile has it; none if it has it not.
func (b *Site) profiledPool(name string) offer.Pool {
	if b.Profile != nil {
		if i := slices.IndexFunc(b.Profile.Pools, func(p offer.Pool) bool { return p.Name == name }); i >= 0 {
			return b.Profile.Pools[i]
		}
	}
	return offer.Pool{}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return units.FormatSize(n)
}
