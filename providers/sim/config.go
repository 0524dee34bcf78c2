package sim

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// The backend block as it arrives: durations in seconds, sizes in bytes.
type (
	config struct {
		Seed    uint64         `json:"seed"`
		Files   string         `json:"filesystem"`
		Link    int64          `json:"bandwidth"` // bytes a second
		Pools   []poolConfig   `json:"pool"`
		Jobs    []jobsConfig   `json:"jobs"`
		Outages []outageConfig `json:"outage"`
		Prices  []priceConfig  `json:"price_change"`
	}
	poolConfig struct {
		Name, Word  string
		Slots       int         `json:"slots"`
		MaxSubmit   int         `json:"max_submit"`
		Nodes       int         `json:"nodes"`
		CPUs        int         `json:"cpus"`
		Memory      int64       `json:"memory"`
		GPUs        int         `json:"gpus"`
		GPU         string      `json:"gpu"`
		GPUMemory   int64       `json:"gpu_memory"`
		MaxWalltime float64     `json:"max_walltime"`
		Wait        float64     `json:"wait"`
		WaitP90     float64     `json:"wait_p90"`
		Boot        float64     `json:"boot"`
		USDPerGPU   json.Number `json:"usd_per_gpu_hour"`
		USDPerCPU   json.Number `json:"usd_per_cpu_hour"`
		USD         json.Number `json:"usd_per_hour"`
		SUPerGPU    json.Number `json:"su_per_gpu_hour"`
		SUPerCPU    json.Number `json:"su_per_cpu_hour"`
		SUPerNode   json.Number `json:"su_per_node_hour"`
		Granularity float64     `json:"granularity"`
		WholeNode   bool        `json:"whole_node"`
		Testing     bool        `json:"testing"`
		Spot        bool        `json:"spot"`
	}
	jobsConfig struct {
		Phases  []string                   `json:"phases"`
		Runtime float64                    `json:"runtime"`
		P90     float64                    `json:"runtime_p90"`
		Memory  int64                      `json:"memory"`
		Size    int64                      `json:"output_size"`
		Metrics map[string]json.RawMessage `json:"metrics"`
		Fails   map[string]float64         `json:"fails"`
	}
	outageConfig struct {
		After float64 `json:"after"`
		Lasts float64 `json:"lasts"`
	}
	priceConfig struct {
		Pool     string  `json:"pool"`
		After    float64 `json:"after"`
		Launches []int   `json:"launches"`
		Factor   float64 `json:"factor"`
	}
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// SiteOf is the place that a backend block describes.
func SiteOf(b providers.Backend) (Site, error) {
	c := config{Seed: 1}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return Site{}, providers.Errorf(providers.Invalid, "Configuration of %s cannot be read: %v", b.Name, err)
		}
	}
	if err := c.check(b.Name); err != nil {
		return Site{}, err
	}
	if len(c.Pools) == 0 {
		c.Pools = []poolConfig{{}}
	}
	s := Site{Can: Schema().Can, Says: c.says()}
	s.Bandwidth = c.Link
	files := cmp.Or(c.Files, Type)
	s.Files = func(string) string { return files + "\x00" + b.Workdir }
	for _, p := range c.Pools {
		pool := p.pool(b)
		pool.Filesystem = files
		s.Pools = append(s.Pools, pool)
	}
	var pools []*offer.Pool
	for i := range s.Pools {
		pools = append(pools, &s.Pools[i].Pool)
	}
	offer.Unrated(pools)
	for _, o := range c.Outages {
		s.Outages = append(s.Outages, Outage{seconds(o.After), seconds(o.Lasts)})
	}
	for _, p := range c.Prices {
		s.Prices = append(s.Prices, PriceChange{p.Pool, seconds(p.After), p.Launches, p.Factor})
	}
	s.Model = modelOf(s, c.Seed)
	return s, nil
}

func (c *config) check(name string) error {
	wrong := func(format string, args ...any) error {
		return providers.Errorf(providers.Invalid, "backend.%s: "+format, append([]any{name}, args...)...)
	}
	seen := map[string]bool{}
	for _, p := range c.Pools {
		switch {
		case seen[p.Name]:
			return wrong("there are two pools %q", p.Name)
		case p.Slots < 0 || p.Nodes < 0 || p.CPUs < 0 || p.GPUs < 0 || p.MaxSubmit < 0:
			return wrong("the numbers of pool %q cannot be negative", p.Name)
		case p.WaitP90 != 0 && p.WaitP90 < p.Wait:
			return wrong("wait_p90 of pool %q is less than wait", p.Name)
		}
		for _, rate := range []json.Number{p.USDPerGPU, p.USDPerCPU, p.USD, p.SUPerGPU, p.SUPerCPU, p.SUPerNode} {
			if strings.HasPrefix(rate.String(), "-") {
				return wrong("a price of pool %q is negative", p.Name)
			}
		}
		seen[p.Name] = true
	}
	for _, j := range c.Jobs {
		sum := 0.0
		for class, rate := range j.Fails {
			if rate < 0 || rate > 1 {
				return wrong("the share of %s in fails must be from 0 to 1, not %g", class, rate)
			}
			sum += rate
		}
		if sum > 1 {
			return wrong("the shares in fails add up to %g, which is more than every launch", sum)
		}
		if j.P90 != 0 && j.P90 < j.Runtime {
			return wrong("runtime_p90 is less than runtime")
		}
	}
	for _, o := range c.Outages {
		if o.Lasts <= 0 || o.After < 0 {
			return wrong("an outage begins at 0 or later and lasts more than 0")
		}
	}
	for _, p := range c.Prices {
		if p.Factor < 0 {
			return wrong("the factor of a price_change cannot be negative")
		}
		if p.Pool != "" && !seen[p.Pool] {
			return wrong("price_change names pool %q, and there is none of that name", p.Pool)
		}
	}
	return nil
}

