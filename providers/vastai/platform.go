package vastai

import (
	"cmp"
	"os"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Vast.ai as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Schema describes `backend "vastai"`.
func Schema() offer.Schema { return rental.Schema(Platform{}) }

// NewProvider makes the provider of type vastai.
func NewProvider() *rental.Provider { return rental.New(Platform{}) }

// Type is "vastai".
func (Platform) Type() string { return "vastai" }

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Name: "Vast.ai", Market: true, Verified: "2026-08", Granularity: time.Second, Boot: 3 * time.Minute, Home: "/root",
		Clocks: []offer.Clock{
			{What: "a stopped machine has no claim on its GPU, and its disk and bandwidth are billed until it is released"},
			{What: "at $0 of credit machines are stopped, and without a card deleted"},
		},
		Until: "the host's offer ends: the machine is stopped, and may be deleted with its disk 48h later",
		Stops: true,
		Tiers: []rental.Tier{
			{Name: "container disk", Path: "/", Stop: true, Billed: "by the GB and second while the machine exists, also when it is stopped"},
		},
		Notes: []string{
			"tested on a simulator of Vast.ai; it has not met the live service",
		},
	}
}

// The variables that the service's own command line tool reads.
const (
	EnvKey = "VAST_API_KEY"
	EnvURL = "VAST_URL"
)

// keys are where the key is found: the service's own tool reads these, too.
var keys = rental.KeySource{Cloud: "Vast.ai", Env: EnvKey, Files: []string{"$XDG_CONFIG_HOME/vastai/vast_api_key", "~/.vast_api_key"}}

// Terms are those of its clients.
func (Platform) Terms() rental.Terms { return (*Client)(nil).Terms() }

// Attrs are where the key is found.
func (Platform) Attrs() []offer.Attr { return keys.Attrs() }

// Open makes a client. It reads the key and asks nothing.
func (Platform) Open(b providers.Backend) (rental.Cloud, error) {
	key, err := keys.Find(b)
	if err != nil {
		return nil, err
	}
	return New(Config{URL: cmp.Or(os.Getenv(EnvURL), Server), Key: key, Now: time.Now, Sleep: rental.Sleep}), nil
}
