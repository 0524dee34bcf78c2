package site

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
)

// Request is what the script of like jobs asks for on a partition, by the backend
// block and their options: what a plan shows is what is submitted.
func (c Settings) Request(like *providers.Job, l *cluster.Partition) (script.Request, error) {
	o, err := script.ParseOptions(like.Options)
	if err != nil {
		return script.Request{}, err
	}
	return script.Request{Job: like, Account: c.Account, QoS: cmp.Or(o.QoS, c.QoS), Gres: cluster.Gres(l, o.Spread(like.Shape))}, nil
}

// Facts that a script depends on, and that travel with a pool: the site's names
// for its GPUs, and how many jobs one array may have.
const (
	gres   = "GRES"
	jobsOf = "jobs of an array"
)

// PartitionOf is what a pool says of a partition that a script depends on.
func PartitionOf(p offer.Pool) *cluster.Partition {
	if types := factOf(p, gres); types != "" {
		return cluster.WithTypes(types)
	}
	return nil
}

// ArrayOf is how many jobs one array of a pool's cluster may have.
func ArrayOf(p offer.Pool) int {
	if n, err := strconv.Atoi(factOf(p, jobsOf)); err == nil {
		return n
	}
	return cluster.StandardArray
}

func factOf(p offer.Pool, name string) string {
	if i := slices.IndexFunc(p.Facts, func(f offer.Fact) bool { return f.Name == name }); i >= 0 {
		return p.Facts[i].Value
	}
	return ""
}
