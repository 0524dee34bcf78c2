package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// nodeFacts are the resources of one node.
type nodeFacts struct {
	name     string
	cpus     int
	memory   int64          // bytes
	gpus     map[string]int // by type
	features []string
	down     bool // until somebody repairs it: it is down, drained or does not answer
	ready    bool // it takes jobs now, and has a core idle
	asleep   bool // it is powered down, and started for a job
}

// addNode notes a node, by sinfo's fields.
func (p *Partition) addNode(f []string) {
	n := nodeFacts{name: f[0], gpus: parseGres(f[5]), features: nameList(f[7]), down: gone(f[2])}
	n.asleep = takesJobs(f[2]) && strings.Contains(f[2], "~")
	if cpus := strings.Split(f[3], "/"); len(cpus) == 4 { // allocated/idle/other/total
		n.cpus, _ = strconv.Atoi(cpus[3])
		n.ready = takesJobs(f[2]) && !n.asleep && (number(cpus[1]) > 0 || strings.HasPrefix(f[2], completing))
	}
	if mib, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		n.memory = mib << 20
	}
	p.nodes = append(p.nodes, n)
}

// gone reports whether a node in a state of sinfo's returns only after a repair. A
// node that is powered down, rebooted or in maintenance returns by itself.
// sinfo(1), NODE STATE CODES.
func gone(state string) bool {
	if strings.ContainsAny(state, "~#!%$@^") || strings.Contains(state, "maint") || strings.Contains(state, "boot") || strings.Contains(state, "power") {
		return false
	}
	for _, bad := range []string{"down", "drain", "fail", "inval", "error"} {
		if strings.Contains(state, bad) {
			return true
		}
	}
	return strings.Contains(state, "*")
}

// has reports whether a node meets all needs of each node of a job at once.
// named says that the site has the models by these names.
func (n *nodeFacts) has(each amounts, models []string, named bool, wanted []string) bool {
	if n.cpus > 0 && each.cpus > n.cpus || n.memory > 0 && each.memory > n.memory {
		return false
	}
	if each.gpus > 0 && !n.hasGPUs(each.gpus, models, named) {
		return false
	}
	return !slices.ContainsFunc(wanted, func(f string) bool { return !slices.Contains(n.features, f) })
}

// hasGPUs reports whether a node has so many GPUs of one of some models, as far
// as their type tells: a site may call them otherwise, where none is named so.
func (n *nodeFacts) hasGPUs(count int, models []string, named bool) bool {
	sum := 0
	for model, has := range n.gpus {
		sum += has
		if has >= count && slices.ContainsFunc(models, func(m string) bool { return SameGPU(m, model) }) {
			return true
		}
	}
	return sum >= count && (len(models) == 0 || len(n.gpus) == 1 && !named || n.all(models))
}

// all reports whether every GPU of a node has one of these models.
func (n *nodeFacts) all(models []string) bool {
	for model := range n.gpus {
		if !slices.ContainsFunc(models, func(m string) bool { return SameGPU(m, model) }) {
			return false
		}
	}
	return true
}

// SameGPU reports whether a model as people write it, "A100", is one of a
// site's types, "a100", "nvidia_a100-sxm4-80gb".
func SameGPU(model, gres string) bool {
	parts := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune("_-:. ", r) })
	}
	has := parts(gres)
	return strings.EqualFold(model, gres) || !slices.ContainsFunc(parts(model), func(w string) bool { return w != "nvidia" && w != "amd" && !slices.Contains(has, w) })
}

// together are the nodes of a partition that have all that a job needs of each.
func (l *Partition) together(shape offer.Shape, constraint string) (list []*nodeFacts) {
	named := slices.ContainsFunc(shape.GPU.Models, l.HasGPU)
	for i := range l.nodes {
		if n := &l.nodes[i]; n.has(asks(shape, true), shape.GPU.Models, named, required(constraint)) {
			list = append(list, n)
		}
	}
	return list
}

