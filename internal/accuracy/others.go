package main

// otherCampaigns are ten more for a cluster, of kinds that the first ten have
// not: pipelines of four phases, a wide sweep under a cap, jobs that cores or
// the GPUs of one node keep apart, a history of small sizes for large ones,
// strangers on the GPUs, phases on two partitions, delays between launches.
func otherCampaigns() []sample {
	n := map[string][]float64{"N": {1, 2, 4, 8}}
	line := func(a, b float64) func(map[string]float64) float64 {
		return func(at map[string]float64) float64 { return a + b*at["N"] }
	}
	kinds := func(at map[string]float64) float64 { return map[float64]float64{1: 9, 2: 3, 3: 6}[at["d"]] }
	return []sample{
		{name: "pipeline", past: 3, held: 8, phases: []phase{
			{name: "a", takes: flat(4), spread: 0.3},
			{name: "b", takes: flat(6), spread: 0.2, reads: "a", gpus: 1},
			{name: "c", takes: flat(3), spread: 0.3, reads: "b"},
			{name: "d", takes: flat(5), spread: 0.1, reads: "c", gpus: 1}}},
		{name: "sweep", past: 8, held: 72, parallel: 8, phases: []phase{{name: "a", takes: flat(4), spread: 0.3}}},
		{name: "cores", past: 4, held: 20, phases: []phase{{name: "a", takes: flat(6), spread: 0.1, cpus: 32}}},
		{name: "two-gpus", past: 3, held: 10, phases: []phase{{name: "a", takes: flat(6), spread: 0.1, gpus: 2}}},
		{name: "larger", past: 6, held: 3, unseen: 4, phases: []phase{{name: "a", axes: n, takes: line(0, 2), spread: 0.1, gpus: 1}}},
		{name: "overhead", past: 6, held: 3, unseen: 4, phases: []phase{{name: "a", axes: n, takes: line(4, 1), spread: 0.05, gpus: 1}}},
		{name: "partitions", past: 4, held: 12, phases: []phase{
			{name: "a", takes: flat(5), spread: 0.2, gpus: 1},
			{name: "b", axes: n, takes: line(2, 1), spread: 0.1, cpus: 8},
			{name: "c", takes: flat(4), spread: 0.1, reads: "a"}}},
		{name: "delays", past: 10, held: 20, phases: []phase{{name: "a", takes: flat(5), spread: 0.2, fails: 0.3, delay: "4s", gpus: 1}}},
		{name: "strangers", past: 6, held: 15, strangers: 3, phases: []phase{{name: "a", takes: flat(6), spread: 0.2, gpus: 1}}},
		{name: "kinds", past: 4, held: 8, phases: []phase{{name: "a", axes: map[string][]float64{"d": {1, 2, 3}}, takes: kinds, spread: 0.1, gpus: 1}}},
	}
}
