package cluster

import (
	"slices"
	"strings"
	"time"
)

// A QoS is a quality of service; zero is no limit.
type QoS struct {
	name        string
	maxWall     time.Duration // of one job
	maxSubmit   int           // jobs of one user, queued or running
	maxSubmitPA int           // of one account
	grpSubmit   int           // of all
	MaxJobs     int           // of one user, running
	maxGPUs     int           // of one user
	jobGPUs     int           // of one job
}

// submitted is how many jobs a user may have at most.
func (q *QoS) submitted() int { return Least(Least(q.maxSubmit, q.maxSubmitPA), q.grpSubmit) }

// An Association is a user's with an account, on one partition or all, and what
// it grants. sacctmgr(1), GENERAL SPECIFICATIONS FOR ASSOCIATION BASED ENTITIES.
type Association struct {
	Account    string
	partition  string // "" = all
	qos        []string
	defaultQoS string
	maxSubmit  int           // jobs, queued or running; 0 = no limit
	maxWall    time.Duration // of a job; 0 = no limit
}

// What sacctmgr is asked for, none of it newer than 17.11. What a version does
// not print at the end is missing.
var (
	qosFields   = []string{"Name", "Priority", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxSubmitPU", "GrpTRES", "Flags", "MaxSubmitPA", "GrpSubmit", "MaxTRES"}
	assocFields = []string{"Cluster", "Account", "User", "Partition", "QOS", "DefaultQOS", "MaxJobs", "MaxSubmit", "MaxWall", "GrpTRES", "GrpSubmit"}
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
		list = append(list, QoS{name: r["Name"], maxWall: parseLimit(r["MaxWall"]), maxSubmit: number(r["MaxSubmitPU"]), maxSubmitPA: number(r["MaxSubmitPA"]),
			grpSubmit: number(r["GrpSubmit"]), MaxJobs: number(r["MaxJobsPU"]), maxGPUs: number(parseTRES(r["MaxTRESPU"])["gres/gpu"]),
			jobGPUs: number(parseTRES(r["MaxTRES"])["gres/gpu"])})
	}
	return list
}

func parseAssoc(out string) (list []Association) {
	for _, r := range parseTable(out, assocFields, 10) {
		if r["Account"] == "" {
			continue
		}
		list = append(list, Association{Account: r["Account"], partition: r["Partition"], qos: nameList(r["QOS"]), defaultQoS: r["DefaultQOS"],
			maxSubmit: Least(number(r["MaxSubmit"]), number(r["GrpSubmit"])), maxWall: parseLimit(r["MaxWall"])})
	}
	return list
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

// requeueExits are RequeueExit and RequeueExitHold: "99", "1-3,98". slurm.conf(5).
func requeueExits(config map[string]string) (out []int) {
	for _, name := range []string{"RequeueExit", "RequeueExitHold"} {
		if list, err := ParseIndexes(config[name]); err == nil && len(list) <= 256 {
			out = append(out, list...)
		}
	}
	return slices.DeleteFunc(out, func(n int) bool { return n <= 0 })
}

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
