package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers/offer"
)

// site is the form of the file. Values with a unit, a range or a known name stay
// expressions, so that an error has their line.
type site struct {
	Site       hcl.Expression `hcl:"site"`
	Verified   hcl.Expression `hcl:"verified"`
	Clocks     []clock        `hcl:"clock,block"`
	Partitions []partition    `hcl:"partition,block"`
	QoS        []qos          `hcl:"qos,block"`
}

type clock struct {
	What  string         `hcl:"what,label"`
	After hcl.Expression `hcl:"after,optional"`
	At    hcl.Expression `hcl:"at,optional"`
	Range hcl.Range      `hcl:",def_range"`
}

type partition struct {
	Name      string         `hcl:"name,label"`
	At        hcl.Range      `hcl:",def_range"`
	Nodes     hcl.Expression `hcl:"nodes,optional"`
	CPUs      hcl.Expression `hcl:"cpus,optional"`
	Memory    hcl.Expression `hcl:"memory,optional"`
	MaxTime   hcl.Expression `hcl:"max_time"`
	MaxNodes  hcl.Expression `hcl:"max_nodes,optional"`
	Testing   bool           `hcl:"testing,optional"`
	StandsFor hcl.Expression `hcl:"stands_for,optional"`
	Notes     []string       `hcl:"notes,optional"`
	GPU       *device        `hcl:"gpu,block"`
	Price     *price         `hcl:"price,block"`
}

type device struct {
	Model  string         `hcl:"model,label"`
	Count  hcl.Expression `hcl:"count"`
	Memory hcl.Expression `hcl:"memory,optional"`
	Class  string         `hcl:"class,optional"`
	Total  hcl.Expression `hcl:"total,optional"`
}

type price struct {
	PerGPUHour  hcl.Expression `hcl:"service_units_per_gpu_hour,optional"`
	PerNodeHour hcl.Expression `hcl:"service_units_per_node_hour,optional"`
	PerCPUHour  hcl.Expression `hcl:"service_units_per_cpu_hour,optional"`
	// PerBillingHour is for each unit of Slurm's billing TRES.
	PerBillingHour hcl.Expression `hcl:"service_units_per_billing_hour,optional"`
	WholeNode      bool           `hcl:"whole_node,optional"`
}

type qos struct {
	Name      string         `hcl:"name,label"`
	At        hcl.Range      `hcl:",def_range"`
	MaxTime   hcl.Expression `hcl:"max_time,optional"`
	MaxSubmit hcl.Expression `hcl:"max_submit,optional"`
	Only      hcl.Expression `hcl:"only,optional"`
	Default   bool           `hcl:"default,optional"`
	Note      string         `hcl:"note,optional"`
}

// Parse reads a profile's source; the form is explained in TEMPLATE.hcl. The
// error names every mistake, a line each, with its file and line.
func Parse(name, backend string, src []byte) (Profile, error) {
	r := &reader{}
	var s site
	file, diags := hclsyntax.ParseConfig(src, strings.TrimSuffix(name, ".hcl")+".hcl", hcl.InitialPos)
	if r.found(diags); !diags.HasErrors() {
		r.found(gohcl.DecodeBody(file.Body, nil, &s))
	}
	if len(r.wrong) > 0 {
		return Profile{}, r.err(name)
	}
	r.must("site", s.Site, `site = "University, Cluster"`)
	r.must("verified", s.Verified, `verified = "2026-05", the month in which the facts were compared with the site`)
	p := Profile{Name: name, Site: r.text("site", s.Site), Verified: r.month("verified", s.Verified)}
	var names []string
	for _, b := range s.Partitions {
		r.once("partition", b.Name, names, b.At)
		names = append(names, b.Name)
	}
	var clocks []offer.Clock
	for _, c := range s.Clocks {
		clocks = append(clocks, r.clock(c))
	}
	for _, b := range s.Partitions {
		pool := r.pool(&p, b, names)
		pool.Backend = backend
		pool.Clocks = clocks
		p.Pools = append(p.Pools, pool)
	}
	var pools []*offer.Pool
	for i := range p.Pools {
		pools = append(pools, &p.Pools[i])
	}
	offer.Unrated(pools)
	for _, b := range s.QoS {
		p.QoS = append(p.QoS, r.qos(&p, b, names))
	}
	if len(r.wrong) > 0 {
		return Profile{}, r.err(name)
	}
	return p, nil
}

