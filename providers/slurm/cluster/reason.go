package cluster

import (
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers/offer"
)

// reasons are squeue's, in words. squeue(1), JOB REASON CODES. Those of limits
// are put together; see limit.
var reasons = map[string]string{
	"None": "", "Priority": "others come first", "Resources": "waits for free nodes", "Dependency": "waits for its dependencies",
	"DependencyNeverSatisfied": "one of its dependencies has failed; the next muster apply ends it, or lets it wait for the retry", "BeginTime": "waits for its time", "JobHeldUser": "held; `muster resume` releases it",
	"JobHeldAdmin": "held by an administrator", "JobArrayTaskLimit": "as many of its phase run as may",
	"QOSUsageThreshold": "the qos is used up", "AssociationJobLimit": "as many jobs of the account run as may",
	"AssociationResourceLimit": "the account holds all that it may", "AssociationTimeLimit": "the account's time is used up",
	"QOSJobLimit": "as many jobs of the qos run as may", "QOSResourceLimit": "the qos has given out all that it may", "QOSTimeLimit": "the qos's time is used up",
	"PartitionTimeLimit": "its walltime is longer than the partition allows; it will never start",
	"PartitionNodeLimit": "it asks for more nodes than the partition gives; it will never start", "PartitionConfig": "the partition cannot run it",
	"PartitionDown": "the partition is closed", "PartitionInactive": "the partition is closed", "NodeDown": "a node that it needs is down",
	"ReqNodeNotAvail": "nodes that it needs are away, or reserved for maintenance", "Reservation": "waits for its reservation",
	"Licenses": "waits for a license", "BadConstraints": "no node can ever satisfy it", "FrontEndDown": "the cluster is down",
	"job requeued in held state": "held after it was requeued; `scontrol release` releases it", "JobHoldMaxRequeue": "requeued too often, and held",
	launchFailed: "its node could not be prepared for it, and Slurm holds it; a running muster apply lets it go to another one", "RequeueHold": "held after it was requeued", "Requeue": "requeued",
	"DeadLine": "it cannot end before its deadline", "JobArrayTaskLimitReached": "as many of its phase run as may", "ReservationDeleted": "its reservation was deleted; it is held",
	"BurstBufferResources": "waits for room in the burst buffer", "BurstBufferStageIn": "its files are being brought to the burst buffer",
	"NodeNotAvail": "a node that it needs is away", "Prolog": "its nodes are being made ready", "QOSNotAllowed": "the partition does not take its qos",
	"AccountNotAllowed": "the partition is not for its account", "Cleaning": "its last start is being cleaned up", "JobLaunchFailure": "it could not be launched", "NonZeroExitCode": "it failed",
	"InvalidAccount": "the account is not valid", "InvalidQOS": "the qos is not valid", "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "nodes that it needs are down, drained or reserved",
	"SchedDefer": "the scheduler looks at it later", "SystemFailure": "Slurm itself failed", "MaxMemPerLimit": "it asks for more memory than the partition gives; it will never start",
	"InactiveLimit": "it was idle for too long", "ReservationTimeLimit": "it would not end before its reservation",
}

// notLaunched reports whether a job waits since Slurm could not launch it, and
// holds it. job_mgr.c, state_desc.
func notLaunched(code string) bool {
	return strings.Trim(strings.ReplaceAll(code, "_", " "), "()") == launchFailed
}

// heldBy is who holds a job in the queue, by its state and the reason that squeue
// gives; "" = nobody. squeue(1), JOB REASON CODES and JOB STATE CODES.
func heldBy(state, code string) offer.Holder {
	switch strings.Trim(code, "()") {
	case "JobHeldUser":
		return offer.HeldByUser
	case "JobHeldAdmin":
		return offer.HeldByAdmin
	case "job requeued in held state", "JobHoldMaxRequeue", "RequeueHold", "ReservationDeleted":
		return offer.HeldByScheduler
	}
	if state == "REQUEUE_HOLD" || state == "SPECIAL_EXIT" || state == "RESV_DEL_HOLD" || notLaunched(code) {
		return offer.HeldByScheduler
	}
	return ""
}

