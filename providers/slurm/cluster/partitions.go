package cluster

import (
	"cmp"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/batch/programs"
	"github.com/muster-run/muster/providers/offer"
)

// A Partition is Slurm's facts about one, and the sum of its nodes. Idle resources
// are on nodes that take jobs now, with those that ended jobs still hold.
type Partition struct {
	Name              string
	Up                bool // it takes and starts jobs
	IsDefault         bool
	MaxTime           time.Duration // of a job; 0 = unlimited
	MaxNodes          int           // of a job; 0 = unlimited
	MinNodes          int           // of a job
	QoS               string        // of the partition itself; "" = none
	allowQoS          []string      // nil = all
	denyQoS           []string
	accounts          []string // nil = all
	deniedAccounts    []string
	groups            []string // nil = all
	Exclusive         bool     // a job has its nodes for itself
	rootOnly          bool
	reserved          bool   // it takes jobs of a reservation alone
	from              string // machines that may submit to it, as a host list; "" = all
	state             string
	maxCPUs           int   // of one node, for a job; 0 = no limit
	maxMem            int64 // of one node, for a job; 0 = no limit
	maxMemCPU         int64 // of one core, for a job; 0 = no limit
	memCPU, memNode   int64 // memory of a job that requests none, of one core or else of one node; 0 = not told
	threads           int   // of a core, of which a job has all or none; 0 = a thread is a core, or each is given by itself
	nodes             []nodeFacts
	weights           map[string]float64 // of billed resources, by lower-case name; nil = cores alone
	Nodes             int
	CPUs              int            // cores of the largest node
	Memory            int64          // bytes of the largest node
	GPUs              map[string]int // of one node, by type; "" = without type
	AllCPUs, IdleCPUs int
	AllGPUs, IdleGPUs int
	features          []string
	Archs             []string // processors of its nodes, as Go names them
}

// parsePartitions reads scontrol -o show partition.
func parsePartitions(out string) (list []Partition) {
	for line := range strings.Lines(out) {
		f := parseWords(line)
		if f["PartitionName"] == "" {
			continue
		}
		p := Partition{Name: f["PartitionName"], Up: f["State"] == "UP" || f["State"] == "", IsDefault: f["Default"] == "YES",
			MaxTime: parseLimit(f["MaxTime"]), allowQoS: nameList(f["AllowQos"]), denyQoS: nameList(f["DenyQos"]), accounts: nameList(f["AllowAccounts"]),
			groups: nameList(f["AllowGroups"]), weights: parseWeights(f["TRESBillingWeights"]), GPUs: map[string]int{}}
		p.deniedAccounts, p.rootOnly, p.reserved, p.state = nameList(f["DenyAccounts"]), f["RootOnly"] == "YES", f["ReqResv"] == "YES", f["State"]
		p.maxCPUs, p.maxMem = number(f["MaxCPUsPerNode"]), megabytes(f["MaxMemPerNode"])
		if from := f["AllocNodes"]; nameList(from) != nil {
			p.from = from
		}
		p.Exclusive = f["OverSubscribe"] == "EXCLUSIVE"
		p.maxMemCPU, p.memCPU, p.memNode = megabytes(f["MaxMemPerCPU"]), megabytes(f["DefMemPerCPU"]), megabytes(f["DefMemPerNode"])
		p.MaxNodes, _ = strconv.Atoi(f["MaxNodes"])
		p.MinNodes, _ = strconv.Atoi(f["MinNodes"])
		p.Nodes, _ = strconv.Atoi(f["TotalNodes"])
		if q := f["QoS"]; q != "N/A" {
			p.QoS = q
		}
		list = append(list, p)
	}
	return list
}

// nodeFields are sinfo's, each of a fixed width. sinfo(1), -O.
const nodeFields = "NodeList:64,PartitionName:64,StateLong:24,CPUsState:32,Memory:16,Gres:256,GresUsed:256,Features:256"

var nodeWidths = []int{64, 64, 24, 32, 16, 256, 256, 256}

// addNodes adds up nodes by partition.
func addNodes(list []Partition, out string) {
	for line := range strings.Lines(out) {
		f := columns(strings.TrimRight(line, "\n"), nodeWidths)
		i := slices.IndexFunc(list, func(p Partition) bool { return p.Name == strings.TrimSuffix(f[1], "*") })
		if i < 0 {
			continue
		}
		list[i].add(f)
	}
}