// clock is a time since the last use, or a date.
func (r *reader) clock(c clock) offer.Clock {
	in := func(name string) string { return fmt.Sprintf("clock %q: %s", c.What, name) }
	out := offer.Clock{What: c.What, After: r.duration(in("after"), c.After), At: r.date(in("at"), c.At)}
	if absent(c.After) == absent(c.At) {
		r.wrongAt(c.Range, "clock %q has one of the two: add after = \"90d\", since the last use, or at = \"2026-11-28\", a date", c.What)
	}
	return out
}

func (r *reader) pool(to *Profile, b partition, names []string) offer.Pool {
	in := func(name string) string { return fmt.Sprintf("partition %q: %s", b.Name, name) }
	p := offer.Pool{
		Name: b.Name, Kind: offer.QueuePool, Word: "partition", CPUs: r.count(in("cpus"), b.CPUs), MaxNodes: r.count(in("max_nodes"), b.MaxNodes), MinNodes: 1,
		Testing: b.Testing, StandsFor: r.names(in("stands_for"), b.StandsFor, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == b.Name })), Arrays: true, Idle: -1, Wait: -1,
		Verified: to.Verified, Source: "profile " + to.Name, Notes: b.Notes, Memory: r.size(in("memory"), b.Memory), MaxTime: r.duration(in("max_time"), b.MaxTime),
		Price: offer.Price{Known: true}, // schedulers cost no money unless a site says so
	}
	r.must(in("max_time"), b.MaxTime, `max_time = "24h", the longest walltime that it takes`)
	nodes := r.count(in("nodes"), b.Nodes)
	p.Total = nodes * p.CPUs
	if nodes > 0 && p.MaxNodes > nodes {
		r.wrongAt(b.MaxNodes.Range(), "%s is %d, and the partition has %d nodes: write at most %d, or leave it out", in("max_nodes"), p.MaxNodes, nodes, nodes)
	}
	if p.MaxNodes == 0 {
		p.MaxNodes = nodes
	}
	if g := b.GPU; g != nil {
		r.must(in("gpu: count"), g.Count, "count = 4, how many one node has")
		p.GPUs, p.GPUModel, p.GPUClass, p.Total = r.count(in("gpu: count"), g.Count), g.Model, g.Class, r.count(in("gpu: total"), g.Total)
		p.GPUMem = r.size(in("gpu: memory"), g.Memory)
		if p.GPUClass == "" {
			p.GPUClass = g.Model
		}
		if p.Total > 0 && p.Total < p.GPUs {
			r.wrongAt(g.Total.Range(), "%s is %d, and one node has %d: total is that of all nodes", in("gpu: total"), p.Total, p.GPUs)
		}
	}
	if b.Price != nil {
		r.price(to, b, &p, in)
	}
	return p
}

