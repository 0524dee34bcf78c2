package slurm

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// request is the request of the script of like jobs on a partition, by the backend block and
// their options: a plan shows the same that is submitted.
func (c settings) request(like *providers.Job, l *cluster.Partition) (scriptRequest, error) {
	o, err := parseOptions(like.Options)
	if err != nil {
		return scriptRequest{}, err
	}
	return scriptRequest{Request: scheduler.Request{Job: like}, Account: c.Account, QoS: cmp.Or(o.QoS, c.QoS), Gres: cluster.Gres(l, o.Spread(like.Shape))}, nil
}

// Facts of a pool that a script depends on: the site's names of its GPUs, and the
// longest array.
const (
	gres   = "GRES"
	jobsOf = "jobs of an array"
)

// Recall takes a pool's facts about its partition for the cluster's answer.
func (b *Site) Recall(p offer.Pool) {
	facts := &cluster.Facts{Partitions: []cluster.Partition{*cluster.WithTypes(factOf(p, gres))}}
	facts.Partitions[0].Name = p.Name
	facts.MaxArray, _ = strconv.Atoi(factOf(p, jobsOf))
	b.facts.Recall(facts)
}

func factOf(p offer.Pool, name string) string {
	if i := slices.IndexFunc(p.Facts, func(f offer.Fact) bool { return f.Name == name }); i >= 0 {
		return p.Facts[i].Value
	}
	return ""
}
