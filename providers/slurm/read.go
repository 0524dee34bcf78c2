package slurm

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/offer"
)

// site is the form of the file. Values with a unit, a range or a known name stay
// expressions, so that an error has their line.
type site struct {
	Site       hcl.Expression `hcl:"site"`
	Verified   hcl.Expression `hcl:"verified"`
	Scratch    string         `hcl:"scratch,optional"`
	Pack       hcl.Expression `hcl:"pack,optional"`
	Balance    []string       `hcl:"balance,optional"`
	Clocks     []facts.Clock  `hcl:"clock,block"`
	Partitions []partition    `hcl:"partition,block"`
	QoS        []qos          `hcl:"qos,block"`
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
	GPU       *facts.GPU     `hcl:"gpu,block"`
	Price     *price         `hcl:"price,block"`
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

// parse reads a profile's source; the form is explained in TEMPLATE.hcl. The
// error names every mistake, a line each, with its file and line.
func parse(name, backend string, src []byte) (Profile, error) {
	r := &reader{facts.Reader{Word: "partition"}}
	var s site
	if !r.Read(name, src, &s) {
		return Profile{}, r.Err(name)
	}
	r.Must("site", s.Site, `site = "University, Cluster"`)
	r.Must("verified", s.Verified, `verified = "2026-05", the month in which the facts were compared with the site`)
	p := Profile{Name: name, Site: r.Text("site", s.Site), Verified: r.Month("verified", s.Verified), Balance: s.Balance}
	var names []string
	for _, b := range s.Partitions {
		r.Once("partition", b.Name, names, b.At)
		names = append(names, b.Name)
	}
	pack := r.Pack("pack", s.Pack)
	var clocks []offer.Clock
	for _, c := range s.Clocks {
		clocks = append(clocks, r.Clock(c))
	}
	for _, b := range s.Partitions {
		pool := r.pool(&p, b, names)
		pool.Backend, pool.Scratch = backend, s.Scratch
		pool.Clocks, pool.Pack = clocks, pack && pool.WholeNode
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
	if r.Wrong() {
		return Profile{}, r.Err(name)
	}
	return p, nil
}

func (r *reader) pool(to *Profile, b partition, names []string) offer.Pool {
	in := func(name string) string { return fmt.Sprintf("partition %q: %s", b.Name, name) }
	p := offer.Pool{
		Name: b.Name, Kind: offer.QueuePool, Word: "partition", CPUs: r.Count(in("cpus"), b.CPUs), MaxNodes: r.Count(in("max_nodes"), b.MaxNodes), MinNodes: 1,
		Testing: b.Testing, StandsFor: r.Names(in("stands_for"), b.StandsFor, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == b.Name })), Arrays: true, Idle: -1, Wait: -1,
		Verified: to.Verified, Source: "profile " + to.Name, Notes: b.Notes, Memory: r.Size(in("memory"), b.Memory), MaxTime: r.Duration(in("max_time"), b.MaxTime),
		Price: offer.Price{Known: true}, // schedulers cost no money unless a site says so
	}
	r.Must(in("max_time"), b.MaxTime, `max_time = "24h", the longest walltime that it takes`)
	nodes := r.Count(in("nodes"), b.Nodes)
	p.Total = nodes * p.CPUs
	if nodes > 0 && p.MaxNodes > nodes {
		r.WrongAt(b.MaxNodes.Range(), "%s is %d, and the partition has %d nodes: write at most %d, or leave it out", in("max_nodes"), p.MaxNodes, nodes, nodes)
	}
	if p.MaxNodes == 0 {
		p.MaxNodes = nodes
	}
	if b.GPU != nil {
		r.GPU(in, b.GPU, &p)
	}
	if b.Price != nil {
		r.price(to, b, &p, in)
	}
	return p
}

func (r *reader) price(to *Profile, b partition, p *offer.Pool, in func(string) string) {
	rate := func(name string, e hcl.Expression) string { return r.Amount(in("price: "+name), e) }
	p.Price = offer.Price{Known: true, SUPerGPUHour: rate("service_units_per_gpu_hour", b.Price.PerGPUHour),
		SUPerNodeHour: rate("service_units_per_node_hour", b.Price.PerNodeHour), SUPerCPUHour: rate("service_units_per_cpu_hour", b.Price.PerCPUHour)}
	p.WholeNode = b.Price.WholeNode
	if unit := rate("service_units_per_billing_hour", b.Price.PerBillingHour); unit != "" {
		p.Notes = append(slices.Clone(p.Notes), "charged by the hour and unit of Slurm's billing: "+unit+" service units")
		if to.PerBilling == nil {
			to.PerBilling = map[string]string{}
		}
		to.PerBilling[b.Name] = unit
		p.Price.UnknownSU = !p.Price.InServiceUnits() // until the cluster says how it charges
	}
	if p.GPUs == 0 && p.Price.SUPerGPUHour != "" {
		r.WrongAt(b.Price.PerGPUHour.Range(), "%s charges for GPUs, and the partition has none: add a gpu block, or charge by node or cpu", in("price: service_units_per_gpu_hour"))
	}
}

func (r *reader) qos(to *Profile, b qos, partitions []string) QoS {
	in := func(name string) string { return fmt.Sprintf("qos %q: %s", b.Name, name) }
	var names []string
	for _, q := range to.QoS {
		names = append(names, q.Name)
		if q.Default && b.Default {
			r.WrongAt(b.At, "%s: qos %q is the default already: one has default = true", in("default"), q.Name)
		}
	}
	r.Once("qos", b.Name, names, b.At)
	return QoS{Name: b.Name, MaxTime: r.Duration(in("max_time"), b.MaxTime), MaxSubmit: r.Count(in("max_submit"), b.MaxSubmit),
		Only: r.Names(in("only"), b.Only, partitions), Default: b.Default, Note: b.Note}
}

// A reader reads values of a profile, and keeps their errors.
type reader struct{ facts.Reader }