const launchFailed = "launch failed requeued held"

// Reason is why a job waits, in words; one that is not known is shown as
// Slurm says it.
func Reason(code string) string {
	code = strings.Trim(code, "()")
	head, _, _ := strings.Cut(code, ",") // ReqNodeNotAvail, UnavailableNodes:…
	head, _, _ = strings.Cut(head, "(")  // ReqNodeNotAvail(Unavailable:…), of old
	for _, c := range []string{code, head} {
		if words, ok := reasons[c]; ok {
			return words
		}
	}
	if words := limit(head); words != "" {
		return words
	}
	return code
}

// limitCode takes the code of a limit apart: whose limit, on whom, on which
// resource, and how it is counted. There are some 120 of them, more with each
// version, all made alike.
var limitCode = lazyregexp.New(`^(QOS|Assoc)(Grp|Max|Min)([A-Za-z]+?)(RunMinutes|Minutes|Mins)?(Per(?:User|Account|Job|Node))?(?:Limit|NotSatisfied)?$`)

var limited = map[string]string{"Cpu": "cores", "CPU": "cores", "Mem": "memory", "Memory": "memory", "Node": "nodes", "GRES": "GPUs", "GPU": "GPUs", "License": "licenses",
	"Energy": "energy", "BB": "burst buffer", "Billing": "billing units", "Unknown": "something"}

// limit is the code of a limit of a qos or an account in words, "" if it is none.
func limit(code string) string {
	m := limitCode.FindStringSubmatch(code)
	if m == nil {
		return ""
	}
	who, whose, per, what := "the qos", m[2], m[5], limited[m[3]]
	if m[1] == "Assoc" {
		who = "the account"
	}
	switch {
	case m[3] == "Jobs" && whose == "Grp":
		return "as many jobs of " + who + " run as may"
	case m[3] == "Jobs":
		return "as many of your jobs run as " + who + " allows"
	case m[3] == "SubmitJob" || m[3] == "SubmitJobs":
		return who + " allows no more jobs to be submitted"
	case m[3] == "WallDuration":
		return "its walltime is longer than " + who + " allows; it will never start"
	case m[3] == "Wall":
		return who + "'s walltime is used up"
	case what == "":
		return ""
	case whose == "Min":
		return "it asks for less than " + who + " wants (" + what + "); it will never start"
	case per == "PerJob" || per == "PerNode":
		return "it asks for more " + what + " than " + who + " gives; it will never start"
	case whose == "Grp" && m[4] == "RunMinutes":
		return "the remaining time of running jobs of " + who + " takes up the limit on " + what
	case m[4] != "":
		return who + "'s time of " + what + " is used up"
	case whose == "Grp":
		return who + " has given out all of its " + what
	}
	return "you hold as much as " + who + " allows (" + what + ")"
}

// denied is the limit in sbatch's refusal, in words: its code is on a line of its
// own. "" = it names none, or one on submitted jobs.
func denied(text string) string {
	for line := range strings.Lines(text) {
		_, code, _ := strings.Cut(strings.TrimSpace(line), "error: ")
		m := limitCode.FindStringSubmatch(code)
		if m == nil || limited[m[3]] == "" {
			continue
		}
		who, what := "the qos", limited[m[3]]
		if m[1] == "Assoc" {
			who = "the account"
		}
		switch {
		case m[4] != "":
			return "it asks for more time of " + what + " than is left to " + who
		case m[2] == "Min":
			return "it asks for less than " + who + " wants (" + what + ")"
		case m[2] == "Grp":
			return "it asks for more " + what + " than " + who + " gives all its jobs together"
		case m[5] != "":
			return "it asks for more " + what + " than " + who + " gives a " + strings.ToLower(strings.TrimPrefix(m[5], "Per"))
		}
		return "it asks for more " + what + " than " + who + " gives"
	}
	return ""
}
