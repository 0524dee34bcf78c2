package runpod

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// A gpuType is a model of GPU.
type gpuType struct {
	id, name, pool    string
	maker             string
	gb, mib           int
	secure, community decimal.Decimal // dollars an hour of one; zero = not there
}

// A host is one machine.
type host struct {
	name      string
	gpu       *gpuType
	cloud     string
	center    string
	cuda      string // "" = none reported
	gpus      int
	strangers int // GPUs that others rent
	ours      int
}

func (h *host) free() int { return max(0, h.gpus-h.strangers-h.ours) }

func (h *host) price() decimal.Decimal {
	if h.cloud == community {
		return h.gpu.community
	}
	return h.gpu.secure
}

// The clouds.
const (
	secure    = "SECURE"
	community = "COMMUNITY"
)

// catalogue is invented: prices of the magnitude of 2026, and places of every kind
// that matters.
func catalogue() ([]*gpuType, []*host) {
	d := decimal.RequireFromString
	r4090 := &gpuType{"NVIDIA GeForce RTX 4090", "RTX 4090", "ADA_24", "NVIDIA", 24, 24564, d("0.69"), d("0.34")}
	r3090 := &gpuType{"NVIDIA GeForce RTX 3090", "RTX 3090", "AMPERE_24", "NVIDIA", 24, 24576, d("0.46"), d("0.22")}
	l4 := &gpuType{"NVIDIA L4", "L4", "AMPERE_24", "NVIDIA", 24, 23034, d("0.43"), decimal.Zero}
	a100 := &gpuType{"NVIDIA A100-SXM4-80GB", "A100 SXM", "AMPERE_80", "NVIDIA", 80, 81920, d("1.79"), d("1.39")}
	h100 := &gpuType{"NVIDIA H100 80GB HBM3", "H100 SXM", "HOPPER_141", "NVIDIA", 80, 81559, d("2.99"), d("2.69")}
	mi := &gpuType{"AMD Instinct MI300X OAM", "MI300X", "", "AMD", 192, 196608, d("2.49"), decimal.Zero}
	return []*gpuType{r4090, r3090, l4, a100, h100, mi}, []*host{
		{name: "ro-4090", gpu: r4090, cloud: secure, center: "EU-RO-1", cuda: "12.8", gpus: 8, strangers: 2},
		{name: "tx-4090", gpu: r4090, cloud: secure, center: "US-TX-3", cuda: "12.4", gpus: 4, strangers: 2},
		{name: "is-4090", gpu: r4090, cloud: secure, center: "EUR-IS-1", cuda: "12.8", gpus: 2, strangers: 2},
		{name: "home-4090", gpu: r4090, cloud: community, center: "CA-MTL-1", cuda: "12.8", gpus: 2},
		{name: "home-3090", gpu: r3090, cloud: community, center: "US-GA-1", cuda: "12.2", gpus: 4, strangers: 1},
		{name: "ro-l4", gpu: l4, cloud: secure, center: "EU-RO-1", cuda: "12.8", gpus: 4},
		{name: "ks-a100", gpu: a100, cloud: secure, center: "US-KS-2", cuda: "12.8", gpus: 8},
		{name: "ca-h100", gpu: h100, cloud: secure, center: "US-CA-2", cuda: "12.9", gpus: 8, strangers: 4},
		{name: "ro-mi", gpu: mi, cloud: secure, center: "EU-RO-1", gpus: 8},
	}
}

// happen changes a host: its prices, who else rents it.
func (h *host) happen(e cloudsim.Event) error {
	switch e.What {
	case "price":
		d, err := decimal.NewFromString(e.Value)
		if err != nil || !d.IsPositive() {
			return fmt.Errorf("value %q: dollars an hour of one GPU", e.Value)
		}
		if h.cloud == community {
			h.gpu.community = d
		} else {
			h.gpu.secure = d
		}
	case "rented":
		n, err := strconv.Atoi(e.Value)
		if err != nil || n < 0 || n > h.gpus {
			return fmt.Errorf("value %q: how many of its %d GPUs others rent", e.Value, h.gpus)
		}
		h.strangers = n
	default:
		return fmt.Errorf("what %q: a machine has price and rented", e.What)
	}
	return nil
}

// A query is a request to the catalogue.
type query struct {
	stock     bool // with the present stock
	count     int
	cloud     string
	countries []string
	cudas     []string
	least     string
}

var (
	version = lazyregexp.New(`^\d+\.\d+$`)
	major   = lazyregexp.New(`^\d+(\.\d+)?$`)
)

