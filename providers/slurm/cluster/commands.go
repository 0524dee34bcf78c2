// Package cluster runs Slurm's commands and parses their answers: the rows of
// the queue and of accounting, partitions and limits, why a job waits, and what
// a refusal means. It keeps no state and decides nothing about jobs.
//
// Recordings in testdata and a real cluster test it against Slurm 22.05;
// published texts test it against 20.11 to 25.11 (versions_test.go). It asks by
// name, and only for fields that all these versions have. A value that a
// version does not report is unknown, not an error.
package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
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

// Commands are Slurm's, run one at a time for one user. Their errors are of type
// *providers.Error: of class unreachable where nothing is known of the outcome.
type Commands struct {
	Notation
	line  *command.Line
	Keep  string     // folder of copies for when accounting is away; "" = none
	User  string     // whose jobs and limits are asked for; not to be changed
	mu    sync.Mutex // guards the fields below
	lacks []string   // fields that this sacct does not know
	name  *string    // of the cluster; nil = it has not been asked
}

// Runs is the command that runs now, "" if none does, and since when.
func (c *Commands) Runs() (name string, since time.Time) { return c.line.Runs() }

// New asks by a runner, of the jobs and the limits of a user.
func New(r command.Runner, user string) *Commands {
	return &Commands{line: command.NewLine(r), User: user}
}

// Cluster is the ClusterName of slurm.conf(5), "" where the cluster does not tell
// it. It is asked once: these commands are of one cluster.
func (c *Commands) Cluster(ctx context.Context) (string, error) {
	c.mu.Lock()
	name := c.name
	c.mu.Unlock()
	if name != nil {
		return *name, nil
	}
	config, err := c.config(ctx)
	if err != nil && scheduler.Heard(err) {
		return "", nil
	}
	return config["ClusterName"], err
}

// config is the controller's report of the cluster's configuration.
func (c *Commands) config(ctx context.Context) (map[string]string, error) {
	out, err := c.told(ctx, askTimeout, "scontrol", "show", "config")
	if err != nil {
		return nil, err
	}
	config := parseConfig(string(out))
	name := config["ClusterName"]
	c.mu.Lock()
	c.name = &name
	c.mu.Unlock()
	return config, nil
}

// Booted is when slurmctld began.
func (c *Commands) Booted(ctx context.Context) (time.Time, error) {
	config, err := c.config(ctx)
	return epoch(config["BOOT_TIME"]), err
}

// ask runs a command that changes nothing.
func (c *Commands) ask(ctx context.Context, limit time.Duration, argv ...string) (command.Result, error) {
	r, err := c.line.Run(ctx, limit, argv)
	if err != nil {
		return r, &providers.Error{Class: providers.Unreachable, Summary: "Slurm cannot be asked", Detail: err.Error(), Hint: hintFor(err.Error())}
	}
	return r, nil
}

// Site is the output of a command of the site's own, which must succeed.
func (c *Commands) Site(ctx context.Context, argv ...string) ([]byte, error) {
	return c.told(ctx, askTimeout, argv...)
}

// told is the output of such a command, which must succeed.
func (c *Commands) told(ctx context.Context, limit time.Duration, argv ...string) ([]byte, error) {
	r, err := c.ask(ctx, limit, argv...)
	if err != nil {
		return nil, err
	}
	if r.Code != 0 {
		return r.Out, refusal(argv[0], r)
	}
	return r.Out, nil
}

// queue is every job of this user that the controller knows, ended ones too: one
// call for everything. squeue -j fails as a whole for one forgotten id. Without -r
// it prints the waiting elements of an array as one, without their comment and
// start: seen on 22.05.
func (c *Commands) queue(ctx context.Context) ([]queueRow, error) {
	out, err := c.told(ctx, askTimeout, "squeue", "-h", "-a", "-r", "-t", "all", "-u", c.User, "-o", strings.Join(queueFields, fieldEnd)+recordEnd)
	if err != nil {
		return nil, err
	}
	rows, unread := parseQueue(out, queueFields)
	if unread > 0 {
		return nil, providers.Errorf(providers.Unreachable, "squeue printed %d records that muster cannot read", unread)
	}
	return rows, nil
}

