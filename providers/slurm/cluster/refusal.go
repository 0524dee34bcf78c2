package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
)

// A said is the meaning of a message of Slurm's.
type said struct {
	text  string
	class providers.ErrorClass
	means string
	hint  string
}

const (
	perJob      = "it asks for more than the qos or the account gives"
	perJobMin   = "it asks for less than the qos or the account wants"
	garbled     = "slurmctld and its command did not understand each other"
	notAnOption = "correct `extra` in options \"slurm\"; `sbatch --help` lists what there is in this version"
	listLimits  = "`sacctmgr show qos` and `sacctmgr show assoc user=$USER` list the limits"
)

// messages are those of sbatch and the like, from slurm_errno.c and seen on
// 22.05; the first that fits decides.
var messages = []said{
	{"unable to contact slurm controller", providers.Unreachable, "slurmctld does not answer", "nothing is lost: muster asks again; `scontrol ping` says when it is back"},
	{"socket timed out", providers.Unreachable, "slurmctld did not answer in time", "nothing is lost: muster asks again, and submits no job twice"},
	{"zero bytes were transmitted", providers.Unreachable, "slurmctld broke off", ""},
	{"munge encode failed", providers.Unreachable, "munge does not answer on this machine", "nothing is lost: muster asks again; `munge -n | unmunge` says when it is back"},
	{"authentication error", providers.Unreachable, "Slurm's daemons reject this machine's munge credentials", "nothing is lost: muster asks again; clocks and keys of both machines must agree"},
	{"connection timed out", providers.Unreachable, "slurmctld did not answer in time", ""},
	{"i/o error writing script", providers.Unreachable, "slurmctld cannot write its state", "its disk may be full; muster tries again"},
	{"connection refused", providers.Unreachable, "slurmctld does not answer", ""},
	{"connection reset by peer", providers.Unreachable, "slurmctld broke off", ""}, {"broken pipe", providers.Unreachable, "slurmctld broke off", ""}, // as one that is killed does
	{"transport endpoint is not connected", providers.Unreachable, "slurmctld broke off", ""}, // killed while it took the connection: seen on 22.05
	{"no route to host", providers.Unreachable, "slurmctld's machine does not answer", ""}, {"network is unreachable", providers.Unreachable, "slurmctld's machine does not answer", ""},
	{"network is down", providers.Unreachable, "slurmctld's machine does not answer", ""}, {"host is down", providers.Unreachable, "slurmctld's machine does not answer", ""},
	{"unable to establish configuration source", providers.Unreachable, "there is no slurm.conf", "set SLURM_CONF, or run muster on a login node"},
	{"could not establish a configuration source", providers.Unreachable, "there is no slurm.conf", "set SLURM_CONF, or run muster on a login node"},
	{"slurm backup controller in standby", providers.Unreachable, "the controllers are changing over", ""},
	{"temporarily unable to accept job", providers.Unreachable, "slurmctld is too busy", "muster tries again"},
	{"resource temporarily unavailable", providers.Unreachable, "slurmctld is too busy", ""},
	{"unexpected message received", providers.Unreachable, garbled, ""}, {"message receive failure", providers.Unreachable, garbled, ""},
	{"message send failure", providers.Unreachable, garbled, ""}, {"communication connection failure", providers.Unreachable, garbled, ""},
	{"communication shutdown failure", providers.Unreachable, garbled, ""}, {"insane message length", providers.Unreachable, garbled, ""},
	{"header lengths are longer", providers.Unreachable, garbled, ""},
	{"incompatible versions of client and server", providers.Unreachable, "Slurm's commands here are of another version than slurmctld", "the cluster may be being upgraded: muster asks again; `sinfo --version` and `scontrol show config` say the two versions"},
	{"unrecognized option", providers.Invalid, "sbatch here has no such option", notAnOption}, {"invalid option --", providers.Invalid, "sbatch here has no such option", notAnOption},
	{"is ambiguous", providers.Invalid, "sbatch here has several such options", notAnOption}, {"requires an argument", providers.Invalid, "an option of sbatch lacks its value", notAnOption},
	{"maxsubmit", providers.Quota, "the limit of submitted jobs is reached", "the rest is submitted as room appears"},
	{"grpsubmit", providers.Quota, "the limit of submitted jobs is reached", "the rest is submitted as room appears"},
	// The reason comes before the sentence that all of these share.
	{"maxwall", providers.Invalid, "the walltime is longer than the qos or the account allows", "shorten walltime, let checkpoint split it, or name a longer qos; `sacctmgr show qos` lists them"},
	{"maxcpu", providers.Invalid, perJob, listLimits}, {"maxnode", providers.Invalid, perJob, listLimits}, {"maxgres", providers.Invalid, perJob, listLimits},
	{"maxmem", providers.Invalid, perJob, listLimits}, {"maxtres", providers.Invalid, perJob, listLimits}, {"maxbilling", providers.Invalid, perJob, listLimits},
	{"mincpu", providers.Invalid, perJobMin, listLimits}, {"mingres", providers.Invalid, perJobMin, listLimits}, {"mintres", providers.Invalid, perJobMin, listLimits},
	{"job submit limit", providers.Quota, "the limit of submitted jobs is reached", "the rest is submitted as room appears"},
	{"invalid account", providers.Invalid, "the account, or this account on this partition, is not yours", "set account in the backend block; `sacctmgr show assoc user=$USER` lists yours"},
	{"invalid partition", providers.Invalid, "there is no such partition", "`sinfo -s` lists them"},
	{"invalid qos", providers.Invalid, "this quality of service is not yours", "`sacctmgr show assoc user=$USER format=account,qos` lists yours"},
	{"user's group not permitted", providers.Invalid, "this partition is not for you", "choose another partition"},
	{"requested time limit is invalid", providers.Invalid, "the walltime is longer than the partition allows", "shorten walltime, or choose a partition or qos that allows more"},
	{"requested partition configuration not available", providers.Invalid, "the partition is closed, or does not allow this request", "`scontrol show partition` says its state and limits"},
	{"requested node configuration is not available", providers.Invalid, "no node of the partition can satisfy the request", "ask for fewer cores, less memory or other GPUs"},
	{"invalid generic resource", providers.Invalid, "there are no such GPUs here", "`sinfo -o '%P %G'` lists them"},
	{"trackable resource", providers.Invalid, "there are no such GPUs here", "`sinfo -o '%P %G'` lists them"},
	{"node count specification invalid", providers.Invalid, "it asks for more nodes than the partition gives", "ask for fewer nodes, or choose another partition"},
	{"more processors requested than permitted", providers.Invalid, "it asks for more cores than the partition gives", "ask for fewer cores"},
	{"invalid feature", providers.Invalid, "no node has this feature", "`sinfo -o '%P %f'` lists them"},
	{"memory specification can not be satisfied", providers.Invalid, "no node has so much memory", "ask for less memory"},
	{"job dependency problem", providers.Unreachable, "slurmctld no longer knows one of its dependencies", ""},
	{"reservation", providers.Invalid, "the reservation cannot be used", "`scontrol show reservation` lists them"},
	{"memory required by task", providers.Invalid, "it asks for more memory than the partition gives", "ask for less memory; `scontrol show partition` says MaxMemPerNode"},
	{"required partition not available", providers.Invalid, "the partition takes no new jobs now", "choose another partition, or wait; `scontrol show partition` says its state"},
	{"access/permission denied", providers.Invalid, "the partition does not take jobs of yours from this machine, or outside a reservation", "choose another partition; `scontrol show partition` says RootOnly, AllocNodes and ReqResv"},
	{"no cluster", providers.Invalid, "there is no such cluster", "`sacctmgr show clusters` lists them"},
	{"invalid node name", providers.Invalid, "there is no such node", "`sinfo -N` lists them"},
	{"temporary disk", providers.Invalid, "no node has so much temporary disk", "`sinfo -o '%P %d'` says how much there is, in MB"},
	{"license", providers.Invalid, "there are no such licenses", "`scontrol show licenses` lists them"},
	{"invalid job array specification", providers.Invalid, "the array is longer than the site allows", ""},
	{"unspecified error", providers.Invalid, "a rule of the site's own refuses it", "its own words come first; ask the site's support for the rule"},
	{"accounting/qos policy", providers.Invalid, "a limit of the account or its qos forbids it", "`sacctmgr show qos` lists the limits"},
}