// readQuery reads the parameters of the catalogue of GPUs. All but include want
// include=AVAILABILITY; a malformed value is 422, a contradiction 400.
func readQuery(c *cloudsim.Call) (q query, refusal *cloudsim.Answer) {
	refuse := func(a cloudsim.Answer) (query, *cloudsim.Answer) { return q, &a }
	q.count = 1
	list := func(name string) (out []string) {
		if text := c.Query.Get(name); text != "" {
			out = strings.Split(text, ",")
		}
		return out
	}
	for name := range c.Query {
		if !slices.Contains([]string{"include", "product", "count", "cloud", "countryCodes", "cudaVersions", "minCudaVersion"}, name) {
			return refuse(invalid("query: unknown parameter " + name))
		}
		if name != "include" && !c.Query.Has("include") {
			return refuse(fails(http.StatusBadRequest, name+" requires include=AVAILABILITY"))
		}
	}
	q.stock, q.cloud, q.countries, q.cudas, q.least = c.Query.Has("include"), c.Query.Get("cloud"), list("countryCodes"), list("cudaVersions"), c.Query.Get("minCudaVersion")
	n, err := strconv.Atoi(c.Query.Get("count"))
	if c.Query.Has("count") {
		q.count = n
	}
	switch {
	case q.stock && c.Query.Get("include") != "AVAILABILITY":
		return refuse(invalid("query.include: one of AVAILABILITY"))
	case q.stock && !slices.Contains([]string{"POD", "SERVERLESS", "CLUSTER"}, c.Query.Get("product")):
		return refuse(fails(http.StatusBadRequest, "include=AVAILABILITY requires product"))
	case c.Query.Has("count") && (err != nil || n < 1):
		return refuse(invalid("query.count: at least 1"))
	case q.cloud != "" && q.cloud != secure && q.cloud != community:
		return refuse(invalid("query.cloud: one of SECURE, COMMUNITY"))
	case len(q.cudas) > 0 && q.least != "":
		return refuse(fails(http.StatusBadRequest, "cudaVersions and minCudaVersion are mutually exclusive"))
	case q.least != "" && !major.MatchString(q.least), slices.ContainsFunc(q.cudas, func(v string) bool { return !version.MatchString(v) }):
		return refuse(invalid("query: a CUDA version is major.minor"))
	}
	return q, nil
}

// newer reports whether a CUDA version is at least another, by numbers: 12.11 is newer
// than 12.2.
func newer(have, least string) bool {
	a, b := strings.Split(have+".0", "."), strings.Split(least+".0", ".")
	for i := range 2 {
		x, _ := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x > y
		}
	}
	return true
}

// fits reports whether a query asks for a host.
func (q query) fits(h *host) bool {
	country, _, _ := strings.Cut(h.center, "-")
	return (q.cloud == "" || q.cloud == h.cloud) && (len(q.countries) == 0 || slices.Contains(q.countries, country)) &&
		(len(q.cudas) == 0 || slices.Contains(q.cudas, h.cuda)) && (q.least == "" || h.cuda != "" && newer(h.cuda, q.least))
}

// level says how many machines of count GPUs are free.
func level(free, count int) string {
	switch n := free / count; {
	case n == 0:
		return "NONE"
	case n <= 2:
		return "LOW"
	case n <= 4:
		return "MEDIUM"
	}
	return "HIGH"
}

// row is a GPU type as the catalogue has it.
func (r *RunPod) row(t *gpuType, q query) map[string]any {
	most := map[string]int{secure: 0, community: 0}
	free, by, cudas := 0, map[string]int{}, map[string]bool{}
	for _, h := range r.hosts {
		if h.gpu != t {
			continue
		}
		most[h.cloud] = max(most[h.cloud], h.gpus)
		if q.fits(h) {
			free = max(free, h.free())
			if h.free() >= q.count {
				by[h.center] += h.free()
			}
			if h.cuda != "" {
				cudas[h.cuda] = cudas[h.cuda] || h.free() >= q.count
			}
		}
	}
	row := map[string]any{
		"id": t.id, "name": t.name, "pool": nil, "manufacturer": t.maker, "memory": t.gb, "secure": !t.secure.IsZero(), "community": !t.community.IsZero(),
		"price": map[string]any{"secure": f(t.secure), "community": f(t.community)}, "maxCount": map[string]int{"secure": most[secure], "community": most[community]},
	}
	if t.pool != "" {
		row["pool"] = t.pool
	}
	if !q.stock {
		return row
	}
	row["availability"] = level(free, q.count)
	var centers, versions []map[string]any
	for _, h := range r.hosts {
		if n := by[h.center]; n > 0 && h.gpu == t {
			delete(by, h.center)
			centers = append(centers, map[string]any{"id": h.center, "name": h.center, "availability": level(n, q.count)})
		}
		if there, ok := cudas[h.cuda]; ok && h.gpu == t {
			delete(cudas, h.cuda)
			versions = append(versions, map[string]any{"version": h.cuda, "available": there})
		}
	}
	if centers != nil {
		row["dataCenters"] = centers
	}
	if versions != nil {
		row["cudaVersions"] = versions
	}
	return row
}

func (r *RunPod) listTypes(c *cloudsim.Call) cloudsim.Answer {
	q, refusal := readQuery(c)
	if refusal != nil {
		return *refusal
	}
	rows := []map[string]any{}
	for _, t := range r.types {
		row := r.row(t, q)
		if len(q.countries) == 0 || row["dataCenters"] != nil {
			rows = append(rows, row)
		}
	}
	return cloudsim.JSON(http.StatusOK, map[string]any{"gpus": rows})
}

func (r *RunPod) oneType(c *cloudsim.Call) cloudsim.Answer {
	q, refusal := readQuery(c)
	if refusal != nil {
		return *refusal
	}
	for _, t := range r.types {
		if t.id == c.Var("id") {
			return cloudsim.JSON(http.StatusOK, r.row(t, q))
		}
	}
	return notFound
}

func f(d decimal.Decimal) float64 { return d.InexactFloat64() }
