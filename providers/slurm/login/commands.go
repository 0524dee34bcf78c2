package login

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
)

// Bounds of Slurm's commands. A missing slurm.conf hangs 60 s, a hung
// slurmctld MessageTimeout, a hung slurmdbd 55 s: seen on 22.05.
const (
	askTimeout     = 90 * time.Second
	accountTimeout = 2 * time.Minute
	// sbatch is never ended early: one that is may have submitted all the same.
	submitTimeout = 10 * time.Minute
)

// accountIDs is how many ids go into one sacct call.
const accountIDs = 500

// A cluster is Slurm as its commands show it.
type cluster struct {
	runner
	user string
	mu   sync.Mutex // one command at a time: nobody polls a controller to death
}

// ask runs a command that only looks.
func (c *cluster) ask(ctx context.Context, limit time.Duration, argv ...string) (result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	r, err := c.Run(ctx, argv, nil)
	if err != nil {
		return r, &providers.Error{Class: providers.Unreachable, Summary: "Slurm cannot be asked", Detail: err.Error(), Hint: hintFor(err.Error())}
	}
	return r, nil
}

// told is ask for a command that must succeed.
func (c *cluster) told(ctx context.Context, limit time.Duration, argv ...string) ([]byte, error) {
	r, err := c.ask(ctx, limit, argv...)
	if err != nil {
		return nil, err
	}
	if r.code != 0 {
		return r.out, refusal(argv[0], r)
	}
	return r.out, nil
}

// queue is every job of this user that the controller knows, ended ones too
// for as long as it does: one call for everything. squeue -j fails as a whole
// for one id that was forgotten.
func (c *cluster) queue(ctx context.Context) ([]queueRow, error) {
	out, err := c.told(ctx, askTimeout, "squeue", "-h", "-a", "-r", "-t", "all", "-u", c.user, "-o", queueFormat)
	if err != nil {
		return nil, err
	}
	rows, unread := parseQueue(out)
	if unread > 0 {
		return nil, providers.Errorf(providers.Unreachable, "squeue said %d things that cannot be read", unread)
	}
	return rows, nil
}