// AtOnce is how many elements of an array Slurm runs at once: 0 = all, -1 = it has
// no such array. scontrol shows it in each record; squeue does not for elements
// with a record of their own.
func (c *Commands) AtOnce(ctx context.Context, array string) (int, error) {
	out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "job", array)
	switch {
	case err != nil && isGone(err):
		return -1, nil
	case err != nil:
		return -1, err
	}
	for line := range strings.Lines(string(out)) {
		head, _, _ := strings.Cut(line, " JobName=") // the rest may hold anything
		if !strings.Contains(head+" ", " ArrayJobId="+array+" ") {
			continue
		}
		_, text, limited := strings.Cut(head, " ArrayTaskThrottle=")
		n, err := strconv.Atoi(text)
		if limited && err != nil {
			return -1, providers.Errorf(providers.Unreachable, "scontrol printed of array %s what muster cannot read: %s", array, head)
		}
		return n, nil
	}
	return -1, nil
}

// account is accounting's record of some ids of jobs or arrays, steps too. With an error it
// returns the part read before it.
func (c *Commands) account(ctx context.Context, ids []string) (rows []accountRow, err error) {
	for part := range slices.Chunk(ids, accountIDs) {
		more, unread, err := c.sacct(ctx, "-a", "-j", strings.Join(part, ","))
		if err != nil {
			return rows, err
		}
		if unread > 0 {
			return rows, providers.Errorf(providers.Unreachable, "sacct printed %d records that muster cannot read", unread)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// accountNamed is accounting's rows of a job name since five minutes before a
// time, as clocks differ. Rows that cannot be read are left out.
func (c *Commands) accountNamed(ctx context.Context, name string, since time.Time) ([]accountRow, error) {
	rows, _, err := c.sacct(ctx, "-X", "--name="+name, "-S", since.Add(-5*time.Minute).Format(localTime), "-E", "now", "-s", allStates)
	return rows, err
}

// sacct asks accounting for its fields, less those that this version was seen
// not to have.
func (c *Commands) sacct(ctx context.Context, which ...string) (rows []accountRow, unread int, err error) {
	for {
		fields := c.accountFields()
		argv := append([]string{"sacct", "-n", "-p", "-D", "--delimiter=" + fieldEnd}, which...)
		out, err := c.told(ctx, accountTimeout, append(argv, "-o", strings.Join(fields, ","))...)
		if err == nil {
			rows, unread = parseAccount(out, fields)
			return rows, unread, nil
		}
		if i := slices.Index(fields, unknownField(err)); i < accountNeeds || !c.drop(fields[i]) {
			return nil, 0, err
		}
	}
}

// accountFields are those that this version of sacct is asked for.
func (c *Commands) accountFields() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(accountFields), func(name string) bool { return slices.Contains(c.lacks, name) })
}

// drop notes that sacct does not know a field; false: that was known.
func (c *Commands) drop(field string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.lacks, field) {
		return false
	}
	c.lacks = append(c.lacks, field)
	return true
}

// allStates finds jobs that were never eligible, too. sacct(1), -s.
const allStates = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,S,TO"

// Command is how a script is submitted, held or not.
func (*Commands) Command(file string, held bool) []string {
	argv := []string{"sbatch", parsable}
	if held {
		argv = append(argv, "--hold", "--comment="+string(scheduler.Held))
	}
	return append(argv, file)
}

// Submit runs sbatch to its end, even if the caller has stopped waiting.
func (c *Commands) Submit(ctx context.Context, script string, held bool) (id string, unclear bool, err error) {
	r, err := c.line.Run(context.WithoutCancel(ctx), submitTimeout, c.Command(script, held))
	if err != nil {
		return "", true, &providers.Error{Class: providers.Unreachable, Summary: "sbatch did not finish", Detail: err.Error()}
	}
	// "ID" or "ID;CLUSTER". sbatch(1), --parsable.
	id, _, _ = strings.Cut(strings.TrimSpace(string(r.Out)), ";")
	if r.Code == 0 && isID(id) {
		return id, false, nil
	}
	if r.Code == 0 {
		return "", true, providers.Errorf(providers.Unreachable, "sbatch printed %q instead of a job id", firstLine(r.Out))
	}
	e := refusal("sbatch", r)
	if r.Code > signalled && r.Code != misread || len(bytes.TrimSpace(r.Err)) == 0 {
		e.Class = providers.Unreachable // it was killed, or did not come to say anything
	}
	return "", e.Class == providers.Unreachable, e
}

// signalled is added by a shell to the number of the signal that ended a command:
// a site's sbatch may be a script.
const signalled = 128

