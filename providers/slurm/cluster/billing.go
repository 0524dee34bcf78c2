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

// Billing is the billing TRES of a job on a partition, by the partition's weights;
// without weights it is the number of cores. slurm.conf(5), TRESBillingWeights;
// PriorityFlags, MAX_TRES: the largest TRES of a node counts, not the sum.
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

// Given is the allocation of a job of a shape on shared nodes: the default
// memory if it requests none, as many cores as its memory needs (MaxMemPerCPU),
// and whole cores. All of it is charged. sbatch(1), --mem, --threads-per-core;
// seen on 22.05.
func (l *Partition) Given(shape offer.Shape) offer.Shape {
	shape = shape.Given()
	nodes := max(shape.Nodes, 1)
	cores := nodes * max(l.threads, 1) // the least that is added to it
	whole := func(cpus int) int { return (cpus + cores - 1) / cores * cores }
	shape.CPUs = whole(max(shape.CPUs, nodes))
	switch {
	case shape.Memory > 0:
	case l.memCPU > 0:
		shape.Memory = l.memCPU * int64(shape.CPUs)
	case l.memNode > 0:
		shape.Memory = l.memNode * int64(nodes)
	}
	if l.maxMemCPU > 0 {
		each := (asks(shape, true).memory + l.maxMemCPU - 1) / l.maxMemCPU
		shape.CPUs = whole(max(shape.CPUs, int(each)*nodes))
	}
	return shape
}

// OneThread is the allocation of a job that runs one thread per core: a core, with
// all its threads, for each requested CPU, and the default memory of one.
// sbatch(1), --hint; seen on 22.05.
func (l *Partition) OneThread(shape offer.Shape) offer.Shape {
	shape.CPUs = max(shape.CPUs, shape.Nodes, 1)
	if shape.Memory == 0 {
		shape.Memory = l.memCPU * int64(shape.CPUs)
	}
	shape.CPUs *= max(l.threads, 1)
	return shape
}

// wholeCores reports whether jobs get whole cores: all threads of each, which
// Slurm counts as CPUs. slurm.conf(5), SelectTypeParameters; with CR_CPU two jobs
// may share a core.
func wholeCores(config map[string]string) bool {
	text := strings.ToUpper(config["SelectTypeParameters"])
	return strings.Contains(text, "CR_CORE") || strings.Contains(text, "CR_SOCKET")
}

// parseThreads reads scontrol -o show nodes: the threads of a core of each
// partition's nodes, the most where they differ.
func parseThreads(out string) map[string]int {
	by := map[string]int{}
	for line := range strings.Lines(out) {
		f := parseWords(line)
		for _, p := range nameList(f["Partitions"]) {
			by[p] = max(by[p], number(f["ThreadsPerCore"]))
		}
	}
	return by
}

// memoryOf sets a partition's memory limits from the cluster's configuration where
// it has none of its own. If memory is allocated and has no default, a job that
// requests none gets all of its node's.
func (l *Partition) memoryOf(config map[string]string) {
	if l.maxMemCPU == 0 {
		l.maxMemCPU = megabytes(config["MaxMemPerCPU"])
	}
	if l.memCPU > 0 || l.memNode > 0 {
		return
	}
	l.memCPU, l.memNode = megabytes(config["DefMemPerCPU"]), megabytes(config["DefMemPerNode"])
	if l.memCPU == 0 && l.memNode == 0 && strings.Contains(strings.ToUpper(config["SelectTypeParameters"]), "MEMORY") {
		l.memNode = l.Memory
	}
}

// megabytes is a size of Slurm's in MB, in bytes; 0 = none, or no limit.
func megabytes(text string) int64 { return int64(number(text)) << 20 }

// Whole is the allocation of a job of a shape that has its nodes for itself: all
// cores and GPUs, and the memory that it requests. sbatch(1), --exclusive; seen on
// 22.05.
func (l *Partition) Whole(shape offer.Shape) offer.Shape {
	nodes := max(shape.Nodes, 1)
	shape.Nodes, shape.CPUs, shape.GPUs = nodes, max(shape.CPUs, l.CPUs*nodes), max(shape.GPUs, l.nodeGPUs()*nodes)
	return shape
}

// nodeGPUs is how many GPUs of one model a node has at most.
func (l *Partition) nodeGPUs() (n int) {
	for _, has := range l.GPUs {
		n = max(n, has)
	}
	return n
}
