package cluster

import (
	"slices"
	"strings"
	"time"
)

// A QoS is a quality of service; zero is no limit.
type QoS struct {
	bounds
	name        string
	maxSubmit   int  // jobs of one user, queued or running
	maxSubmitPA int  // of one account
	grpSubmit   int  // of all
	none        bool // nobody may submit or run anything
	over        bool // its limits come before those of a partition's qos
	longer      bool // it lifts a partition's longest walltime
}

// submitted is how many jobs a user may have at most.
func (q *QoS) submitted() int { return Least(Least(q.maxSubmit, q.maxSubmitPA), q.grpSubmit) }

// An Association is a user's with an account, on one partition or all, and its rights.
// sacctmgr(1), GENERAL SPECIFICATIONS FOR ASSOCIATION BASED ENTITIES.
type Association struct {
	Account    string
	partition  string // "" = all
	qos        []string
	defaultQoS string
	maxSubmit  int  // jobs, queued or running; 0 = no limit
	none       bool // it lets nothing be submitted, or run
	bounds
}

// The fields for sacctmgr, none of them newer than 17.11. A version leaves out
// those at the end that it does not have.
var (
	qosFields   = []string{"Name", "Priority", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxSubmitPU", "GrpTRES", "Flags", "MaxSubmitPA", "GrpSubmit", "MaxTRES", "MaxTRESPerNode", "MinTRES", "MaxTRESPA", "GrpJobs"}
	assocFields = []string{"Cluster", "Account", "User", "Partition", "QOS", "DefaultQOS", "MaxJobs", "MaxSubmit", "MaxWall", "GrpTRES", "GrpSubmit", "MaxTRES", "MaxTRESPerNode", "GrpJobs"}
)

// parseTable reads sacctmgr -n -P: a line for each, its fields by name.
func parseTable(out string, names []string, least int) (rows []map[string]string) {
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) < least || len(f) > len(names) {
			continue
		}
		row := map[string]string{}
		for i, v := range f {
			row[names[i]] = strings.TrimSpace(v)
		}
		rows = append(rows, row)
	}
	return rows
}

func parseQoS(out string) (list []QoS) {
	for _, r := range parseTable(out, qosFields, 8) {
		if r["Name"] == "" {
			continue
		}
		q := QoS{bounds: free("qos " + r["Name"]), name: r["Name"], maxSubmit: number(r["MaxSubmitPU"]), maxSubmitPA: number(r["MaxSubmitPA"]), grpSubmit: number(r["GrpSubmit"]),
			none: noneOf(r, "MaxSubmitPU", "MaxSubmitPA", "GrpSubmit", "MaxJobsPU", "GrpJobs"),
			over: strings.Contains(r["Flags"], "OverPartQOS"), longer: strings.Contains(r["Flags"], "PartitionTimeLimit")}
		q.maxWall, q.perJob, q.perNode, q.perUser = parseLimit(r["MaxWall"]), parseAmounts(r["MaxTRES"]), parseAmounts(r["MaxTRESPerNode"]), parseAmounts(r["MaxTRESPU"])
		q.perAccount, q.group, q.least = parseAmounts(r["MaxTRESPA"]), parseAmounts(r["GrpTRES"]), parseAmounts(r["MinTRES"])
		q.jobsOfUser, q.jobsOfAll = number(r["MaxJobsPU"]), number(r["GrpJobs"])
		q.limitTypes(r["MaxTRES"], r["MaxTRESPU"], r["MaxTRESPA"], r["GrpTRES"], r["MaxTRESPerNode"])
		list = append(list, q)
	}
	return list
}

func parseAssoc(out string) (list []Association) {
	for _, r := range parseTable(out, assocFields, 10) {
		if r["Account"] == "" {
			continue
		}
		a := Association{Account: r["Account"], partition: r["Partition"], qos: nameList(r["QOS"]), defaultQoS: r["DefaultQOS"], bounds: free("account " + r["Account"]),
			maxSubmit: Least(number(r["MaxSubmit"]), number(r["GrpSubmit"])), none: noneOf(r, "MaxSubmit", "GrpSubmit", "MaxJobs", "GrpJobs")}
		a.maxWall, a.group, a.perJob, a.perNode = parseLimit(r["MaxWall"]), parseAmounts(r["GrpTRES"]), parseAmounts(r["MaxTRES"]), parseAmounts(r["MaxTRESPerNode"])
		a.jobsOfUser, a.jobsOfAll = number(r["MaxJobs"]), number(r["GrpJobs"])
		a.limitTypes(r["MaxTRES"], "", "", r["GrpTRES"], r["MaxTRESPerNode"])
		list = append(list, a)
	}
	return list
}

// noneOf reports whether one of some limits is 0, by which sites close used-up or expired
// accounts.
func noneOf(row map[string]string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return row[name] == "0" })
}

// parseConfig reads "Name = value" lines.
func parseConfig(out string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(line, "="); ok {
			config[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return config
}

// seconds reads "600 sec"; 0 if it is none.
func seconds(text string) time.Duration {
	n, _, _ := strings.Cut(text, " ")
	return time.Duration(number(n)) * time.Second
}

// requeueExits are RequeueExit and RequeueExitHold: "99", "1-3,98". slurm.conf(5).
func requeueExits(config map[string]string) (out []int) {
	for _, name := range []string{"RequeueExit", "RequeueExitHold"} {
		if list, err := ParseIndexes(config[name]); err == nil && len(list) <= 256 {
			out = append(out, list...)
		}
	}
	return slices.DeleteFunc(out, func(n int) bool { return n <= 0 })
}

// StandardArray is how many jobs an array may have where the site does not say
// otherwise. slurm.conf(5), MaxArraySize: 1001 by default.
const StandardArray = 1000

// maxArray is how many elements an array may have. slurm.conf(5), MaxArraySize
// ("one more than the largest index") and SchedulerParameters, max_array_tasks.
func maxArray(config map[string]string) int {
	most := max(number(config["MaxArraySize"])-1, 0)
	for _, p := range strings.Split(config["SchedulerParameters"], ",") {
		if n, ok := strings.CutPrefix(p, "max_array_tasks="); ok {
			most = Least(most, number(n))
		}
	}
	return most
}
