package main

import (
	"fmt"
	"time"
)

// A site is where campaigns are tried, and what is held back for it.
type site struct {
	name      string        // of the backend
	unit      string        // in which cost is compared
	settles   time.Duration // after the history: what ended holds no place any more
	block     func(dir string) string
	campaigns func() []sample
}

// hourly is the price of an hour: one unit a second, so that hundredths show.
const hourly = 3600

var sites = map[string]site{
	"local": {
		name: "local.local", unit: "usd", campaigns: campaigns,
		block: func(string) string {
			return fmt.Sprintf("backend \"local\" \"local\" {\n  price = { usd_per_hour = %d }\n}\n", hourly)
		},
	},
	// The cluster is whichever Slurm's commands reach; internal/lab/slurm-up
	// brings one up.
	"slurm": {
		name: "slurm.lab", unit: "service_units", settles: 5 * time.Second, campaigns: clusterCampaigns,
		block: func(dir string) string {
			return fmt.Sprintf("backend \"slurm\" \"lab\" {\n  workdir = %q\n  price   = { service_units_per_cpu_hour = %d, service_units_per_gpu_hour = %d }\n}\n", dir, hourly, 10*hourly)
		},
	},
}
