package pbs

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/offer"
)

// files are the facts about known sites as data: one HCL file for each machine, in
// the form that TEMPLATE.hcl explains.
//
//go:embed profiles/*.hcl
var files embed.FS

// A Profile is the facts of a site: its queues as pools, and the required directives of its
// jobs. Live answers of the cluster win over the limits in it.
type Profile struct {
	Name      string // "alcf-polaris", or a campaign's own file: "site.hcl"
	Site      string // "ALCF Polaris"
	Verified  string // month: "2026-05"
	Requires  []string
	Chunk     string // the part of every chunk of select: "system=polaris"
	Place     string // "scatter"
	WholeNode bool   // jobs get whole nodes
	Balance   []string
	Env       map[string]string // of jobs, beneath the backend's
	Pools     []offer.Pool
	Queues    map[string]QueueFacts
}

// QueueFacts are the facts of a queue for which a pool has no field.
type QueueFacts struct {
	MinTime time.Duration
	Rerun   bool // jobs are killed for others, and put back
	Request bool // the site opens it for those who ask
}

// site is the form of the file. Values with a unit, a range or a known name stay
// expressions, so that an error has their line.
type site struct {
	Site      hcl.Expression `hcl:"site"`
	Verified  hcl.Expression `hcl:"verified"`
	Requires  []string       `hcl:"requires,optional"`
	Chunk     string         `hcl:"chunk,optional"`
	Place     string         `hcl:"place,optional"`
	WholeNode bool           `hcl:"whole_node,optional"`
	Pack      hcl.Expression `hcl:"pack,optional"`
	Balance   []string       `hcl:"balance,optional"`
	Scratch   string         `hcl:"scratch,optional"`
	Env       hcl.Expression `hcl:"env,optional"`
	NodeHours hcl.Expression `hcl:"service_units_per_node_hour,optional"`
	CPUHours  hcl.Expression `hcl:"service_units_per_cpu_hour,optional"`
	GPUHours  hcl.Expression `hcl:"service_units_per_gpu_hour,optional"`
	Node      *node          `hcl:"node,block"`
	Clocks    []facts.Clock  `hcl:"clock,block"`
	Queues    []queue        `hcl:"queue,block"`
}

type node struct {
	Count  hcl.Expression `hcl:"count,optional"`
	CPUs   hcl.Expression `hcl:"cpus,optional"`
	Memory hcl.Expression `hcl:"memory,optional"`
	GPU    *facts.GPU     `hcl:"gpu,block"`
}

type queue struct {
	Name      string         `hcl:"name,label"`
	At        hcl.Range      `hcl:",def_range"`
	Nodes     hcl.Expression `hcl:"nodes,optional"`
	MinNodes  hcl.Expression `hcl:"min_nodes,optional"`
	MaxNodes  hcl.Expression `hcl:"max_nodes,optional"`
	MinTime   hcl.Expression `hcl:"min_time,optional"`
	MaxTime   hcl.Expression `hcl:"max_time"`
	MaxRun    hcl.Expression `hcl:"max_run,optional"`
	MaxSubmit hcl.Expression `hcl:"max_queued,optional"`
	Testing   bool           `hcl:"testing,optional"`
	StandsFor hcl.Expression `hcl:"stands_for,optional"`
	Rerun     bool           `hcl:"preemptable,optional"`
	Request   bool           `hcl:"by_request,optional"`
	Notes     []string       `hcl:"notes,optional"`
}

// profiles are those that come with muster, and a campaign's own.
var profiles = facts.Profiles[Profile]{Files: files, Of: "PBS", Parse: parseProfile}

