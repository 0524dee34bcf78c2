package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/batch/scheduler"
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

// Qualities are those whose limits bind a job on a partition: the partition's
// own and that under which it runs, the one that comes first first.
func (s *Facts) Qualities(qos string, l *Partition) (list []*QoS) {
	own, part := s.Quality(qos), s.Quality(l.QoS)
	if part != nil && !(own != nil && own.over) {
		list = append(list, part)
	}
	if own != nil && own != part {
		list = append(list, own)
	}
	if part != nil && own != part && own != nil && own.over {
		list = append(list, part)
	}
	return list
}

// SubmitLimits are those that bind jobs of an account and a qos on a partition
// and are known: of the qos, of the partition's, of the account, and of the
// controller. slurm.conf(5), MaxJobCount; sacctmgr(1), MaxSubmitJobs,
// GrpSubmitJobs.
func (s *Facts) SubmitLimits(account, qos string, l *Partition) (list []scheduler.Limit) {
	add := func(limit scheduler.Limit) {
		if limit.Most > 0 {
			list = append(list, limit)
		}
	}
	if q := s.Quality(qos); q != nil {
		add(scheduler.Limit{Who: "qos " + q.name, Most: q.submitted(), QoS: q.name})
	}
	if q := s.Quality(l.QoS); q != nil && q.name != qos {
		add(scheduler.Limit{Who: "qos " + q.name + " of partition " + l.Name, Most: q.submitted(), Pool: l.Name})
	}
	if a := s.association(account, l.Name); a != nil {
		add(scheduler.Limit{Who: "account " + a.Account, Most: a.maxSubmit, Account: a.Account, Pool: a.partition})
	}
	add(scheduler.Limit{Who: "the cluster (MaxJobCount)", Most: s.maxJobs})
	return list
}

// Forbids says why a partition's rules, or the limits of a qos or an account, keep out a job
// of a shape, with a remedy; "" if they do not, as far as they are known. An account of "" is
// the user's own; booked says that the job runs in a reservation.
func (s *Facts) Forbids(account, qos string, booked bool, shape offer.Shape, l *Partition) (why, would string) {
	if why, would := s.Shuts(account, qos, booked, l); why != "" {
		return why, would
	}
	if account == "" {
		account = s.defaultAccount
	}
	list := s.bounds(account, qos, l)
	if by, most := wall(list); by != nil && shape.Walltime > most {
		return by.ends(most), s.LongerQoS(account, l, shape.Walltime)
	}
	if why, would := beyond(list, shape); why != "" {
		return why, would
	}
	return beyondType(list, shape, gpuType(l, shape))
}

// Shuts says why a partition takes no job at all of an account and a qos, whatever its shape,
// with a remedy; "" if it takes some.
func (s *Facts) Shuts(account, qos string, booked bool, l *Partition) (why, would string) {
	if why, would := l.excluded(s.groups); why != "" {
		return why, would
	}
	if account == "" {
		account = s.defaultAccount
	}
	if why := l.excludesAccount(account); why != "" {
		return why, s.otherAccount(l)
	}
	if qos != "" && !l.takesQoS(qos) {
		return fmt.Sprintf("partition %s does not take qos %s", l.Name, qos), s.otherQoS(account, l)
	}
	if l.rootOnly && s.groups != nil {
		return fmt.Sprintf("only root may use partition %s", l.Name), ""
	}
	if s.host != "" && l.from != "" && !hostIn(l.from, s.host) {
		return fmt.Sprintf("partition %s takes jobs from %s only, this is %s", l.Name, l.from, s.host), "submit from there: name one as host in the ssh block"
	}
	if l.reserved && !booked {
		return fmt.Sprintf("partition %s takes jobs of a reservation alone", l.Name), `set reservation in options "slurm"`
	}
	for _, q := range s.Qualities(qos, l) {
		if q.none {
			return q.who + " takes no jobs: the site has set a limit of it to 0", s.otherQoS(account, l)
		}
	}
	if a := s.association(account, l.Name); a != nil && a.none {
		return a.who + " takes no jobs: the site has set a limit of it to 0, as is done when an allocation has ended", s.otherAccount(l)
	}
	return "", ""
}

