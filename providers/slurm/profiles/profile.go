// Package profiles holds what is known of sites, as data: one HCL file each,
// in the form that TEMPLATE.hcl explains.
package profiles

import (
	"embed"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsimple"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

//go:embed *.hcl
var files embed.FS

// template is the commented form for new sites, which is no site itself.
const template = "TEMPLATE"

// A Profile is what is known of a site: its partitions as pools and its
// qualities of service. Live answers of the cluster win over it.
type Profile struct {
	Name     string // "cu-alpine"
	Site     string // "CU Boulder Alpine"
	Verified string // month: "2026-05"
	Pools    []offer.Pool
	QoS      []QoS
	// PerBilling are the service units that an hour of one unit of Slurm's
	// billing TRES costs, by partition, where the site charges so.
	PerBilling map[string]string
}

// QoS is a quality of service and its limits; zero is no limit stated.
type QoS struct {
	Name      string
	MaxTime   time.Duration
	MaxSubmit int      // most jobs of one user queued or running
	Only      []string // partitions it is for; empty = all
	Default   bool
	Note      string
}

// Names lists the names of the profiles shipped with muster, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("bug: the profiles are not embedded: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".hcl"); name != template {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// Sources are the profiles as HCL, by name.
func Sources() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range Names() {
		all[name], _ = files.ReadFile(name + ".hcl")
	}
	return all
}

