package paperspace

import (
	"encoding/json"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Paperspace as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Facts are from the service's documentation.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Type: "paperspace", Server: "https://api.paperspace.com/v1", ServerEnv: "PAPERSPACE_API_URL",
		// The service's own command line tool reads these, too.
		Keys:  rental.KeySource{Env: "PAPERSPACE_API_KEY"},
		Terms: rental.Terms{Lag: 2 * time.Minute, Boot: 15 * time.Minute, Unit: time.Hour}, // nothing is published about lists
		Attrs: []offer.Attr{
			{Name: "auto_shutdown", Type: offer.Duration, Default: `"1d"`, Doc: "Paperspace's own timer, which stops a machine so long after its start, whatever becomes of muster: whole hours, 1 to 168. Longer jobs do not run. Not set with `on_hold = \"keep\"`."},
			{Name: "template", Type: offer.String, Doc: "Id of the operating system template. Default: one with Ubuntu that is for the machine's type, ML-in-a-Box before others."},
		},
		Name: "Paperspace", Whole: true, Verified: "2026-08", Granularity: time.Hour, Boot: 4 * time.Minute, Home: "/home/paperspace", Stops: true, Timer: true,
		Tiers: []rental.Tier{
			{Name: "disk", Path: "/", Stop: true, Billed: "by its size and hour while the machine exists, also when it is stopped"},
		},
		Until: "Paperspace's timer stops a machine that is rented now (auto_shutdown)",
		Clocks: []offer.Clock{
			{What: "the disk of a stopped machine is billed until it is released"},
			{What: "a snapshot and a claimed address are billed on after a release: muster makes none"},
		},
		Notes: []string{
			"prices are those of the public page of 2026-09: the API tells none before a machine is rented, and one that is dearer then is given back",
			"compute is counted by the hour that began",
			"tested on a simulator of Paperspace; it has not met the live service",
		},
	}
}

// longestTimer is a week.
const longestTimer = 168 * time.Hour

// Open makes a client. It reads the key and asks nothing.
func (p Platform) Open(b providers.Backend) (rental.Cloud, error) {
	s := struct {
		AutoShutdown int64  `json:"auto_shutdown"` // seconds
		Template     string `json:"template"`
	}{AutoShutdown: 24 * 3600}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &s); err != nil {
			return nil, providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	timer := time.Duration(s.AutoShutdown) * time.Second
	if timer < time.Hour || timer > longestTimer || timer%time.Hour != 0 {
		return nil, providers.Errorf(providers.Invalid, "backend.%s: auto_shutdown is %s: whole hours, 1 to 168", b.Name, timer)
	}
	if b.OnHold == "keep" {
		timer = 0
	}
	a, err := p.Facts().Access(b)
	if err != nil {
		return nil, err
	}
	return New(Config{Access: a, Timer: timer, Template: s.Template}), nil
}