// account is what accounting has of some ids.
func (c *cluster) account(ctx context.Context, ids []string) (rows []accountRow, err error) {
	for part := range slices.Chunk(ids, accountIDs) {
		out, err := c.told(ctx, accountTimeout, "sacct", "-n", "-p", "-D", "-a", "--delimiter="+fieldEnd, "-j", strings.Join(part, ","), "-o", accountFields)
		if err != nil {
			return rows, err
		}
		more, unread := parseAccount(out)
		if unread > 0 {
			return rows, providers.Errorf(providers.Unreachable, "sacct said %d things that cannot be read", unread)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// accountNamed is what accounting has of a job name since a time.
func (c *cluster) accountNamed(ctx context.Context, name string, since time.Time) ([]accountRow, error) {
	out, err := c.told(ctx, accountTimeout, "sacct", "-n", "-p", "-D", "-X", "--delimiter="+fieldEnd, "--name="+name,
		"-S", since.Add(-5*time.Minute).Format("2006-01-02T15:04:05"), "-E", "now", "-s", allStates, "-o", accountFields)
	if err != nil {
		return nil, err
	}
	rows, _ := parseAccount(out)
	return rows, nil
}

// allStates finds jobs that were never eligible, too. sacct(1), -s.
const allStates = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,S,TO"

// submit runs sbatch to its end, whoever waits for it, and returns the id.
// unclear says that the job may have been submitted all the same.
func (c *cluster) submit(ctx context.Context, argv []string) (id string, unclear bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), submitTimeout)
	defer stop()
	r, err := c.Run(ctx, argv, nil)
	if err != nil {
		return "", true, &providers.Error{Class: providers.Unreachable, Summary: "sbatch did not come to an end", Detail: err.Error()}
	}
	// "ID" or "ID;CLUSTER". sbatch(1), --parsable.
	id, _, _ = strings.Cut(strings.TrimSpace(string(r.out)), ";")
	if r.code == 0 && isID(id) {
		return id, false, nil
	}
	if r.code == 0 {
		return "", true, providers.Errorf(providers.Unreachable, "sbatch said no id but %q", firstLine(r.out))
	}
	e := refusal("sbatch", r)
	if r.code > signalled || len(bytes.TrimSpace(r.err)) == 0 {
		e.Class = providers.Unreachable // it was killed, or did not come to say anything
	}
	return "", e.Class == providers.Unreachable, e
}

// signalled is what a shell adds to the number of the signal that ended a
// command: a site's own sbatch may be a script.
const signalled = 128

func isID(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// scontrol changes something of ours.
func (c *cluster) scontrol(ctx context.Context, args ...string) error {
	_, err := c.told(ctx, askTimeout, append([]string{"scontrol"}, args...)...)
	return err
}

// cancel tells Slurm to end jobs. Its status means nothing: 0 also for ids
// that are unknown.
func (c *cluster) cancel(ctx context.Context, ids []string) error {
	for part := range slices.Chunk(ids, accountIDs) {
		r, err := c.ask(ctx, askTimeout, append([]string{"scancel", "--"}, part...)...)
		if err != nil {
			return err
		}
		if r.code != 0 {
			return refusal("scancel", r)
		}
	}
	return nil
}

// A said is what a message of Slurm's means.
type said struct {
	text  string
	class providers.ErrorClass
	means string
	hint  string
}

const (
	perJob     = "it asks for more than the qos or the account gives"
	perJobMin  = "it asks for less than the qos or the account wants"
	listLimits = "`sacctmgr show qos` and `sacctmgr show assoc user=$USER` list the limits"
)

// messages are those of sbatch and the like, from slurm_errno.c and seen on
// 22.05; the first that fits decides.
var messages = []said{
	{"unable to contact slurm controller", providers.Unreachable, "slurmctld does not answer", "nothing is lost: muster asks again; `scontrol ping` says when it is back"},
	{"socket timed out", providers.Unreachable, "slurmctld did not answer in time", "nothing is lost: muster looks whether the job arrived before it submits again"},
	{"zero bytes were transmitted", providers.Unreachable, "slurmctld broke off", ""},
	{"munge encode failed", providers.Unreachable, "munge does not answer on this machine", "nothing is lost: muster asks again; `munge -n | unmunge` says when it is back"},
	{"authentication error", providers.Unreachable, "Slurm's daemons do not believe this machine's munge", "nothing is lost: muster asks again; clocks and keys of both machines must agree"},
	{"connection timed out", providers.Unreachable, "slurmctld did not answer in time", ""},
	{"i/o error writing script", providers.Unreachable, "slurmctld cannot write its state", "its disk may be full; muster tries again"},
	{"connection refused", providers.Unreachable, "slurmctld does not answer", ""},
	{"unable to establish configuration source", providers.Unreachable, "there is no slurm.conf", "set SLURM_CONF, or run muster on a login node"},
	{"could not establish a configuration source", providers.Unreachable, "there is no slurm.conf", "set SLURM_CONF, or run muster on a login node"},
	{"slurm backup controller in standby", providers.Unreachable, "the controllers are changing over", ""},
	{"temporarily unable to accept job", providers.Unreachable, "slurmctld is too busy", "muster tries again"},
	{"resource temporarily unavailable", providers.Unreachable, "slurmctld is too busy", ""},
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
	{"requested partition configuration not available", providers.Invalid, "the partition is closed, or does not allow what is asked", "`scontrol show partition` says its state and limits"},
	{"requested node configuration is not available", providers.Invalid, "no node of the partition has what is asked", "ask for fewer cores, less memory or other GPUs"},
	{"invalid generic resource", providers.Invalid, "there are no such GPUs here", "`sinfo -o '%P %G'` lists them"},
	{"invalid feature", providers.Invalid, "no node has this feature", "`sinfo -o '%P %f'` lists them"},
	{"memory specification can not be satisfied", providers.Invalid, "no node has so much memory", "ask for less memory"},
	{"job dependency problem", providers.Unreachable, "what it comes after is not known to slurmctld any more", ""},
	{"reservation", providers.Invalid, "the reservation cannot be used", "`scontrol show reservation` lists them"},
	{"license", providers.Invalid, "there are no such licenses", "`scontrol show licenses` lists them"},
	{"invalid job array specification", providers.Invalid, "the array is longer than the site allows", ""},
	{"accounting/qos policy", providers.Invalid, "a limit of the account or its qos forbids it", "`sacctmgr show qos` lists the limits"},
}

func hintFor(text string) string {
	if strings.Contains(text, "executable file not found") {
		return "Slurm's commands are not on PATH here: run muster on a login node, or add an ssh block to the backend"
	}
	return ""
}

// refusal is a command's failure as a diagnostic.
func refusal(command string, r result) *providers.Error {
	text := strings.ToLower(string(r.err) + string(r.out))
	detail := fmt.Sprintf("%s: %s", command, message(command, r.err))
	for _, m := range messages {
		if strings.Contains(text, m.text) {
			return &providers.Error{Class: m.class, Summary: m.means, Detail: detail, Hint: m.hint}
		}
	}
	class := providers.Invalid
	if command != "sbatch" {
		class = providers.Unreachable // what only looks has said nothing
	}
	return &providers.Error{Class: class, Summary: fmt.Sprintf("%s ended with status %d", command, r.code), Detail: detail}
}

// message is what a command said on stderr, without its name before each line.
func message(command string, text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(strings.TrimPrefix(line, command+": "), "error: ")
		if line != "" {
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
