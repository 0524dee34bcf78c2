// Package cluster is what Slurm's commands answer: the queue and accounting by
// rows, what a cluster says of its partitions and limits, why a job waits, and
// what a refusal means. It keeps nothing of its own: what muster does with the
// answers is package login's.
//
// Slurm 22.05 is what this is held against, by recordings in testdata and by a
// cluster; of 20.11 to 25.11 are texts that were published (versions_test.go).
// Only fields that all of them have are asked for, by name, and what a version
// does not tell is unknown and no failure.
package cluster

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// Commands are Slurm's, run one at a time for one user. Their errors are of type
// *providers.Error: of class unreachable where nothing is known of the outcome.
type Commands struct {
	runner Runner
	Keep   string     // folder of what is kept for when accounting is away; "" = nowhere
	User   string     // whose jobs and limits are asked for; not to be changed
	lacks  []string   // fields that this sacct does not know
	mu     sync.Mutex // one command at a time: nobody polls a controller to death
	runs   atomic.Pointer[running]
}

// running is a command that has not ended.
type running struct {
	name  string
	since time.Time
}

// Runs is the command that runs now, "" if none does, and since when.
func (c *Commands) Runs() (name string, since time.Time) {
	if r := c.runs.Load(); r != nil {
		return r.name, r.since
	}
	return "", time.Now()
}

// run is for a caller that holds mu.
func (c *Commands) run(ctx context.Context, argv []string) (Result, error) {
	c.runs.Store(&running{argv[0], time.Now()})
	defer c.runs.Store(nil)
	return c.runner.Run(ctx, argv, nil)
}

// New asks by a runner, of the jobs and the limits of a user.
func New(r Runner, user string) *Commands { return &Commands{runner: r, User: user} }

// ask runs a command that only looks.
func (c *Commands) ask(ctx context.Context, limit time.Duration, argv ...string) (Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	r, err := c.run(ctx, argv)
	if err != nil {
		return r, &providers.Error{Class: providers.Unreachable, Summary: "Slurm cannot be asked", Detail: err.Error(), Hint: hintFor(err.Error())}
	}
	return r, nil
}

// told is ask for a command that must succeed.
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

// Queue is every job of this user that the controller knows, ended ones too
// for as long as it does: one call for everything. squeue -j fails as a whole
// for one id that was forgotten. Without -r it prints all elements of an array
// that wait as one, with the reasons of all and the comment and the start of none:
// seen on 22.05.
func (c *Commands) Queue(ctx context.Context) ([]QueueRow, error) {
	out, err := c.told(ctx, askTimeout, "squeue", "-h", "-a", "-r", "-t", "all", "-u", c.User, "-o", strings.Join(queueFields, fieldEnd)+recordEnd)
	if err != nil {
		return nil, err
	}
	rows, unread := parseQueue(out, queueFields)
	if unread > 0 {
		return nil, providers.Errorf(providers.Unreachable, "squeue said %d things that cannot be read", unread)
	}
	return rows, nil
}

// AtOnce is how many of an array Slurm lets run at once: 0 = all, -1 = it knows of
// no such array. Each of its records bears it, and squeue does not say it of
// elements that stand for themselves.
func (c *Commands) AtOnce(ctx context.Context, array string) (int, error) {
	out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "job", array)
	switch {
	case err != nil && Gone(err):
		return -1, nil
	case err != nil:
		return -1, err
	}
	for line := range strings.Lines(string(out)) {
		head, _, _ := strings.Cut(line, " JobName=") // what follows may hold anything
		if !strings.Contains(head+" ", " ArrayJobId="+array+" ") {
			continue
		}
		_, text, limited := strings.Cut(head, " ArrayTaskThrottle=")
		n, err := strconv.Atoi(text)
		if limited && err != nil {
			return -1, providers.Errorf(providers.Unreachable, "scontrol said of array %s what cannot be read: %s", array, head)
		}
		return n, nil
	}
	return -1, nil
}

