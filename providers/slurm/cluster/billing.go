package cluster

import (
	"math"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/offer"
)

// parseWeights reads a partition's TRESBillingWeights: "CPU=1.0,Mem=0.25G,
// GRES/gpu=2.0". A weight of memory counts for each unit of its suffix, MB
// without one. slurm.conf(5). Names are in lower case, memory's for each MB.
func parseWeights(text string) map[string]float64 {
	var out map[string]float64
	for name, value := range parseTRES(text) {
		name = strings.ToLower(name)
		per := 1.0
		if i := strings.IndexAny("KMGTP", last(value)); name == "mem" && i >= 0 {
			value, per = value[:len(value)-1], math.Pow(1024, float64(i-1))
		}
		w, err := strconv.ParseFloat(value, 64)
		if err != nil || w < 0 {
			continue
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[name] = w / per
	}
	return out
}

func last(s string) string {
	if s == "" {
		return "-"
	}
	return s[len(s)-1:]
}

// Billing is the billing TRES of a job on a partition, in units of the site's, as Slurm reckons it from a partition's
// weights; where there are none it is the number of cores. slurm.conf(5),
// TRESBillingWeights; PriorityFlags, MAX_TRES: the largest of what a node
// gives counts, and not the sum.
func (s *Facts) Billing(l *Partition, shape offer.Shape) int {
	nodes := max(shape.Nodes, 1)
	cpus := max(shape.CPUs, nodes)
	if len(l.weights) == 0 {
		return cpus
	}
	gpus := l.weights["gres/gpu"]
	for name, w := range l.weights {
		if model, ok := strings.CutPrefix(name, "gres/gpu:"); ok && l.GPUs[model] > 0 {
			gpus = max(gpus, w)
		}
	}
	parts := []float64{l.weights["cpu"] * float64(cpus), l.weights["mem"] * float64(shape.Memory>>20), gpus * float64(shape.GPUs), l.weights["node"] * float64(nodes)}
	sum, most := 0.0, 0.0
	for _, v := range parts {
		sum, most = sum+v, max(most, v)
	}
	if s.maxTRES {
		sum = most
	}
	return int(sum)
}

// Whole is what a job of a shape is given that has its nodes for itself: all
// their cores and GPUs, and the memory that it asks for. sbatch(1), --exclusive;
// seen on 22.05.
func (l *Partition) Whole(shape offer.Shape) offer.Shape {
	nodes := max(shape.Nodes, 1)
	gpus := 0
	for _, n := range l.GPUs {
		gpus = max(gpus, n)
	}
	shape.Nodes, shape.CPUs, shape.GPUs = nodes, max(shape.CPUs, l.CPUs*nodes), max(shape.GPUs, gpus*nodes)
	return shape
}
