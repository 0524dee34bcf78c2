package failure

import "strings"

// scheduler reads a scheduler's state word. A word that says no more than "failed" leaves the
// decision to the counters and the log.
func scheduler(e Evidence) (Verdict, bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(e.Scheduler), " ") // "CANCELLED by 1001"
	class, ok := schedulerWords[strings.ToUpper(strings.TrimSuffix(word, "+"))]
	if !ok {
		return Verdict{}, false
	}
	v := Verdict{Class: class, Rule: "scheduler", Hint: "the scheduler says " + cleanLine([]byte(e.Scheduler))}
	return v, true
}

// schedulerWords: squeue(1) and sacct(1), JOB STATE CODES, long and short;
// Kubernetes, terminated reasons and DisruptionTarget; PBS exec exit codes
// by name, pbs_job_attributes(7B).
var schedulerWords = map[string]string{
	"OUT_OF_MEMORY": OOMSched, "OOM": OOMSched, "OOMKILLED": OOMSched, "JOB_EXEC_KILL_MEM": OOMSched,
	"TIMEOUT": Walltime, "TO": Walltime, "DEADLINE": Walltime, "DL": Walltime,
	"DEADLINEEXCEEDED": Walltime, "JOB_EXEC_KILL_WALLTIME": Walltime,
	"PREEMPTED": Preempted, "PR": Preempted, "EVICTED": Preempted, "PREEMPTIONBYSCHEDULER": Preempted,
	"NODE_FAIL": NodeFailure, "NF": NodeFailure, "BOOT_FAIL": NodeFailure, "BF": NodeFailure,
	"LAUNCH_FAILED": NodeFailure, "DELETIONBYTAINTMANAGER": NodeFailure, "NODELOST": NodeFailure,
	"CANCELLED": CancelledOutside, "CA": CancelledOutside, "REVOKED": CancelledOutside, "RV": CancelledOutside,
}
