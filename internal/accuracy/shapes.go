package main

import "math"

// shapes are ten campaigns that no forecast was adjusted to, on any site:
// their jobs' times are multiples of unit seconds. Three ask a model for more
// than its history: larger sizes than it has seen, where a constant is added
// to a growing part. burns says that the site's cores are real.
func shapes(unit float64, burns bool) func() []sample {
	grows := func(f func(n, d float64) float64) func(map[string]float64) float64 {
		return func(at map[string]float64) float64 { return unit * f(at["N"], at["d"]) }
	}
	n, d := []float64{1, 2, 4, 8}, []float64{1, 3, 10}
	return func() []sample {
		return []sample{
			{name: "tail", past: 20, held: 40, phases: []phase{{name: "a", takes: flat(unit), spread: 0.3, slow: 0.08, slower: 8}}},
			{name: "bimodal", past: 12, held: 30, phases: []phase{{name: "a", takes: flat(unit), spread: 0.1, slow: 0.4, slower: 5}}},
			{name: "epochs", past: 5, held: 3, unseen: 8, phases: []phase{{name: "a", axes: map[string][]float64{"N": n}, spread: 0.06,
				takes: grows(func(n, _ float64) float64 { return 1.5 + n })}}},
			{name: "product", past: 2, held: 4, phases: []phase{{name: "a", axes: map[string][]float64{"N": n, "d": d}, spread: 0.12,
				takes: grows(func(n, d float64) float64 { return 0.15 * n * d })}}},
			{name: "square", past: 4, held: 4, unseen: 8, phases: []phase{{name: "a", axes: map[string][]float64{"N": n}, spread: 0.06,
				takes: grows(func(n, _ float64) float64 { return 2 + 0.3*n*n })}}},
			{name: "burning", past: 6, held: 16, phases: []phase{{name: "a", takes: flat(0.4), burns: burns, spread: 0.1}}},
			{name: "growing", past: 10, held: 20, phases: []phase{{name: "a", axes: map[string][]float64{"d": {1, 2}}, fails: 0.3, scales: true, spread: 0.15,
				takes: grows(func(_, d float64) float64 { return d })}}},
			{name: "cells", past: 4, held: 8, phases: []phase{
				{name: "a", axes: map[string][]float64{"N": {1, 2, 4}}, takes: grows(func(n, _ float64) float64 { return 0.5 * math.Sqrt(n) }), spread: 0.2},
				{name: "b", axes: map[string][]float64{"N": {1, 2, 4}}, takes: flat(1.2 * unit), spread: 0.3, reads: "a"},
				{name: "c", axes: map[string][]float64{"N": {1, 2, 4}}, takes: grows(func(n, _ float64) float64 { return 0.2 + 0.3*n }), spread: 0.1, reads: "b"}}},
			{name: "caps", past: 4, held: 16, parallel: 5, phases: []phase{
				{name: "a", takes: flat(unit), spread: 0.2, cap: 1},
				{name: "b", axes: map[string][]float64{"d": {1, 2}}, takes: flat(1.5 * unit), spread: 0.4}}},
			{name: "mixed", past: 4, held: 10, phases: []phase{
				{name: "a", axes: map[string][]float64{"d": {1, 2}}, takes: grows(func(_, d float64) float64 { return 2 / d }), spread: 0.15, cpusBy: "d"},
				{name: "b", takes: flat(2 * unit), spread: 0.2, all: "a"}}},
		}
	}
}
