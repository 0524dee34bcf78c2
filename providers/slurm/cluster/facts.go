package cluster

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Facts are a cluster's partitions, nodes and limits.
type Facts struct {
	Asked        time.Time // when the cluster said so
	Version      string    // slurmctld's: "22.05.8"; "" = not told
	Partitions   []Partition
	qos          []QoS
	Associations []Association // of this user
	Closed       bool          // accounting does not answer, or not us: nothing is known of qos and accounts
	// LimitsAway says why accounting could not be asked, "" if it answered or the
	// site has none; then the limits are those of LimitsOf, or unknown if that is zero.
	LimitsAway string
	LimitsOf   time.Time
	// RequeueExits are the exit statuses that the site requeues or holds jobs
	// for. slurm.conf(5), RequeueExit and RequeueExitHold.
	RequeueExits []int
	maxTRES      bool // billing is the largest of a job's weighted resources, and not the sum
	// Enforced says that nobody may submit without an account. slurm.conf(5),
	// AccountingStorageEnforce.
	Enforced     bool
	MaxArray     int                // elements of one array; 0 = not known
	resume       time.Duration      // in which a node that is powered down comes up; 0 = not known
	maxJobs      int                // that the controller keeps, of all users; 0 = not known
	licenses     map[string]license // nil = not known
	reservations *[]reservation     // nil = not known
	host         string             // from which jobs are submitted; "" = not known
	groups       []string           // of this user; nil = not known, or all may be used
	// defaultAccount is the one under which the user's jobs run that name none; ""
	// = not known.
	defaultAccount string
}

// Facts asks Slurm for partitions and nodes, and accounting for limits, which a
// site may hide. It fails without partitions or nodes.
func (c *Commands) Facts(ctx context.Context) (*Facts, error) {
	s := &Facts{Asked: time.Now()}
	out, err := c.told(ctx, askTimeout, "scontrol", "-o", "-a", "show", "partition")
	if err != nil {
		return nil, err
	}
	s.Partitions = parsePartitions(string(out))
	out, err = c.told(ctx, askTimeout, "sinfo", "-h", "-a", "-N", "-O", nodeFields)
	if err != nil {
		return nil, err
	}
	addNodes(s.Partitions, string(out))
	whole, config := false, map[string]string{}
	if said, err := c.config(ctx); err == nil {
		config = said
		whole = wholeCores(config)
		s.Version = config["SLURM_VERSION"]
		s.RequeueExits = requeueExits(config)
		s.maxTRES = strings.Contains(config["PriorityFlags"], "MAX_TRES")
		s.Enforced = strings.Contains(strings.ToLower(config["AccountingStorageEnforce"]), "associations")
		s.resume = seconds(config["ResumeTimeout"])
		for i := range s.Partitions {
			s.Partitions[i].memoryOf(config)
		}
		s.MaxArray, s.maxJobs = maxArray(config), number(config["MaxJobCount"])
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "-a", "show", "nodes"); err == nil {
		by, threads := parseArchs(string(out)), parseThreads(string(out))
		for i := range s.Partitions {
			s.Partitions[i].Archs = by[s.Partitions[i].Name]
			if whole {
				s.Partitions[i].threads = threads[s.Partitions[i].Name]
			}
		}
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "licenses"); err == nil {
		s.licenses = parseLicenses(string(out))
		s.ours(ctx, c)
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "reservation"); err == nil {
		list := parseReservations(string(out))
		s.reservations = &list
	}
	s.groups, s.host = groupNames(), thisHost()
	s.limits(ctx, c, config)
	return s, nil
}

// Accounts are the user's, each once.
func (s *Facts) Accounts() (names []string) {
	for _, a := range s.Associations {
		if !slices.Contains(names, a.Account) {
			names = append(names, a.Account)
		}
	}
	return names
}

// association is that under which a job of an account runs on a partition: the
// one for that partition, else that for all. Without an account it is the
// user's only one, if there is only one; nil if that is not known.
func (s *Facts) association(account, partition string) (found *Association) {
	if account == "" {
		account = s.defaultAccount
	}
	for i := range s.Associations {
		a := &s.Associations[i]
		switch {
		case account == "" && a.Account != s.Associations[0].Account:
			return nil // the default one is not told
		case account != "" && a.Account != account, a.partition != "" && a.partition != partition:
		case found == nil, a.partition != "":
			found = a
		}
	}
	return found
}

// oldest is the oldest version whose published texts this package is held
// against.
var oldest = [2]int{20, 11}

// Old reports whether the cluster runs a version older than those that are
// known to be understood; false where it does not tell.
func (s *Facts) Old() bool {
	year, rest, _ := strings.Cut(s.Version, ".")
	month, _, _ := strings.Cut(rest, ".")
	v := [2]int{number(year), number(month)}
	return v[0] > 0 && slices.Compare(v[:], oldest[:]) < 0
}

// Source says where facts come from and of when they are: "live at 15:04 UTC,
// Slurm 22.05.8".
func (s *Facts) Source() string {
	text := "live at " + s.Asked.UTC().Format("15:04 UTC")
	if s.Version != "" {
		text += ", Slurm " + s.Version
	}
	return text
}

// Partition is that of a name; nil if there is none, or no facts.
func (s *Facts) Partition(name string) *Partition {
	if s == nil {
		return nil
	}
	for i := range s.Partitions {
		if s.Partitions[i].Name == name {
			return &s.Partitions[i]
		}
	}
	return nil
}

// Quality is the quality of service of a name; nil if it is not known.
func (s *Facts) Quality(name string) *QoS {
	for i := range s.qos {
		if s.qos[i].name == name {
			return &s.qos[i]
		}
	}
	return nil
}

// QoSNames are the qualities of service that the user may ask for under an
// account, "" for any, in order.
func (s *Facts) QoSNames(account string) (names []string) {
	for _, a := range s.Associations {
		if account != "" && a.Account != account {
			continue
		}
		for _, q := range a.qos {
			if !slices.Contains(names, q) {
				names = append(names, q)
			}
		}
	}
	slices.Sort(names)
	return names
}
