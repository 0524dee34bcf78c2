package runpod

import (
	"cmp"
	"encoding/json"
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

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Type: "runpod", Server: server, ServerEnv: "RUNPOD_API_URL",
		// The service's own command line tool reads these, too.
		Keys: rental.KeySource{Env: "RUNPOD_API_KEY"},
		// The documentation promises no complete list after a create; bills are written
		// every five minutes; an image that is not RunPod's takes minutes to arrive.
		Terms: rental.Terms{Lag: time.Minute, Boot: 15 * time.Minute, Settles: 10 * time.Minute},
		Attrs: []offer.Attr{
			{Name: "cloud", Type: offer.String, Default: `"secure"`, Doc: "`secure` (data centres) or `community` (machines of others, which may vanish with their disk)."},
			{Name: "data_centers", Type: offer.StringList, Doc: "Data centres to rent in: `[\"EU-RO-1\"]`. Default: any."},
			{Name: "network_volume", Type: offer.String, Doc: "ID of a network volume to mount on `/workspace`. It survives every pod, is billed apart, and ties pods to its data centre; `disk` is then the rest of the pod's disk."},
		},
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
func (p Platform) Open(b providers.Backend) (rental.Cloud, error) {
	s, err := readSettings(b)
	if err != nil {
		return nil, err
	}
	a, err := p.Facts().Access(b)
	if err != nil {
		return nil, err
	}
	return New(Config{Access: a, settings: s}), nil
}
