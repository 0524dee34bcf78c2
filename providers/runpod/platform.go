package runpod

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is RunPod as a type of backend.
type Platform struct{}

var (
	_ rental.Platform   = Platform{}
	_ rental.SelfEnder  = Platform{}
	_ rental.SelfProver = Platform{}
)

// Schema describes `backend "runpod"`.
func Schema() offer.Schema { return rental.Schema(Platform{}) }

// NewProvider makes the provider of type runpod.
func NewProvider() *rental.Provider { return rental.New(Platform{}) }

// Type is "runpod".
func (Platform) Type() string { return "runpod" }

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Name: "RunPod", Verified: "2026-08", Granularity: time.Second, Boot: 2 * time.Minute, Home: "/root", Stops: true,
		Tiers: []rental.Tier{
			{Name: "container disk", Path: "/", Billed: "by the GB while the pod runs"},
			{Name: "pod's volume", Path: Kept, Stop: true, Billed: "by the GB, at twice the price when stopped"},
		},
		Clocks: []offer.Clock{
			{What: "a stopped pod has no claim on its GPU and may start without one, and its " + Kept + " is billed at twice the price"},
			{What: "a stopped pod is said to be removed", After: 30 * 24 * time.Hour},
			{What: "at $0 of balance pods are stopped, and those without a network volume deleted"},
		},
		Notes: []string{
			"a stop wipes a pod's disk but for " + Kept,
			"tested on a simulator of RunPod; it has not met the live service",
		},
	}
}

// Kept is where the disk of a pod is mounted that survives a stop.
const Kept = "/workspace"

// The variables with the key, which the service's own command line tool reads, too,
// and the server.
const (
	EnvKey = "RUNPOD_API_KEY"
	EnvURL = "RUNPOD_API_URL"
)

var keys = rental.KeySource{Cloud: "RunPod", Env: EnvKey}

// Terms are those of its clients.
func (Platform) Terms() rental.Terms { return (*Client)(nil).Terms() }

// Attrs are what else can be chosen of a pod, and where the key is found.
func (Platform) Attrs() []offer.Attr {
	return append([]offer.Attr{
		{Name: "cloud", Type: offer.String, Default: `"secure"`, Doc: "`secure` (data centres) or `community` (machines of others, which may vanish with their disk)."},
		{Name: "data_centers", Type: offer.StringList, Doc: "Data centres to rent in: `[\"EU-RO-1\"]`. Default: any."},
		{Name: "network_volume", Type: offer.String, Doc: "ID of a network volume to mount on `/workspace`. It survives every pod, is billed apart, and ties pods to its data centre; `disk` is then the rest of the pod's disk."},
	}, keys.Attrs()...)
}

// settings are those of this cloud alone.
type settings struct {
	Cloud       string   `json:"cloud"`
	DataCenters []string `json:"data_centers"`
	Volume      string   `json:"network_volume"`
}

func readSettings(b providers.Backend) (s settings, err error) {
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &s); err != nil {
			return s, providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	s.Cloud = cmp.Or(strings.ToUpper(s.Cloud), secure)
	switch {
	case s.Cloud != secure && s.Cloud != community:
		return s, providers.Errorf(providers.Invalid, "backend.%s: cloud is %q: secure or community", b.Name, strings.ToLower(s.Cloud))
	case s.Volume != "" && s.Cloud == community:
		return s, providers.Errorf(providers.Invalid, "backend.%s: network volumes are in secure data centres: leave out cloud or network_volume", b.Name)
	case b.Workdir != "" && b.Workdir != Kept && !strings.HasPrefix(b.Workdir, Kept+"/"):
		return s, providers.Errorf(providers.Invalid, "backend.%s: workdir is %s: write a folder of %s, since a stop wipes the rest of a pod's disk", b.Name, b.Workdir, Kept)
	}
	return s, nil
}

// Open makes a client. It reads the key and asks nothing.
func (Platform) Open(b providers.Backend) (rental.Cloud, error) {
	s, err := readSettings(b)
	if err != nil {
		return nil, err
	}
	key, err := keys.Find(b)
	if err != nil {
		return nil, err
	}
	return New(Config{URL: cmp.Or(os.Getenv(EnvURL), Server), Key: key, Now: time.Now, Sleep: rental.Sleep, settings: s}), nil
}
