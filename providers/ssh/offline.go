package ssh

import (
	"encoding/json"
	"fmt"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/offline"
)

// Offline plans for hosts from the backend block alone; what reaches them
// comes later.
func Offline() providers.Provider { return offline.New(Schema(), facts) }

// facts are the GPUs that the block names; without them a host's size is not
// known, and nothing is said to misfit.
func facts(b providers.Backend) ([]offer.Pool, error) {
	var c struct {
		Host  string   `json:"host"`
		Hosts []string `json:"hosts"`
		GPUs  []int    `json:"gpus"`
	}
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return nil, fmt.Errorf("read the settings of backend.%s: %w", b.Name, err)
		}
	}
	pool := offer.Pool{Backend: b.Name, Word: "host", GPUs: len(c.GPUs), Total: len(c.GPUs), Idle: -1, Wait: -1, Price: b.Price, Source: "the backend block"}
	if !pool.Price.Known {
		pool.Price.Known = true // planner.md: without price, ssh costs a known $0
	}
	if len(c.Hosts) == 0 {
		return []offer.Pool{pool}, nil
	}
	var out []offer.Pool
	for _, h := range c.Hosts {
		p := pool
		p.Name = h
		out = append(out, p)
	}
	return out, nil
}