// submitLimit is the name of a limit on submitted jobs, as slurmctld says it.
// slurm_protocol_defs.c, job_reason_string.
var submitLimit = lazyregexp.New(`(QOS|Assoc)(Grp|Max)Submit\w*`)

func hintFor(text string) string {
	if strings.Contains(text, "executable file not found") {
		return "Slurm's commands are not on PATH here: run muster on a login node, or add an ssh block to the backend"
	}
	return ""
}

// refusal is a command's failure as a diagnostic.
func refusal(command string, r command.Result) *providers.Error {
	text := strings.ToLower(string(r.Err) + string(r.Out))
	detail := fmt.Sprintf("%s: %s", command, message(command, r.Err))
	if words := denied(string(r.Err)); words != "" {
		return &providers.Error{Class: providers.Invalid, Summary: words, Detail: detail, Hint: listLimits}
	}
	if command != "sbatch" && strings.Contains(text, "access/permission denied") {
		return &providers.Error{Class: providers.Invalid, Summary: "Slurm does not let you do this", Detail: detail, Hint: "only an administrator can release an administrator's hold"}
	}
	for _, m := range messages {
		if strings.Contains(text, m.text) {
			means := m.means
			if command == "sacctmgr" || command == "sacct" {
				means = strings.ReplaceAll(means, "slurmctld", "slurmdbd")
			}
			if code := submitLimit.FindString(string(r.Err)); code != "" && m.class == providers.Quota {
				means += " (" + code + ")"
			}
			return &providers.Error{Class: m.class, Summary: means, Detail: detail, Hint: m.hint}
		}
	}
	class := providers.Invalid
	if command != "sbatch" {
		class = providers.Unreachable // a command that only looks has said nothing
	}
	return &providers.Error{Class: class, Summary: fmt.Sprintf("%s ended with status %d: %s", command, r.Code, message(command, r.Err)), Detail: detail}
}