// misread is the status of an sbatch that cannot read its command line or the
// #SBATCH lines, and has submitted nothing. slurm_opt.c, exit(-1).
const misread = 255

func isID(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// change runs scontrol on a job of the user; args follow the command's name.
func (c *Commands) change(ctx context.Context, args ...string) error {
	_, err := c.told(ctx, askTimeout, append([]string{"scontrol"}, args...)...)
	if err == nil {
		return nil
	}
	if gone, fixed := isGone(err), isUnchangeable(err); gone || fixed {
		return &scheduler.Refusal{Err: err, Gone: gone, Unchangeable: fixed}
	}
	return err
}

// Hold keeps jobs from starting.
func (c *Commands) Hold(ctx context.Context, jobs []scheduler.Jobs) error {
	return c.change(ctx, "hold", strings.Join(idsOf(jobs), ","))
}

// Release releases held jobs.
func (c *Commands) Release(ctx context.Context, jobs []scheduler.Jobs) error {
	return c.change(ctx, "release", strings.Join(idsOf(jobs), ","))
}

// Change changes jobs that wait.
func (c *Commands) Change(ctx context.Context, jobs []scheduler.Jobs, to scheduler.Change) error {
	return c.change(ctx, append([]string{"update", "JobId=" + strings.Join(idsOf(jobs), ",")}, terms(to)...)...)
}

// terms are a change in scontrol's words. scontrol(1), SPECIFICATIONS FOR UPDATE
// COMMAND.
func terms(to scheduler.Change) (out []string) {
	switch to := to.(type) {
	case scheduler.Depend:
		return []string{"Dependency=" + scheduler.Terms(Notation{}, to)}
	case scheduler.Label:
		return []string{"Comment=" + string(to)}
	case scheduler.Throttle:
		return []string{"ArrayTaskThrottle=" + strconv.Itoa(int(to))}
	case scheduler.StartIn:
		if to > 0 {
			return []string{fmt.Sprintf("StartTime=now+%d", int(time.Duration(to).Seconds()))}
		}
		return []string{"StartTime=now"}
	case scheduler.More:
		if to.Memory > 0 {
			out = append(out, "MinMemoryNode="+strconv.FormatInt(mebibytes(to.Memory), 10))
		}
		if to.Walltime > 0 {
			out = append(out, "TimeLimit="+strconv.Itoa(minutes(to.Walltime)))
		}
	case scheduler.Avoid:
		return []string{"ExcNodeList=" + string(to)}
	case scheduler.Requeueable:
		if to {
			return []string{"Requeue=1"}
		}
		return []string{"Requeue=0"}
	}
	return out
}

// mebibytes is a size as Slurm counts it, rounded up.
func mebibytes(bytes int64) int64 {
	const mib = 1 << 20
	return (bytes + mib - 1) / mib
}

// minutes is a time as Slurm bounds it, rounded up.
func minutes(d time.Duration) int { return int((d + time.Minute - 1) / time.Minute) }

// Cancel cancels jobs. Ids that are unknown or have ended are no error: some
// versions ignore them with status 0, others fail after they have cancelled the
// rest.
func (c *Commands) Cancel(ctx context.Context, jobs []scheduler.Jobs) error {
	return c.cancel(ctx, idsOf(jobs))
}

// CancelWaiting cancels those jobs of a name that have not started. A scancel that
// selects by name or state cancels a whole array whose elements share one record:
// seen on 22.05. A hold first gives the named elements records of their own, and
// does not affect running ones.
func (c *Commands) CancelWaiting(ctx context.Context, name string, jobs []scheduler.Jobs) error {
	var elements []scheduler.Jobs
	for _, j := range jobs {
		if j.Indexes != nil {
			elements = append(elements, j)
		}
	}
	if len(elements) > 0 {
		if err := c.Hold(ctx, elements); err != nil && !scheduler.Gone(err) && !scheduler.Unchangeable(err) {
			return err
		}
	}
	return c.cancel(ctx, idsOf(jobs), "--state=PENDING", "--name="+name)
}

func (c *Commands) cancel(ctx context.Context, ids []string, which ...string) error {
	for part := range slices.Chunk(ids, accountIDs) {
		r, err := c.ask(ctx, askTimeout, slices.Concat([]string{"scancel"}, which, []string{"--"}, part)...)
		if err != nil {
			return err
		}
		if r.Code != 0 {
			if err := refusal("scancel", r); !isGone(err) {
				return err
			}
		}
	}
	return nil
}