// Load reads a shipped profile by name; its pools bear the backend's address.
func Load(name, backend string) (Profile, error) {
	src, ok := Sources()[name]
	if !ok {
		return Profile{}, fmt.Errorf("there is no Slurm profile %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return Parse(name, backend, src)
}

// Parse reads a profile's source; the form is explained in
// TEMPLATE.hcl.
func Parse(name, backend string, src []byte) (Profile, error) {
	var s site
	if err := hclsimple.Decode(name+".hcl", src, nil, &s); err != nil {
		return Profile{}, fmt.Errorf("profile %s: %w", name, err)
	}
	if _, err := time.Parse("2006-01", s.Verified); err != nil {
		return Profile{}, fmt.Errorf("profile %s: verified is %q, not a month such as 2026-05", name, s.Verified)
	}
	p := Profile{Name: name, Site: s.Site, Verified: s.Verified}
	for _, b := range s.Partitions {
		pool, err := s.pool(name, backend, b)
		if err != nil {
			return Profile{}, fmt.Errorf("profile %s: partition %q: %w", name, b.Name, err)
		}
		p.Pools = append(p.Pools, pool)
		if b.Price != nil && b.Price.PerBillingHour != "" {
			if p.PerBilling == nil {
				p.PerBilling = map[string]string{}
			}
			p.PerBilling[b.Name] = b.Price.PerBillingHour
		}
	}
	for _, b := range s.QoS {
		q := QoS{Name: b.Name, MaxSubmit: b.MaxSubmit, Only: b.Only, Default: b.Default, Note: b.Note}
		if err := duration(b.MaxTime, &q.MaxTime); err != nil {
			return Profile{}, fmt.Errorf("profile %s: qos %q: %w", name, b.Name, err)
		}
		p.QoS = append(p.QoS, q)
	}
	return p, nil
}

// site is the file's form.
type site struct {
	Site       string      `hcl:"site"`
	Verified   string      `hcl:"verified"`
	Clocks     []clock     `hcl:"clock,block"`
	Partitions []partition `hcl:"partition,block"`
	QoS        []qos       `hcl:"qos,block"`
}

type clock struct {
	What  string `hcl:"what,label"`
	After string `hcl:"after"`
}

type partition struct {
	Name      string   `hcl:"name,label"`
	Nodes     int      `hcl:"nodes,optional"`
	CPUs      int      `hcl:"cpus,optional"`
	Memory    string   `hcl:"memory,optional"`
	MaxTime   string   `hcl:"max_time"`
	MaxNodes  int      `hcl:"max_nodes,optional"`
	Testing   bool     `hcl:"testing,optional"`
	StandsFor []string `hcl:"stands_for,optional"`
	Notes     []string `hcl:"notes,optional"`
	GPU       *device  `hcl:"gpu,block"`
	Price     *price   `hcl:"price,block"`
}

type device struct {
	Model  string `hcl:"model,label"`
	Count  int    `hcl:"count"`
	Memory string `hcl:"memory,optional"`
	Class  string `hcl:"class,optional"`
	Total  int    `hcl:"total,optional"`
}

type price struct {
	PerGPUHour  string `hcl:"service_units_per_gpu_hour,optional"`
	PerNodeHour string `hcl:"service_units_per_node_hour,optional"`
	PerCPUHour  string `hcl:"service_units_per_cpu_hour,optional"`
	// PerBillingHour is for each unit of the billing TRES that Slurm reckons.
	PerBillingHour string `hcl:"service_units_per_billing_hour,optional"`
	WholeNode      bool   `hcl:"whole_node,optional"`
}

type qos struct {
	Name      string   `hcl:"name,label"`
	MaxTime   string   `hcl:"max_time,optional"`
	MaxSubmit int      `hcl:"max_submit,optional"`
	Only      []string `hcl:"only,optional"`
	Default   bool     `hcl:"default,optional"`
	Note      string   `hcl:"note,optional"`
}

func (s site) pool(profile, backend string, b partition) (offer.Pool, error) {
	p := offer.Pool{
		Backend: backend, Name: b.Name, Word: "partition", CPUs: b.CPUs, MaxNodes: b.MaxNodes, MinNodes: 1,
		Testing: b.Testing, StandsFor: b.StandsFor, Arrays: true, Idle: -1, Wait: -1, Total: b.Nodes * b.CPUs,
		Verified: s.Verified, Source: "profile " + profile, Notes: b.Notes,
	}
	if p.MaxNodes == 0 {
		p.MaxNodes = b.Nodes
	}
	if err := size(b.Memory, &p.Memory); err != nil {
		return p, err
	}
	if err := duration(b.MaxTime, &p.MaxTime); err != nil {
		return p, err
	}
	if g := b.GPU; g != nil {
		p.GPUs, p.GPUModel, p.GPUClass, p.Total = g.Count, g.Model, g.Class, g.Total
		if p.GPUClass == "" {
			p.GPUClass = g.Model
		}
		if err := size(g.Memory, &p.GPUMem); err != nil {
			return p, err
		}
	}
	p.Price = offer.Price{Known: true} // schedulers cost no money unless a site says so
	if r := b.Price; r != nil {
		p.Price = offer.Price{Known: true, SUPerGPUHour: r.PerGPUHour, SUPerNodeHour: r.PerNodeHour, SUPerCPUHour: r.PerCPUHour, Estimated: true}
		p.WholeNode = r.WholeNode
		if r.PerBillingHour != "" {
			p.Notes = append(slices.Clone(p.Notes), "charged by the hour and unit of Slurm's billing: "+r.PerBillingHour+" service units")
		}
		for _, rate := range []string{r.PerGPUHour, r.PerNodeHour, r.PerCPUHour, r.PerBillingHour} {
			if _, err := units.ParseAmount(rate); rate != "" && err != nil {
				return p, err
			}
		}
	}
	for _, c := range s.Clocks {
		k := offer.Clock{What: c.What}
		if err := duration(c.After, &k.After); err != nil {
			return p, err
		}
		p.Clocks = append(p.Clocks, k)
	}
	return p, nil
}

func duration(s string, to *time.Duration) (err error) {
	if s != "" {
		*to, err = units.ParseDuration(s)
	}
	return err
}

func size(s string, to *int64) (err error) {
	if s != "" {
		*to, err = units.ParseSize(s)
	}
	return err
}
