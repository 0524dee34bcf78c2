package cluster

import "strings"

// reasons are squeue's, in words. squeue(1), JOB REASON CODES.
var reasons = map[string]string{
	"None": "", "Priority": "others come first", "Resources": "waits for free nodes", "Dependency": "waits for what it comes after",
	"DependencyNeverSatisfied": "what it comes after has failed", "BeginTime": "waits for its time", "JobHeldUser": "held",
	"JobHeldAdmin": "held by an administrator", "JobArrayTaskLimit": "as many of its phase run as may",
	"QOSMaxJobsPerUserLimit": "as many of your jobs run as the qos allows", "QOSMaxGRESPerUser": "you hold as many GPUs as the qos allows",
	"QOSMaxGPUPerUserLimit": "you hold as many GPUs as the qos allows", "QOSGrpGRES": "the qos has given out all of its GPUs",
	"QOSMaxCpuPerUserLimit": "you hold as many cores as the qos allows", "QOSMaxMemoryPerUser": "you hold as much memory as the qos allows",
	"QOSGrpCpuLimit": "the qos has given out all of its cores", "QOSMaxWallDurationPerJobLimit": "its walltime is longer than the qos allows; it will never start",
	"QOSMaxSubmitJobPerUserLimit": "the qos allows no more jobs to be submitted", "QOSUsageThreshold": "the qos is used up",
	"AssocGrpCPUMinutesLimit": "the account's core-minutes are used up", "AssocGrpBillingMinutes": "the account's budget is used up",
	"AssocGrpGRESMinutes": "the account's GPU-minutes are used up", "AssocMaxJobsLimit": "as many jobs of the account run as may",
	"AssocGrpGRES": "the account holds all of its GPUs", "AssocGrpCpuLimit": "the account holds all of its cores",
	"AssociationJobLimit": "as many jobs of the account run as may", "PartitionTimeLimit": "its walltime is longer than the partition allows; it will never start",
	"PartitionNodeLimit": "it asks for more nodes than the partition gives; it will never start", "PartitionConfig": "the partition cannot run it",
	"PartitionDown": "the partition is closed", "PartitionInactive": "the partition is closed", "NodeDown": "a node that it needs is down",
	"ReqNodeNotAvail": "nodes that it needs are away, or reserved for maintenance", "Reservation": "waits for its reservation",
	"Licenses": "waits for a license", "BadConstraints": "no node can ever satisfy it", "FrontEndDown": "the cluster is down",
	"job requeued in held state": "held after it was requeued; `scontrol release` lets it go", "JobHoldMaxRequeue": "requeued too often, and held",
	"launch failed requeued held": "it could not be launched, and is held", "RequeueHold": "held after it was requeued", "Requeue": "requeued",
	"DeadLine": "it cannot end before its deadline", "JobArrayTaskLimitReached": "as many of its phase run as may", "ReservationDeleted": "its reservation was deleted; it is held",
	"QOSMaxNodePerUserLimit": "you hold as many nodes as the qos allows", "QOSGrpNodeLimit": "the qos has given out all of its nodes",
	"QOSGrpJobsLimit": "as many jobs of the qos run as may", "AssocGrpJobsLimit": "as many jobs of the account run as may",
	"AssocGrpCPURunMinutesLimit": "what the account's running jobs may still take is used up", "AssocGrpMemLimit": "the account holds all of its memory",
	"AssocGrpNodeLimit": "the account holds all of its nodes", "AssocMaxNodePerJobLimit": "it asks for more nodes than the account gives; it will never start",
	"AssocMaxWallDurationPerJobLimit": "its walltime is longer than the account allows; it will never start", "QOSGrpBillingMinutes": "the qos's budget is used up",
	"QOSMaxBillingPerUser": "you hold as much as the qos bills a user for at once", "BurstBufferResources": "waits for room in the burst buffer",
	"NodeNotAvail": "a node that it needs is away", "Prolog": "its nodes are being made ready", "QOSNotAllowed": "the partition does not take its qos",
	"AccountNotAllowed": "the partition is not for its account", "Cleaning": "its last start is being cleaned up", "JobLaunchFailure": "it could not be launched", "NonZeroExitCode": "it failed",
	"InvalidAccount": "the account is not valid", "InvalidQOS": "the qos is not valid", "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": "nodes that it needs are down, drained or reserved",
}

// Reason is why a job waits, in words; one that is not known is shown as
// Slurm says it.
func Reason(code string) string {
	code = strings.Trim(code, "()")
	if words, ok := reasons[code]; ok {
		return words
	}
	head, _, _ := strings.Cut(code, ",") // ReqNodeNotAvail, UnavailableNodes:…
	if words, ok := reasons[head]; ok {
		return words
	}
	return code
}
