package vastai

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Vast.ai as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Type: "vastai", Server: server, ServerEnv: "VAST_URL",
		// The service's own command line tool reads these, too.
		Keys:  rental.KeySource{Env: "VAST_API_KEY", Files: []string{"$XDG_CONFIG_HOME/vastai/vast_api_key", "~/.vast_api_key"}},
		Terms: rental.Terms{Lag: 2 * time.Minute, Boot: 15 * time.Minute, Settles: time.Minute}, // a list was seen to lag a minute; an image takes minutes to arrive
		Name:  "Vast.ai", Market: true, Verified: "2026-08", Granularity: time.Second, Boot: 3 * time.Minute, Home: "/root",
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

// Open makes a client. It reads the key and asks nothing.
func (p Platform) Open(b providers.Backend) (rental.Cloud, error) {
	a, err := p.Facts().Access(b)
	if err != nil {
		return nil, err
	}
	return New(a), nil
}