// required are the features of a constraint that each node must have: those of
// "a100&ib"; of one that offers a choice none are.
func required(constraint string) []string {
	if strings.ContainsAny(constraint, "|[(*") {
		return nil
	}
	return features(constraint)
}

// Lacks names the needs of a job that a partition's nodes do not meet, where
// there are nodes for each need but not for all of them at once, or too few,
// and which one need less would do; "" if they meet all.
func (l *Partition) Lacks(shape offer.Shape, constraint string) (why, would string) {
	if len(l.nodes) == 0 {
		return "", ""
	}
	nodes := max(shape.Nodes, 1)
	if l.maxCPUs > 0 && asks(shape, true).cpus > l.maxCPUs {
		return fmt.Sprintf("partition %s gives a job %d cores of a node at most, but the job requests %d", l.Name, l.maxCPUs, asks(shape, true).cpus),
			fmt.Sprintf("ask for at most cpus = %d", l.maxCPUs*nodes)
	}
	if l.maxMem > 0 && asks(shape, true).memory > l.maxMem {
		m := measures[1]
		return fmt.Sprintf("partition %s gives a job %s of memory of a node at most, but the job requests %s", l.Name, m.text(l.maxMem), m.text(asks(shape, true).memory)),
			"ask for at most memory = " + m.value(l.maxMem*int64(nodes))
	}
	if l.maxMemCPU > 0 { // Slurm gives a job as many cores as its memory takes
		if cores := int((asks(shape, true).memory + l.maxMemCPU - 1) / l.maxMemCPU); l.CPUs > 0 && cores > l.CPUs {
			m := measures[1]
			return fmt.Sprintf("partition %s gives a job %s of memory a core at most: %s would take %d cores, its nodes have %d", l.Name, m.text(l.maxMemCPU), m.text(asks(shape, true).memory), cores, l.CPUs),
				"ask for at most memory = " + m.value(l.maxMemCPU*int64(l.CPUs*nodes))
		}
	}
	n := len(l.together(shape, constraint))
	switch {
	case n >= nodes:
		return "", ""
	case n == 0:
		return fmt.Sprintf("no node of partition %s has %s at once", l.Name, needs(shape, constraint)), l.less(shape, constraint)
	}
	return fmt.Sprintf("partition %s has %s with %s, but the job requests %d", l.Name, units.Count(n, "node"), needs(shape, constraint), nodes), l.less(shape, constraint)
}

// needs is the needs of each node of a job, in words.
func needs(shape offer.Shape, constraint string) string {
	var words []string
	each := asks(shape, true)
	for _, m := range measures[:3] {
		n := m.get(each)
		switch {
		case n <= 0:
		case m.name == "memory":
			words = append(words, m.text(n)+" "+m.word)
		default:
			words = append(words, units.Count(int(n), strings.TrimSuffix(m.word, "s")))
		}
		if m.name == "gpus" && n > 0 && len(shape.GPU.Models) > 0 {
			words[len(words)-1] += " of model " + strings.Join(shape.GPU.Models, " or ")
		}
	}
	for _, f := range required(constraint) {
		words = append(words, "feature "+f)
	}
	return strings.Join(words, ", ")
}

// broken says that all nodes of a partition which would do are down or drained,
// or too many of them.
func (l *Partition) broken(shape offer.Shape) string {
	var down []string
	all := l.together(shape, "")
	for _, n := range all {
		if n.down {
			down = append(down, n.name)
		}
	}
	if len(down) == 0 || len(all)-len(down) >= max(shape.Nodes, 1) {
		return ""
	}
	slices.Sort(down)
	names := strings.Join(down[:min(len(down), 4)], ", ")
	if len(down) > 4 {
		names += fmt.Sprintf(" and %d more", len(down)-4)
	}
	return fmt.Sprintf("the nodes of partition %s that fit are down or drained (%s; `sinfo -R` says why)", l.Name, names)
}
