package runpod

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/lazyregexp"
)

// A creation is the body of a create.
type creation struct {
	Name             string            `json:"name"`
	Image            string            `json:"image"`
	TemplateID       *string           `json:"templateId"`
	Cloud            *string           `json:"cloud"`
	GPU              *gpuConfig        `json:"gpu"`
	CPU              *cpuConfig        `json:"cpu"`
	DataCenterIDs    []string          `json:"dataCenterIds"`
	Disk             *int              `json:"disk"`
	Mounts           mounts            `json:"mounts"`
	Ports            []string          `json:"ports"`
	Env              map[string]string `json:"env"`
	Args             string            `json:"args"`
	Registry         *string           `json:"registry"`
	StartSSH         bool              `json:"startSsh"`
	StartJupyter     bool              `json:"startJupyter"`
	GlobalNetworking bool              `json:"globalNetworking"`
}

type gpuConfig struct {
	ID                  string   `json:"id"`
	Count               *int     `json:"count"`
	AllowedCudaVersions []string `json:"allowedCudaVersions"`
	MinCudaVersion      string   `json:"minCudaVersion"`
}

type cpuConfig struct {
	ID        string `json:"id"`
	VCPUCount int    `json:"vcpuCount"`
}

type mounts struct {
	Persistent *persistent `json:"persistent,omitempty"`
	Network    []network   `json:"network,omitempty"`
}

type persistent struct {
	Size int    `json:"size"`
	Path string `json:"path"`
}

type network struct {
	VolumeID string `json:"volumeId"`
	Path     string `json:"path"`
}

// leastMount is the least size of a persistent mount, GB.
const leastMount = 10

var port = lazyregexp.New(`^\d+/(tcp|http|udp)$`)

// wrong are the fields that differ from the documentation.
func (q *creation) wrong() (why []string) {
	say := func(bad bool, text string) {
		if bad {
			why = append(why, text)
		}
	}
	say(q.Name == "", "$.name: minLength 1")
	say(q.Cloud != nil && *q.Cloud != secure && *q.Cloud != community, "$.cloud: one of SECURE, COMMUNITY")
	say(q.Disk != nil && *q.Disk < 1, "$.disk: minimum 1")
	say(len(q.Mounts.Network) > 1, "$.mounts.network: maxItems 1")
	if p := q.Mounts.Persistent; p != nil {
		say(p.Size < leastMount, "$.mounts.persistent.size: minimum 10")
		say(p.Path == "", "$.mounts.persistent: path is required")
	}
	for _, n := range q.Mounts.Network {
		say(n.VolumeID == "" || n.Path == "", "$.mounts.network: volumeId and path are required")
	}
	for _, p := range q.Ports {
		say(!port.MatchString(p), "$.ports: "+p)
	}
	if g := q.GPU; g != nil {
		say(g.ID == "", "$.gpu: id is required")
		say(g.Count != nil && *g.Count < 1, "$.gpu.count: minimum 1")
		say(g.MinCudaVersion != "" && !version.MatchString(g.MinCudaVersion), "$.gpu.minCudaVersion: pattern")
		say(slices.ContainsFunc(g.AllowedCudaVersions, func(v string) bool { return !version.MatchString(v) }), "$.gpu.allowedCudaVersions: pattern")
	}
	return why
}

// breaks is the rule between fields that a body breaks, "" if none.
func (q *creation) breaks() string {
	switch {
	case (q.GPU == nil) == (q.CPU == nil):
		return "exactly one of gpu or cpu must be set"
	case q.Image == "":
		return "image is required unless templateId is set"
	case q.Mounts.Persistent != nil && len(q.Mounts.Network) > 0:
		return "mounts.persistent and mounts.network are mutually exclusive"
	case q.CPU != nil && q.Mounts.Persistent != nil:
		return "mounts.persistent is not available on CPU pods"
	case q.GPU != nil && q.GPU.MinCudaVersion != "" && len(q.GPU.AllowedCudaVersions) > 0:
		return "allowedCudaVersions and minCudaVersion are mutually exclusive"
	}
	return ""
}

func (q *creation) count() int {
	if q.GPU.Count == nil {
		return 1
	}
	return *q.GPU.Count
}

// mostSpend is the most that an account may spend in an hour, dollars.
var mostSpend = decimal.NewFromInt(80)

// noMore is the answer to a lack of machines; the spend limit gives the same.
var noMore = fails(http.StatusBadRequest, "There are no longer any instances available with the requested specifications. Please refresh and try again.")

// create makes a pod of one GPU type at one place.
func (r *RunPod) create(c *cloudsim.Call) cloudsim.Answer {
	q := &creation{}
	if err := cloudsim.Parse(c.Body, q); err != nil {
		return invalid("$: " + err.Error())
	}
	if why := q.wrong(); why != nil {
		return invalid(why...)
	}
	if q.TemplateID != nil {
		return fails(http.StatusNotFound, "template "+*q.TemplateID+" not found")
	}
	if why := q.breaks(); why != "" {
		return fails(http.StatusBadRequest, why)
	}
	switch fault := r.World.Faults.Take("create", q.Name, noCapacity, noPool); {
	case q.CPU != nil, fault != nil && fault.Do == noCapacity:
		return noMore
	case fault != nil:
		return fails(http.StatusForbidden, "account cannot access this pool")
	}
	h, refusal := r.place(c.Account, q)
	if refusal != nil {
		return *refusal
	}
	hour := h.price().Mul(decimal.NewFromInt(int64(q.count())))
	switch {
	case r.left(c.Account).LessThan(hour):
		return fails(http.StatusPaymentRequired, "Insufficient balance: an hour of this pod must be covered.")
	case r.burn(c.Account).Add(hour).GreaterThan(mostSpend):
		return noMore
	}
	p := r.begin(c.Account, h, q)
	return cloudsim.JSON(http.StatusCreated, p.row())
}

// place finds a machine with the requested parts.
func (r *RunPod) place(a *cloudsim.Account, q *creation) (*host, *cloudsim.Answer) {
	in := q.DataCenterIDs
	if len(q.Mounts.Network) > 0 {
		v := r.volume(a, q.Mounts.Network[0].VolumeID)
		if v == nil {
			no := fails(http.StatusBadRequest, fmt.Sprintf("network volume %s not found", q.Mounts.Network[0].VolumeID))
			return nil, &no
		}
		if len(in) > 0 && !slices.Contains(in, v.center) {
			return nil, &noMore
		}
		in = []string{v.center}
	}
	cloud := secure
	if q.Cloud != nil {
		cloud = *q.Cloud
	}
	for _, h := range r.hosts {
		if h.gpu.id == q.GPU.ID && h.free() >= q.count() && (len(in) == 0 || slices.Contains(in, h.center)) &&
			(query{cloud: cloud, cudas: q.GPU.AllowedCudaVersions, least: q.GPU.MinCudaVersion}).fits(h) {
			return h, nil
		}
	}
	return nil, &noMore
}