// parseProfile reads a profile's source. The error names every mistake, a line each, with
// its file and line.
func parseProfile(name, backend string, src []byte) (Profile, error) {
	r := &facts.Reader{Word: "queue"}
	var s site
	if !r.Read(name, src, &s) {
		return Profile{}, r.Err(name)
	}
	r.Must("site", s.Site, `site = "University, Cluster"`)
	r.Must("verified", s.Verified, `verified = "2026-05", the month in which the facts were compared with the site`)
	p := Profile{Name: name, Site: r.Text("site", s.Site), Verified: r.Month("verified", s.Verified), Requires: s.Requires, Chunk: s.Chunk, Place: s.Place, WholeNode: s.WholeNode,
		Balance: s.Balance, Env: r.Env("env", s.Env), Queues: map[string]QueueFacts{}}
	base := machine(r, &s, backend, &p)
	var names []string
	for _, q := range s.Queues {
		r.Once("queue", q.Name, names, q.At)
		names = append(names, q.Name)
	}
	var pools []*offer.Pool
	for _, q := range s.Queues {
		p.Pools = append(p.Pools, pool(r, base, q, names))
		in := func(name string) string { return fmt.Sprintf("queue %q: %s", q.Name, name) }
		p.Queues[q.Name] = QueueFacts{MinTime: r.Duration(in("min_time"), q.MinTime), Rerun: q.Rerun, Request: q.Request}
	}
	for i := range p.Pools {
		pools = append(pools, &p.Pools[i])
	}
	offer.Unrated(pools)
	if r.Wrong() {
		return Profile{}, r.Err(name)
	}
	return p, nil
}

// machine is the common part of all queues: the node, the charge and the
// clocks.
func machine(r *facts.Reader, s *site, backend string, of *Profile) offer.Pool {
	p := offer.Pool{Backend: backend, Kind: offer.QueuePool, Word: "queue", MinNodes: 1, Arrays: true, Idle: -1, Wait: -1, Verified: of.Verified, Source: "profile " + of.Name,
		WholeNode: s.WholeNode, Pack: r.Pack("pack", s.Pack) && s.WholeNode, Scratch: s.Scratch, Price: offer.Price{Known: true, SUPerNodeHour: r.Amount("service_units_per_node_hour", s.NodeHours),
			SUPerCPUHour: r.Amount("service_units_per_cpu_hour", s.CPUHours), SUPerGPUHour: r.Amount("service_units_per_gpu_hour", s.GPUHours)}}
	for _, c := range s.Clocks {
		p.Clocks = append(p.Clocks, r.Clock(c))
	}
	if n := s.Node; n != nil {
		in := func(name string) string { return "node: " + name }
		p.CPUs, p.Memory, p.MaxNodes = r.Count(in("cpus"), n.CPUs), r.Size(in("memory"), n.Memory), r.Count(in("count"), n.Count)
		if n.GPU != nil {
			r.GPU(in, n.GPU, &p)
		}
	}
	return p
}

// pool is one queue.
func pool(r *facts.Reader, base offer.Pool, q queue, names []string) offer.Pool {
	in := func(name string) string { return fmt.Sprintf("queue %q: %s", q.Name, name) }
	p := base
	r.Must(in("max_time"), q.MaxTime, `max_time = "24h", the longest walltime that it takes`)
	p.Name, p.MaxTime, p.MaxJobs, p.MaxSubmit = q.Name, r.Duration(in("max_time"), q.MaxTime), r.Count(in("max_run"), q.MaxRun), r.Count(in("max_queued"), q.MaxSubmit)
	if p.MaxSubmit > 0 {
		p.SubmitBy = "queue " + q.Name
	}
	nodes := r.Count(in("nodes"), q.Nodes)
	if nodes == 0 {
		nodes = base.MaxNodes
	}
	if p.MaxNodes = nodes; !facts.Absent(q.MaxNodes) {
		p.MaxNodes = r.Count(in("max_nodes"), q.MaxNodes)
	}
	if !facts.Absent(q.MinNodes) {
		p.MinNodes = r.Count(in("min_nodes"), q.MinNodes)
	}
	if p.MaxNodes > 0 && p.MinNodes > p.MaxNodes {
		r.WrongAt(q.MinNodes.Range(), "%s is %d, and max_nodes %d: no job would fit", in("min_nodes"), p.MinNodes, p.MaxNodes)
	}
	p.Total = nodes * max(p.GPUs, 1)
	if p.GPUs == 0 {
		p.Total = nodes * p.CPUs
	}
	p.Testing = q.Testing
	p.StandsFor = r.Names(in("stands_for"), q.StandsFor, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == q.Name }))
	p.Notes = slices.Clone(q.Notes)
	if q.Rerun {
		p.Spot = true
		p.Notes = append(p.Notes, "jobs are killed without warning when others need the nodes, and put back into the queue")
	}
	if q.Request {
		p.Notes = append(p.Notes, "opened by the site for those who ask")
	}
	return p
}