// Account is what accounting has of some ids of jobs or arrays, steps too. Of an
// error, what was read before it is returned.
func (c *Commands) Account(ctx context.Context, ids []string) (rows []AccountRow, err error) {
	for part := range slices.Chunk(ids, accountIDs) {
		more, unread, err := c.sacct(ctx, "-a", "-j", strings.Join(part, ","))
		if err != nil {
			return rows, err
		}
		if unread > 0 {
			return rows, providers.Errorf(providers.Unreachable, "sacct said %d things that cannot be read", unread)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// accountNamed is what accounting has of a job name since five minutes before a
// time, as clocks differ. Rows that cannot be read are left out.
func (c *Commands) accountNamed(ctx context.Context, name string, since time.Time) ([]AccountRow, error) {
	rows, _, err := c.sacct(ctx, "-X", "--name="+name, "-S", since.Add(-5*time.Minute).Format(localTime), "-E", "now", "-s", allStates)
	return rows, err
}

// sacct asks accounting for its fields, less those that this version was seen
// not to have.
func (c *Commands) sacct(ctx context.Context, which ...string) (rows []AccountRow, unread int, err error) {
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

// Submit runs sbatch, the whole command line of it, to its end, whoever waits
// for it, and returns the id. unclear says that the job may have been submitted
// all the same; it goes with an error of class unreachable.
func (c *Commands) Submit(ctx context.Context, argv []string) (id string, unclear bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), submitTimeout)
	defer stop()
	r, err := c.run(ctx, argv)
	if err != nil {
		return "", true, &providers.Error{Class: providers.Unreachable, Summary: "sbatch did not come to an end", Detail: err.Error()}
	}
	// "ID" or "ID;CLUSTER". sbatch(1), --parsable.
	id, _, _ = strings.Cut(strings.TrimSpace(string(r.Out)), ";")
	if r.Code == 0 && isID(id) {
		return id, false, nil
	}
	if r.Code == 0 {
		return "", true, providers.Errorf(providers.Unreachable, "sbatch said no id but %q", firstLine(r.Out))
	}
	e := refusal("sbatch", r)
	if r.Code > signalled && r.Code != misread || len(bytes.TrimSpace(r.Err)) == 0 {
		e.Class = providers.Unreachable // it was killed, or did not come to say anything
	}
	return "", e.Class == providers.Unreachable, e
}

// signalled is what a shell adds to the number of the signal that ended a
// command: a site's own sbatch may be a script.
const signalled = 128

// misread is the status of an sbatch that cannot read its own command line, or
// the #SBATCH lines: it has asked nobody. slurm_opt.c, exit(-1).
const misread = 255

func isID(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Scontrol changes something of ours; args are those after the command's name.
func (c *Commands) Scontrol(ctx context.Context, args ...string) error {
	_, err := c.told(ctx, askTimeout, append([]string{"scontrol"}, args...)...)
	return err
}

// Cancel tells Slurm to end jobs: ids, or elements as "7_[0-3]". Ids that are
// unknown or have ended are no error: some versions are silent about them, with
// status 0, and some fail after they have ended the others.
func (c *Commands) Cancel(ctx context.Context, ids []string) error { return c.cancel(ctx, ids) }

// CancelWaiting is Cancel for those of a name that have not started. A scancel
// that chooses ends the whole of an array whose elements still stand in one
// record, whichever are named: seen on 22.05. A hold gives those that are named
// records of their own, and does nothing to what runs.
func (c *Commands) CancelWaiting(ctx context.Context, name string, ids []string) error {
	var elements []string
	for _, id := range ids {
		if strings.Contains(id, "_") {
			elements = append(elements, id)
		}
	}
	if len(elements) > 0 {
		if err := c.Scontrol(ctx, "hold", strings.Join(elements, ",")); err != nil && !Gone(err) && !Unchangeable(err) {
			return err
		}
	}
	return c.cancel(ctx, ids, "--state=PENDING", "--name="+name)
}

func (c *Commands) cancel(ctx context.Context, ids []string, which ...string) error {
	for part := range slices.Chunk(ids, accountIDs) {
		r, err := c.ask(ctx, askTimeout, slices.Concat([]string{"scancel"}, which, []string{"--"}, part)...)
		if err != nil {
			return err
		}
		if r.Code != 0 {
			if err := refusal("scancel", r); !Gone(err) {
				return err
			}
		}
	}
	return nil
}
