package login

import (
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
	"github.com/muster-run/muster/providers/slurm/script"
)

// longest is how many elements one array may have here; 0 = not known.
func (b *backend) longest() int {
	s := b.Last()
	if s == nil || s.MaxArray <= 0 {
		return cluster.StandardArray
	}
	return s.MaxArray
}

// bounds are the most that a job of a partition may be given on a retry, and what
// it is billed.
func (b *backend) bounds(pool string, o script.Options, shape offer.Shape) node.Bounds {
	if s := b.Last(); s != nil {
		if p := s.Partition(pool); p != nil {
			return node.Bounds{Memory: p.Memory, Walltime: s.LongestTime(b.Config.Account, b.QoSName(s, p, o.QoS), p), Billing: s.Billing(p, o.Given(p, shape)), Requeue: s.RequeueExits}
		}
	}
	return node.Bounds{}
}
