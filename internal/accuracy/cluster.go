package main

import "math"

// clusterCampaigns differ in the difficulties of a forecast on a cluster: queues
// behind its few GPUs, arrays with a cap, dependencies between arrays cell by
// cell and as a whole, requeues, and the seconds that a scheduler takes to start
// a job, beside jobs of a few seconds.
func clusterCampaigns() []sample {
	n := map[string][]float64{"N": {1, 2, 4, 8}}
	two := map[string][]float64{"N": {1, 3}}
	line := func(a, b float64) func(map[string]float64) float64 {
		return func(at map[string]float64) float64 { return a + b*at["N"] }
	}
	return []sample{
		{name: "flat", past: 6, held: 24, phases: []phase{{name: "a", takes: flat(8), spread: 0.1, gpus: 1}}},
		{name: "short", past: 10, held: 60, phases: []phase{{name: "a", takes: flat(2), spread: 0.3, gpus: 1}}},
		{name: "linear", past: 3, held: 6, phases: []phase{{name: "a", axes: n, takes: line(0, 2), spread: 0.1, gpus: 1}}},
		{name: "two-axes", past: 2, held: 4, phases: []phase{{name: "a", axes: map[string][]float64{"N": {1, 2, 4}, "d": {1, 3}}, takes: func(at map[string]float64) float64 { return 1.2 * math.Pow(at["N"], 1.5) * at["d"] }, spread: 0.15, gpus: 1}}},
		{name: "skewed", past: 10, held: 30, phases: []phase{{name: "a", takes: flat(5), spread: 0.7, gpus: 1}}},
		{name: "retries", past: 10, held: 24, phases: []phase{{name: "a", takes: flat(6), spread: 0.1, fails: 0.25, gpus: 1}}},
		{name: "capped", past: 6, held: 18, parallel: 3, phases: []phase{{name: "a", takes: flat(6), spread: 0.2}}},
		{name: "edges", past: 3, held: 9, phases: []phase{
			{name: "teach", axes: two, takes: line(0, 4), spread: 0.1, gpus: 1},
			{name: "learn", axes: two, takes: flat(6), spread: 0.2, reads: "teach", gpus: 1}}},
		{name: "chain", past: 3, held: 5, phases: []phase{
			{name: "a", takes: flat(6), spread: 0.1, cpus: 4},
			{name: "b", axes: n, takes: line(3, 0.5), spread: 0.1, all: "a"},
			{name: "c", axes: n, takes: flat(3), spread: 0.1, reads: "b", gpus: 3}}},
		{name: "serial", past: 3, held: 6, parallel: 1, phases: []phase{{name: "a", axes: two, takes: line(2, 1), spread: 0.05}}},
	}
}
