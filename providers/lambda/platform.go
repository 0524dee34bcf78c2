package lambda

import (
	"cmp"
	"os"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Platform is Lambda Cloud as a type of backend.
type Platform struct{}

var _ rental.Platform = Platform{}

// Schema describes `backend "lambda"`.
func Schema() offer.Schema { return rental.Schema(Platform{}) }

// NewProvider makes the provider of type lambda.
func NewProvider() *rental.Provider { return rental.New(Platform{}) }

// Type is "lambda".
func (Platform) Type() string { return "lambda" }

// Facts are from the service's documentation. There is no stop, and no key that could
// do less than all: nothing but muster or a person ends a machine.
func (Platform) Facts() rental.Facts {
	return rental.Facts{
		Name: "Lambda", Whole: true, Verified: "2026-08", Granularity: time.Minute, Boot: 6 * time.Minute, Home: "/home/ubuntu",
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

// The variables that a public command line tool for the service reads.
const (
	EnvKey = "LAMBDA_API_KEY"
	EnvURL = "LAMBDA_CLOUD_API_URL" // with /api/v1 at its end
)

var keys = rental.KeySource{Cloud: "Lambda", Env: EnvKey}

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
