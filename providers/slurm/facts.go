package slurm

import (
	"cmp"
	"context"
	"slices"

	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Facts are those of the cluster, at most facts.Fresh old.
func (b *Site) Facts(ctx context.Context) (*cluster.Facts, error) {
	return b.facts.Within(ctx, facts.Fresh, b.ask)
}

// factsForLimits are the facts for submissions, at most facts.FreshForLimits old.
func (b *Site) factsForLimits(ctx context.Context) (*cluster.Facts, error) {
	return b.facts.Within(ctx, facts.FreshForLimits, b.ask)
}

func (b *Site) ask(ctx context.Context) (*cluster.Facts, error) { return b.Cluster.Facts(ctx) }

// Last are the last facts; nil = the cluster was not asked, or has not answered.
func (b *Site) Last() *cluster.Facts { return b.facts.Last() }

// QoSName is the qos of a job.
func (b *Site) QoSName(s *cluster.Facts, l *cluster.Partition, own string) string {
	asked := b.Config.QoS
	if !b.mine(s, asked) {
		asked = "" // preflight says so, once
	}
	return cmp.Or(own, asked, s.DefaultQoS(b.Config.Account, l.Name))
}

// mine reports whether the user may use a qos, as far as is known.
func (b *Site) mine(s *cluster.Facts, qos string) bool {
	return qos == "" || s.Closed || slices.Contains(s.QoSNames(b.Config.Account), qos)
}
