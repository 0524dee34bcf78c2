package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// DefaultQoS is the quality of service of jobs of an account, "" for any, on a
// partition that do not name one; "" if it is not told.
func (s *Facts) DefaultQoS(account, partition string) string {
	for _, a := range s.Associations {
		if (account == "" || a.Account == account) && (a.partition == "" || a.partition == partition) && a.defaultQoS != "" {
			return a.defaultQoS
		}
	}
	return ""
}

// Qualities are those whose limits bind a job on a partition: that under which
// it runs, and the partition's own.
func (s *Facts) Qualities(qos string, l *Partition) (list []*QoS) {
	for _, name := range []string{qos, l.QoS} {
		if q := s.Quality(name); q != nil {
			list = append(list, q)
		}
	}
	return list
}

// A SubmitLimit is one on jobs that a user has submitted: queued and running
// ones, each element of an array.
type SubmitLimit struct {
	Who  string              // "qos testing", "account ucb123"
	Most int                 // jobs, at least 1
	Has  func(QueueRow) bool // whether a job counts
}

// SubmitLimits are those that bind jobs of an account and a qos on a partition
// and are known: of the qos, of the partition's, of the account, and of the
// controller. slurm.conf(5), MaxJobCount; sacctmgr(1), MaxSubmitJobs,
// GrpSubmitJobs.
func (s *Facts) SubmitLimits(account, qos string, l *Partition) (list []SubmitLimit) {
	add := func(who string, most int, has func(QueueRow) bool) {
		if most > 0 {
			list = append(list, SubmitLimit{who, most, has})
		}
	}
	if q := s.Quality(qos); q != nil {
		add("qos "+q.name, q.submitted(), func(r QueueRow) bool { return r.qos == q.name })
	}
	if q := s.Quality(l.QoS); q != nil && q.name != qos {
		add("qos "+q.name+" of partition "+l.Name, q.submitted(), func(r QueueRow) bool { return r.Partition == l.Name })
	}
	if a := s.association(account, l.Name); a != nil {
		add("account "+a.Account, a.maxSubmit, func(r QueueRow) bool {
			return r.account == a.Account && (a.partition == "" || r.Partition == a.partition)
		})
	}
	add("the cluster", s.maxJobs, func(QueueRow) bool { return true })
	return list
}

// Forbids says why a partition's rules, or the limits of a qos or an account,
// keep out a job of a shape, and what would help; "" if they do not, as far as
// they are known. An account of "" is the user's own.
func (s *Facts) Forbids(account, qos string, shape offer.Shape, l *Partition) (why, would string) {
	if why, would := l.excluded(s.groups); why != "" {
		return why, would
	}
	if qos != "" && (l.allowQoS != nil && !slices.Contains(l.allowQoS, qos) || slices.Contains(l.denyQoS, qos)) {
		return fmt.Sprintf("partition %s does not take qos %s", l.Name, qos), "it takes " + strings.Join(l.allowQoS, ", ")
	}
	if account != "" && l.accounts != nil && !slices.Contains(l.accounts, account) {
		return fmt.Sprintf("partition %s is not for account %s", l.Name, account), "it is for " + strings.Join(l.accounts, ", ")
	}
	for _, q := range s.Qualities(qos, l) {
		if q.maxWall > 0 && shape.Walltime > q.maxWall {
			return fmt.Sprintf("qos %s ends jobs at %s", q.name, units.FormatDuration(q.maxWall)), s.longerQoS(account, l, shape.Walltime)
		}
		if q.maxGPUs > 0 && shape.GPUs > q.maxGPUs {
			return fmt.Sprintf("qos %s gives a user %d GPUs at most", q.name, q.maxGPUs), ""
		}
		if q.jobGPUs > 0 && shape.GPUs > q.jobGPUs {
			return fmt.Sprintf("qos %s gives a job %d GPUs at most", q.name, q.jobGPUs), ""
		}
	}
	if a := s.association(account, l.Name); a != nil && a.maxWall > 0 && shape.Walltime > a.maxWall {
		return fmt.Sprintf("account %s ends jobs at %s", a.Account, units.FormatDuration(a.maxWall)), "shorten walltime, or let checkpoint split the work into segments"
	}
	return "", ""
}

// LongestTime is the longest walltime of a job of an account and a qos on a
// partition, as far as limits are known; 0 = none is.
func (s *Facts) LongestTime(account, qos string, l *Partition) time.Duration {
	most := l.MaxTime
	lower := func(d time.Duration) {
		if d > 0 && (most == 0 || d < most) {
			most = d
		}
	}
	for _, q := range s.Qualities(qos, l) {
		lower(q.maxWall)
	}
	if a := s.association(account, l.Name); a != nil {
		lower(a.maxWall)
	}
	return most
}

// longerQoS says which qualities of service of an account would allow a walltime.
func (s *Facts) longerQoS(account string, l *Partition, walltime time.Duration) string {
	var names []string
	mine := s.QoSNames(account)
	for _, q := range s.qos {
		if (q.maxWall == 0 || q.maxWall >= walltime) && slices.Contains(mine, q.name) && (l.allowQoS == nil || slices.Contains(l.allowQoS, q.name)) {
			names = append(names, q.name)
		}
	}
	if len(names) == 0 {
		return "shorten walltime, or let checkpoint split the work into segments"
	}
	return "set qos = \"" + strings.Join(names, `" or "`) + `" in options "slurm"`
}