// wall is the walltime that holds of some bounds.
func wall(list []bounds) (by *bounds, most time.Duration) {
	for i := range list {
		if d := list[i].maxWall; d > 0 {
			return &list[i], d
		}
	}
	return nil, 0
}

func (b *bounds) ends(at time.Duration) string {
	return fmt.Sprintf("%s ends jobs at %s", b.who, units.FormatDuration(at))
}

// LongestTime is the longest walltime of a job of an account and a qos on a
// partition, as far as limits are known; 0 = none is.
func (s *Facts) LongestTime(account, qos string, l *Partition) time.Duration {
	most := l.MaxTime
	if s.Lifts(qos) {
		most = 0
	}
	if _, d := wall(s.bounds(account, qos, l)); d > 0 && (most == 0 || d < most) {
		most = d
	}
	return most
}

// EndsEarlier says what ends jobs of an account and a qos before their partition's
// walltime; "" = nothing.
func (s *Facts) EndsEarlier(account, qos string, l *Partition) string {
	by, most := wall(s.bounds(account, qos, l))
	if by == nil || l.MaxTime > 0 && most >= l.MaxTime {
		return ""
	}
	return by.ends(most)
}

// Lifts reports whether jobs of a qos may be longer than their partition allows,
// up to the limit of the qos. The flag counts on the job's own qos alone, not on
// the partition's. sacctmgr(1), Flags, PartitionTimeLimit; seen on 22.05.
func (s *Facts) Lifts(qos string) bool {
	q := s.Quality(qos)
	return q != nil && q.longer
}

// LongerQoS says which qualities of service of an account would allow a walltime
// on a partition; "" where none does.
func (s *Facts) LongerQoS(account string, l *Partition, walltime time.Duration) string {
	var names []string
	for _, name := range s.QoSNames(account) {
		if q := s.Quality(name); q == nil || q.none || !l.takesQoS(name) {
			continue
		}
		if most := s.LongestTime(account, name, l); most == 0 || most >= walltime {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return setQoS(names)
}

func setQoS(names []string) string {
	if len(names) == 0 {
		return "take qos out"
	}
	return "set qos = \"" + strings.Join(names, `" or "`) + `" in options "slurm"`
}

// Unasked says why a user cannot ask for a qos under an account, "" for any, and
// what to ask for instead; "" if he can, or it is not known.
func (s *Facts) Unasked(account, qos string) (why, would string) {
	mine := s.QoSNames(account)
	if s.Closed || slices.Contains(mine, qos) {
		return "", ""
	}
	if why = fmt.Sprintf("qos %s is not yours", qos); s.Quality(qos) == nil {
		why = fmt.Sprintf("there is no qos %s here", qos)
	}
	mine = slices.DeleteFunc(mine, func(name string) bool { q := s.Quality(name); return q != nil && q.none })
	if near := diag.Suggest(qos, mine); near != "" {
		return why + "; did you mean " + near + "?", setQoS([]string{near})
	}
	return why, setQoS(mine)
}

// otherQoS says which of the user's qualities of service a partition takes.
func (s *Facts) otherQoS(account string, l *Partition) string {
	var names []string
	for _, name := range s.QoSNames(account) {
		if q := s.Quality(name); l.takesQoS(name) && q != nil && !q.none {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "choose another partition: it takes none of yours"
	}
	return setQoS(names)
}

// otherAccount says which of the user's accounts a partition takes.
func (s *Facts) otherAccount(l *Partition) string {
	var names []string
	for _, a := range s.Associations {
		if (a.partition == "" || a.partition == l.Name) && !a.none && l.excludesAccount(a.Account) == "" && !slices.Contains(names, a.Account) {
			names = append(names, a.Account)
		}
	}
	if len(names) == 0 {
		return "choose another partition: it takes none of your accounts"
	}
	return "set account = \"" + strings.Join(names, `" or "`) + "\" in the backend block"
}
