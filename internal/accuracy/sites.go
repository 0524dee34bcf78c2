package main

import (
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A site is a place where campaigns are tried, with its withheld runs.
type site struct {
	name      string        // of the backend
	unit      string        // in which cost is compared
	settles   time.Duration // after the history: ended jobs hold no place any more
	block     func(dir string) string
	campaigns func() []sample
	others    func() []sample // of other kinds; nil = none
	shapes    func() []sample // those that are the same on every site
	// crowd has strangers hold so many GPUs until leave is called.
	crowd func(gpus int) (leave func(), err error)
}

// set is one of the site's sets of campaigns, nil where it has none of that name.
func (at site) set(name string) func() []sample {
	return map[string]func() []sample{"first": at.campaigns, "others": at.others, "shapes": at.shapes}[name]
}

// hourly is the price of an hour: one unit a second, so that hundredths show.
const hourly = 3600

var sites = map[string]site{
	"local": {
		name: "local.local", unit: "usd", campaigns: campaigns, shapes: shapes(0.5, true),
		block: func(string) string {
			return fmt.Sprintf("backend \"local\" \"local\" {\n  price = { usd_per_hour = %d }\n}\n", hourly)
		},
	},
	// The cluster is whichever Slurm's commands reach; internal/lab/slurm-up
	// brings one up.
	"slurm": {
		name: "slurm.lab", unit: "service_units", settles: 5 * time.Second, campaigns: clusterCampaigns, others: otherCampaigns, shapes: shapes(4, false), crowd: strangers,
		block: func(dir string) string {
			return fmt.Sprintf("backend \"slurm\" \"lab\" {\n  workdir = %q\n  price   = { service_units_per_cpu_hour = %d, service_units_per_gpu_hour = %d }\n}\n", dir, hourly, 10*hourly)
		},
	},
}

// strangers hold GPUs of the cluster, each by a job of its own.
func strangers(gpus int) (leave func(), err error) {
	var ids []string
	leave = func() { _ = exec.Command("scancel", ids...).Run() }
	for range gpus {
		out, err := exec.Command("sbatch", "--parsable", "--partition=aa100", "--gres=gpu:1", "--time=60", "--output=/dev/null", "--wrap", "sleep 3600").Output()
		if err != nil {
			leave()
			return nil, fmt.Errorf("sbatch a stranger's job: %w", err)
		}
		ids = append(ids, strings.TrimSpace(string(out)))
	}
	for {
		out, err := exec.Command("squeue", "-h", "-t", "PD", "-j", strings.Join(ids, ",")).Output()
		if err != nil {
			leave()
			return nil, fmt.Errorf("squeue strangers' jobs: %w", err)
		}
		if len(out) == 0 {
			return leave, nil
		}
		time.Sleep(time.Second)
	}
}
