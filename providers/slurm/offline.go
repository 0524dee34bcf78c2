package slurm

import (
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/offline"
)

// Offline plans for Slurm from site profiles alone; what drives a cluster
// comes later.
func Offline() providers.Provider { return offline.New(Schema(), facts) }

// facts are the pools of a backend's profile. What is free and how long the
// queue is, nobody was asked.
func facts(b providers.Backend) ([]offer.Pool, error) {
	if b.Profile == "" {
		return nil, &providers.Error{Class: providers.Invalid, Summary: "This muster knows a cluster by its profile only", Hint: "Write profile = \"NAME\" in the backend block; there are: " + profileNames()}
	}
	p, err := Load(b.Profile, b.Name)
	if err != nil {
		return nil, providers.Errorf(providers.Invalid, "%v", err)
	}
	for i := range p.Pools {
		p.Pools[i].Idle, p.Pools[i].Wait = -1, -1
	}
	return p.Pools, nil
}