// kinds are the kinds of pools by the site's words for them.
var kinds = map[string]offer.PoolKind{"partition": offer.QueuePool, "queue": offer.QueuePool, "offer": offer.RentalPool, "machine": offer.MachinePool}

// pool is the pool of a pool block.
func (p poolConfig) pool(b providers.Backend) Pool {
	nodes := max(p.Nodes, 1)
	out := Pool{Boot: seconds(p.Boot), WaitP90: seconds(max(p.WaitP90, p.Wait)), Slots: p.Slots, Devices: nodes * p.GPUs}
	price := b.Price
	if p.USDPerGPU+p.USDPerCPU+p.USD+p.SUPerGPU+p.SUPerCPU+p.SUPerNode != "" {
		price = offer.Price{USDPerGPUHour: string(p.USDPerGPU), USDPerCPUHour: string(p.USDPerCPU), USDPerHour: string(p.USD),
			SUPerGPUHour: string(p.SUPerGPU), SUPerCPUHour: string(p.SUPerCPU), SUPerNodeHour: string(p.SUPerNode)}
	}
	stated := price.USDPerGPUHour+price.USDPerCPUHour+price.USDPerHour+price.SUPerGPUHour+price.SUPerCPUHour+price.SUPerNodeHour != ""
	price.Known, price.Granularity = stated || kinds[p.Word] != offer.RentalPool, max(price.Granularity, seconds(p.Granularity))
	word := p.Word
	if word == "" {
		word = "partition"
	}
	if p.Slots == 0 && p.GPUs == 0 { // jobs share its cores
		out.Cores, out.Bytes = nodes*p.CPUs, int64(nodes)*p.Memory
	}
	kind := kinds[word]
	if kind == offer.RentalPool && p.MaxSubmit == 0 { // there is no queue: a job has its machine or is not submitted
		p.MaxSubmit = cmp.Or(out.Slots, nodes)
	}
	if kind == offer.MachinePool && nodes == 1 {
		out.Cores, out.Bytes = p.CPUs, p.Memory
	}
	out.Pool = offer.Pool{
		Backend: b.Name, Name: p.Name, Kind: kind, Word: word, CPUs: p.CPUs, Memory: p.Memory, GPUs: p.GPUs, GPUModel: p.GPU, GPUClass: p.GPU, GPUMem: p.GPUMemory, MaxNodes: p.Nodes,
		MaxTime: seconds(p.MaxWalltime), MaxJobs: out.Slots, MaxSubmit: p.MaxSubmit, Testing: p.Testing, Spot: p.Spot, Idle: -1, Total: out.Devices,
		Wait: seconds(p.Wait), Price: price, WholeNode: p.WholeNode, Source: "declared",
	}
	if out.Devices == 0 {
		out.Total = out.Cores
	}
	return out
}

// says returns the first block that names a phase.
func (c *config) says() func(phase string) Says {
	all := make([]Says, len(c.Jobs))
	for i, j := range c.Jobs {
		all[i] = Says{Median: seconds(j.Runtime), P90: seconds(max(j.P90, j.Runtime)), Fails: j.Fails, Memory: j.Memory, Size: j.Size}
		if len(j.Metrics) > 0 {
			all[i].Metrics = map[string]string{}
		}
		for name, text := range j.Metrics {
			all[i].Metrics[name] = string(text)
		}
	}
	return func(phase string) Says {
		at := slices.IndexFunc(c.Jobs, func(b jobsConfig) bool { return len(b.Phases) == 0 || slices.Contains(b.Phases, phase) })
		if at < 0 {
			return Says{}
		}
		return all[at]
	}
}

// modelOf draws how launches go at a site that is described.
func modelOf(s Site, seed uint64) Model {
	pools := map[string]*Pool{}
	for i := range s.Pools {
		pools[s.Pools[i].Name] = &s.Pools[i]
	}
	return func(j *providers.Job, launch int) Fate {
		address, n, how := j.Address, Attempt(launch), s.Says(j.Phase)
		if j.Smoke {
			address = "smoke." + address
		}
		f := Fate{Takes: how.Takes(j, Normal(seed, address, n, "runtime")), Memory: how.Memory, Metrics: how.Metrics, Size: how.Sized()}
		if p := pools[j.Pool]; p != nil {
			f.Wait = Spread(p.Wait, p.WaitP90, Normal(seed, address, n, "wait"))
		}
		u := Uniform(seed, address, n, "failure")
		for _, class := range slices.Sorted(maps.Keys(how.Fails)) {
			if u -= how.Fails[class]; u < 0 {
				f.Class, f.After = class, time.Duration(Uniform(seed, address, n, "when")*float64(f.Takes))
				if class == failure.Walltime {
					f.Class, f.Takes = "", max(f.Takes, 2*j.Shape.Walltime) // the kill says the rest
				}
				break
			}
		}
		return f
	}
}