// message is a command's output on stderr, without its name before each line.
func message(command string, text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(strings.TrimPrefix(line, command+": "), "error: ")
		if line != "" && !strings.HasPrefix(line, "Try \"") { // its --help

			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "it did not say why"
	}
	return strings.Join(lines, "; ")
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// invalidField matches sacct's message about a field that its version does not
// have.
var invalidField = lazyregexp.New(`[Ii]nvalid field requested: "?(\w+)`)

// unknownField is the field for which sacct refused to answer, "" if it was for
// something else.
func unknownField(err error) string {
	var e *providers.Error
	if !errors.As(err, &e) {
		return ""
	}
	if m := invalidField.FindStringSubmatch(e.Detail); m != nil {
		return m[1]
	}
	return ""
}

// isGone reports whether an error is Slurm's refusal to do something to a job that
// has ended.
func isGone(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "already completed") || strings.Contains(text, "already finished") || strings.Contains(text, "invalid job id") ||
		strings.Contains(text, "job/step already")
}

// isUnchangeable reports whether Slurm refused a change: the job no longer waits,
// or the site does not let users change it.
func isUnchangeable(err error) bool {
	var e *providers.Error
	if !errors.As(err, &e) {
		return false
	}
	text := strings.ToLower(e.Detail)
	return slices.ContainsFunc([]string{"no longer pending", "dependency problem", "access/permission denied", "disabled"}, func(words string) bool {
		return strings.Contains(text, words)
	})
}
