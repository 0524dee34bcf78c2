package cluster

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// outcomes are the exit statuses below 0, by which PBS itself says how a job ended.
// pbs_job.h, JOB_EXEC_*; PBS Reference Guide, Job Exit Status Codes.
var outcomes = map[int]struct {
	outcome scheduler.Outcome
	said    string
}{
	-29: {scheduler.TimedOut, "exceeded resource walltime"},
	-28: {scheduler.TimedOut, "exceeded resource cput"},
	-27: {scheduler.OutOfMemory, "exceeded resource mem"},
	-26: {scheduler.OutOfMemory, "exceeded resource vmem"},
	-25: {scheduler.Failed, "exceeded resource ncpus"},
	-24: {scheduler.Failed, "exceeded resource ncpus for a moment"},
	-20: {scheduler.NodeFailed, "lost its node, and may not be run again"},
}

// Substates of an ended job. pbs_job_attributes(7B).
const (
	deleted = "91"
	moved   = "94"
)

// end is how an ended job ended. A job without an exit status never ran, whatever its substate
// says: 92 is "finished", and also of jobs that PBS deletes because a job before them failed.
//
// An element that never ran shows the start and the status of its array, and once its array is
// deleted also one that had completed. It has no host. Seen on 23.06.
func (j job) end() scheduler.End {
	ran := !j.began().IsZero()
	switch {
	case !ran && j["Exit_status"].int() >= 0 && j.has("Exit_status"):
		return scheduler.End{Outcome: scheduler.Cancelled, Said: j.said("deleted before it ran"), By: j.by()}
	case j["substate"] == moved:
		return scheduler.End{} // to another server
	case !j.has("Exit_status") && j["substate"] == deleted:
		return scheduler.End{Outcome: scheduler.Cancelled, Said: j.said("deleted"), By: j.by()}
	case !j.has("Exit_status") && !ran:
		return scheduler.End{Outcome: scheduler.Cancelled, Said: "deleted before it ran"}
	case !j.has("Exit_status"):
		return scheduler.End{} // PBS does not know, and may yet
	}
	code := j["Exit_status"].int()
	if known, ok := outcomes[code]; ok {
		return scheduler.End{Outcome: known.outcome, Said: fmt.Sprintf("%s (Exit_status %d)", known.said, code)}
	}
	switch {
	case j["substate"] == deleted:
		return scheduler.End{Outcome: scheduler.Cancelled, Said: j.said("deleted"), By: j.by()}
	case code < 0:
		return scheduler.End{Outcome: scheduler.BootFailed, Said: j.said(fmt.Sprintf("Exit_status %d", code))}
	case code > signalled:
		return scheduler.End{Outcome: scheduler.Failed, Said: fmt.Sprintf("Exit_status %d", code), Signal: code - signalled}
	case code > 0:
		return scheduler.End{Outcome: scheduler.Failed, Said: fmt.Sprintf("Exit_status %d", code), Exit: code}
	}
	return scheduler.End{Outcome: scheduler.Completed, Said: "Exit_status 0"}
}

// signalled is added to the number of the signal that ended a job. PBS Reference
// Guide, Job Exit Status Codes.
const signalled = 256

// said is the job's comment, or else a text.
func (j job) said(or string) string {
	if j["comment"] == "" {
		return or
	}
	return string(j["comment"])
}

// by says, after a space, who deleted a job: "... and terminated by alice@pbs1".
func (j job) by() string {
	_, who, ok := strings.Cut(string(j["comment"]), " terminated by ")
	if !ok {
		return ""
	}
	return " by " + strings.TrimSpace(who)
}