func (r *reader) price(to *Profile, b partition, p *offer.Pool, in func(string) string) {
	rate := func(name string, e hcl.Expression) string { return r.amount(in("price: "+name), e) }
	p.Price = offer.Price{Known: true, SUPerGPUHour: rate("service_units_per_gpu_hour", b.Price.PerGPUHour),
		SUPerNodeHour: rate("service_units_per_node_hour", b.Price.PerNodeHour), SUPerCPUHour: rate("service_units_per_cpu_hour", b.Price.PerCPUHour)}
	p.WholeNode = b.Price.WholeNode
	if unit := rate("service_units_per_billing_hour", b.Price.PerBillingHour); unit != "" {
		p.Notes = append(slices.Clone(p.Notes), "charged by the hour and unit of Slurm's billing: "+unit+" service units")
		if to.PerBilling == nil {
			to.PerBilling = map[string]string{}
		}
		to.PerBilling[b.Name] = unit
		p.Price.UnknownSU = !p.Price.InServiceUnits() // until the cluster says how it reckons
	}
	if p.GPUs == 0 && p.Price.SUPerGPUHour != "" {
		r.wrongAt(b.Price.PerGPUHour.Range(), "%s charges for GPUs, and the partition has none: add a gpu block, or charge by node or cpu", in("price: service_units_per_gpu_hour"))
	}
}

func (r *reader) qos(to *Profile, b qos, partitions []string) QoS {
	in := func(name string) string { return fmt.Sprintf("qos %q: %s", b.Name, name) }
	var names []string
	for _, q := range to.QoS {
		names = append(names, q.Name)
		if q.Default && b.Default {
			r.wrongAt(b.At, "%s: qos %q is the default already: one has default = true", in("default"), q.Name)
		}
	}
	r.once("qos", b.Name, names, b.At)
	return QoS{Name: b.Name, MaxTime: r.duration(in("max_time"), b.MaxTime), MaxSubmit: r.count(in("max_submit"), b.MaxSubmit),
		Only: r.names(in("only"), b.Only, partitions), Default: b.Default, Note: b.Note}
}

// A reader reads values of a profile, and keeps what is wrong with them.
type reader struct{ wrong []string }

func (r *reader) wrongAt(at hcl.Range, format string, args ...any) {
	line := fmt.Sprintf("%s:%d: %s", at.Filename, at.Start.Line, fmt.Sprintf(format, args...))
	if !slices.Contains(r.wrong, line) {
		r.wrong = append(r.wrong, line)
	}
}

// found keeps what HCL itself finds: what is no HCL, and arguments and blocks
// that there are not or that are missing.
func (r *reader) found(diags hcl.Diagnostics) {
	for _, d := range diags {
		at := hcl.Range{}
		if d.Subject != nil {
			at = *d.Subject
		}
		r.wrongAt(at, "%s: %s TEMPLATE.hcl has all that there is, with what it means.", d.Summary, strings.TrimSpace(d.Detail))
	}
}

func (r *reader) err(name string) error {
	told := strings.Join(r.wrong, "\n")
	if strings.HasSuffix(name, ".hcl") {
		return errors.New(told) // each line begins with the file
	}
	return fmt.Errorf("profile %s: %s", name, told)
}

// once reports a name that an earlier block has.
func (r *reader) once(what, name string, before []string, at hcl.Range) {
	if slices.Contains(before, name) {
		r.wrongAt(at, "%s %q is there twice: put everything about it into one block", what, name)
	}
}

// names are a list of some that there must be.
func (r *reader) names(what string, e hcl.Expression, known []string) (list []string) {
	r.found(gohcl.DecodeExpression(e, nil, &list))
	for _, name := range list {
		if slices.Contains(known, name) {
			continue
		}
		if near := diag.Suggest(name, known); near != "" {
			r.wrongAt(e.Range(), "%s names partition %q, which has no block here; did you mean %q?", what, name, near)
		} else {
			r.wrongAt(e.Range(), "%s names partition %q, which has no block here: add one, or take the name out; there are %s", what, name, strings.Join(known, ", "))
		}
	}
	return list
}

// month is a month as "2026-05".
func (r *reader) month(what string, e hcl.Expression) string {
	text := r.text(what, e)
	if _, err := time.Parse("2006-01", text); err != nil && text != "" {
		r.wrongAt(e.Range(), "%s is %q, not a month: write the one in which the facts were compared with the site, such as \"2026-05\"", what, text)
	}
	return text
}