// add adds a node, by its fields.
func (p *Partition) add(f []string) {
	p.addNode(f)
	usable, leaving := takesJobs(f[2]), strings.HasPrefix(f[2], completing)
	cpus := strings.Split(f[3], "/") // allocated/idle/other/total
	if len(cpus) == 4 {
		idle, _ := strconv.Atoi(cpus[1])
		if held, _ := strconv.Atoi(cpus[0]); leaving {
			idle += held
		}
		total, _ := strconv.Atoi(cpus[3])
		p.CPUs, p.AllCPUs = max(p.CPUs, total), p.AllCPUs+total
		if usable {
			p.IdleCPUs += idle
		}
	}
	if mib, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		p.Memory = max(p.Memory, mib<<20)
	}
	has, used := parseGres(f[5]), parseGres(f[6])
	for model, n := range has {
		p.GPUs[model] = max(p.GPUs[model], n)
		p.AllGPUs += n
		if usable {
			p.IdleGPUs += n
		}
	}
	for _, n := range used {
		if usable && !leaving {
			p.IdleGPUs -= n
		}
	}
	for _, feature := range nameList(f[7]) {
		if !slices.Contains(p.features, feature) {
			p.features = append(p.features, feature)
		}
	}
}

// completing is the state of a node on which every job has ended and is being
// cleaned up after: their resources are free within moments. sinfo(1), NODE
// STATE CODES; where one job still runs the state is another.
const completing = "completing"

// takesJobs reports whether a node in a state of sinfo's takes jobs now. One
// that is powered down (~) is started for a job, one that is planned (-) is not
// taken yet. sinfo(1), NODE STATE CODES: does not respond (*), is about to be or
// being powered down (! %), reserved for maintenance ($), to be rebooted (@ ^);
// the words of some came with 21.08 and 23.11.
func takesJobs(state string) bool {
	if strings.ContainsAny(state, "*!%$@^") {
		return false
	}
	for _, bad := range []string{"down", "drain", "fail", "maint", "unknown", "inval", "block", "boot", "future", "error", "npc", "perfctrs"} {
		if strings.Contains(state, bad) {
			return false
		}
	}
	return true
}

// parseGres reads "gpu:a100:3(S:0-1),gpu:a100:2(IDX:0,1),craynetwork:4": the
// GPUs by type. There are commas within parentheses, too.
func parseGres(s string) map[string]int {
	out := map[string]int{}
	depth := 0
	parts := strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	})
	for _, part := range parts {
		part, _, _ = strings.Cut(part, "(")
		w := strings.Split(part, ":")
		n, err := strconv.Atoi(w[len(w)-1])
		switch {
		case w[0] != "gpu", err != nil, len(w) < 2:
		case len(w) == 2:
			out[""] += n
		default:
			out[w[1]] += n
		}
	}
	return out
}

// parseArchs reads scontrol -o show nodes: the processors of each partition's
// nodes, as Go names them. Nodes that are down do not tell.
func parseArchs(out string) map[string][]string {
	by := map[string][]string{}
	for line := range strings.Lines(out) {
		f := parseWords(line)
		for arch, name := range programs.Machines {
			if f["Arch"] != name {
				continue
			}
			for _, p := range nameList(f["Partitions"]) {
				if !slices.Contains(by[p], arch) {
					by[p] = append(by[p], arch)
				}
			}
		}
	}
	return by
}

// groupNames are the groups that this user is in; nil for root, whom no
// partition keeps out.
func groupNames() (names []string) {
	u, err := user.Current()
	if err != nil || u.Uid == "0" {
		return nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil
	}
	for _, id := range ids {
		if g, err := user.LookupGroupId(id); err == nil {
			names = append(names, g.Name)
		}
	}
	return names
}

// takesQoS reports whether jobs of a qos may run on a partition.
func (l *Partition) takesQoS(qos string) bool {
	return (l.allowQoS == nil || slices.Contains(l.allowQoS, qos)) && !slices.Contains(l.denyQoS, qos)
}

// excludesAccount says why a partition is not for an account, "" if it is, or
// nothing is known of the account.
func (l *Partition) excludesAccount(account string) string {
	switch {
	case account == "":
	case l.accounts != nil && !slices.Contains(l.accounts, account):
		return fmt.Sprintf("partition %s is for accounts %s, not %s", l.Name, strings.Join(l.accounts, ", "), account)
	case slices.Contains(l.deniedAccounts, account):
		return fmt.Sprintf("partition %s is not for account %s", l.Name, account)
	}
	return ""
}

// Away says why a partition starts nothing now that needs nodes like those of a
// shape, which passes by itself, "" if it does or where it is not told.
func (l *Partition) Away(shape offer.Shape) string {
	switch l.state {
	case "DOWN", "INACTIVE":
		return fmt.Sprintf("partition %s is closed now (%s)", l.Name, l.state)
	case "DRAIN":
		return fmt.Sprintf("partition %s takes no new jobs now (DRAIN)", l.Name)
	}
	return l.broken(shape)
}

// excluded says why a partition is not for this user's groups.
func (l *Partition) excluded(mine []string) (why, would string) {
	if mine == nil || l.groups == nil || slices.ContainsFunc(mine, func(g string) bool { return slices.Contains(l.groups, g) }) {
		return "", ""
	}
	return fmt.Sprintf("partition %s is for groups %s only", l.Name, strings.Join(l.groups, ", ")), "yours are " + cmp.Or(strings.Join(mine, ", "), "none")
}
