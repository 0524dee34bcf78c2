package lambda

import (
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Lambda Cloud as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Facts are from the service's documentation. There is no stop, and no key that could
// do less than all: nothing but muster or a person ends a machine.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Type: "lambda", Server: "https://cloud.lambda.ai/api/v1", ServerEnv: "LAMBDA_CLOUD_API_URL",
		// The service's own command line tool reads these, too.
		Keys:  rental.KeySource{Env: "LAMBDA_API_KEY"},
		Terms: rental.Terms{Lag: 2 * time.Minute, Boot: 25 * time.Minute, Unit: time.Minute}, // eight GPUs were seen to boot for a quarter of an hour
		Name:  "Lambda", Whole: true, Verified: "2026-08", Granularity: time.Minute, Boot: 6 * time.Minute, Home: "/home/ubuntu",
		Tiers: []rental.Tier{
			{Name: "local disk", Path: "/", Billed: "with the machine"},
			{Name: "file system", Path: "/lambda/nfs", Release: true, Billed: "$0.20 a GiB and month, until it is deleted"},
		},
		Clocks: []offer.Clock{
			{What: "a machine that was shut down from within is billed on: only a release ends the bill, and deletes its files"},
			{What: "a file system is billed until somebody deletes it in the console"},
		},
		Notes: []string{
			"nothing but a release ends the bill: there is no stop, and a machine that was shut down from within is billed on",
			"the capacity that Lambda shows may be gone: another region, then another type, is tried",
			"tested on a simulator of Lambda Cloud; it has not met the live service",
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
