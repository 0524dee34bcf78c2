// Package script is what sbatch is given: the text of a batch script, and what a
// job's `options "slurm"` mean in it. It is meant to be read.
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Options are what `options "slurm"` of a job may say.
type Options struct {
	Partition   string   `json:"partition"`
	QoS         string   `json:"qos"`
	Constraint  string   `json:"constraint"`
	Reservation string   `json:"reservation"`
	Nodes       int      `json:"nodes"`
	Exclusive   bool     `json:"exclusive"`
	Licenses    string   `json:"licenses"`
	Mail        string   `json:"mail"`
	Extra       []string `json:"extra"`
}

// ParseOptions reads what the options block of a job says, as JSON; nothing is none.
func ParseOptions(text json.RawMessage) (o Options, err error) {
	if len(text) == 0 {
		return o, nil
	}
	var wrong *json.UnmarshalTypeError
	if err = json.Unmarshal(text, &o); errors.As(err, &wrong) {
		return o, fmt.Errorf(`options "slurm": %s is a %s: write a %s`, wrong.Field, wrong.Value, strings.Replace(wrong.Type.String(), "int", "whole number", 1))
	}
	var given struct{ Nodes *int }
	if err == nil && json.Unmarshal(text, &given) == nil && given.Nodes != nil && *given.Nodes < 1 {
		return o, fmt.Errorf(`options "slurm": nodes is %d: write 1 or more, or take it out`, *given.Nodes)
	}
	return o, err
}

// Spread is a shape with as many nodes as the options ask for.
func (o Options) Spread(s offer.Shape) offer.Shape {
	s.Nodes = max(s.Nodes, o.Nodes, 1)
	return s
}

// Given is what a job of a shape is given with these options on a partition, which
// is what it is charged for.
func (o Options) Given(l *cluster.Partition, s offer.Shape) offer.Shape {
	if s = o.Spread(s).Given(); o.Exclusive || l.Exclusive {
		s = l.Whole(s)
	} else if hint := o.value("--hint"); hint == "nomultithread" || hint == "compute_bound" || o.value("--threads-per-core") == "1" {
		s = l.OneThread(s)
	}
	return l.Given(s)
}

// A Request is what a script is made of: of like jobs that go to Slurm as one
// array, or of one job.
type Request struct {
	Name     string // Slurm's job name
	Pool     string // the partition
	Array    bool
	Indexes  []int          // of the array
	Cap      int            // most of it that may run at once; 0 = all
	Dir      string         // the batch's folder on the spool
	Job      *providers.Job // one of the like jobs
	Count    int
	Campaign string
	Account  string
	QoS      string
	Gres     string   // "gpu:a100:2"
	Depend   []string // terms of a dependency
	Await    bool     // what it comes after may come back under a new id
	Spool    string
	Agent    []string            // the command that runs one element on the node
	Others   map[string][]string // on nodes of another processor, by its name
}

// HeldComment is the comment of an array that muster submits held, until it has
// released it.
const HeldComment = "held by muster until all of its campaign is in"

// Argv is how a script is submitted, held or not.
func Argv(file string, held bool) []string {
	argv := []string{"sbatch", cluster.Parsable}
	if held {
		argv = append(argv, "--hold", "--comment="+HeldComment)
	}
	return append(argv, file)
}

// Comment is what Slurm shows of a phase's jobs.
func Comment(campaign, phase string) string {
	return fmt.Sprintf("muster %s phase.%s", campaign, phase)
}

// Text is the text that sbatch is given. It is meant to be read: what a
// person would write by hand, and one command that runs an element.
func (r Request) Text() (string, error) {
	o, err := ParseOptions(r.Job.Options)
	if err != nil {
		return "", err
	}
	if bad := OwnOption(o.Extra); bad != "" {
		return "", providers.Errorf(providers.Invalid, "options.extra of phase.%s holds %s", r.Job.Phase, bad)
	}
	var b strings.Builder
	// A login shell has `module`, `conda` and the like for the setup, and costs
	// what the site's profile costs.
	if len(r.Job.Setup) > 0 {
		b.WriteString("#!/bin/bash -l\n")
	} else {
		b.WriteString("#!/bin/bash\n")
	}
	set := func(name, value string) {
		if value != "" && !replaced(o.Extra, name) {
			fmt.Fprintf(&b, "#SBATCH --%s=%s\n", name, cluster.Quote(value))
		}
	}
	flag := func(name string, on bool) {
		if on {
			fmt.Fprintf(&b, "#SBATCH --%s\n", name)
		}
	}
	set("job-name", r.Name)
	set("comment", Comment(r.Campaign, r.Job.Phase))
	set("account", r.Account)
	set("partition", r.Pool)
	set("qos", r.QoS)
	set("reservation", o.Reservation)
	set("constraint", o.Constraint)
	set("licenses", o.Licenses)
	if r.Array {
		list := cluster.FormatIndexes(r.Indexes)
		if r.Cap > 0 && r.Cap < r.Count {
			list += "%" + strconv.Itoa(r.Cap)
		}
		set("array", list)
	}
	r.Resources(set, o)
	flag("exclusive", o.Exclusive)
	if w := r.Job.Shape.Walltime; w > 0 {
		set("time", cluster.FormatLimit(w))
	}
	if c := r.Job.Checkpoint; c.Signal != "" && c.Grace > 0 {
		set("signal", fmt.Sprintf("B:%s@%d", strings.TrimPrefix(c.Signal, "SIG"), int(c.Grace.Seconds())))
	}
	if r.Job.Retry.Max > 1 {
		flag("requeue", true)
	} else {
		flag("no-requeue", true)
	}
	if len(r.Depend) > 0 {
		set("dependency", strings.Join(r.Depend, ","))
		kill := "yes"
		if r.Await {
			kill = "no"
		}
		set("kill-on-invalid-dep", kill)
	}
	if o.Mail != "" {
		set("mail-user", o.Mail)
		set("mail-type", "END,FAIL") // of an array: one for all of it
	}
	set("chdir", r.Job.Workdir)
	out := "%x-%j.out"
	if r.Array {
		out = "%x-%A_%a.out"
	}
	set("output", filepath.Join(strings.ReplaceAll(r.Spool, "%", "%%"), "out", out))
	set("open-mode", "append")
	for _, line := range o.lines() {
		fmt.Fprintf(&b, "#SBATCH %s\n", line)
	}
	r.body(&b)
	return b.String(), nil
}

// Resources are what one element asks for, by options of sbatch.
func (r Request) Resources(set func(name, value string), o Options) {
	s := o.Spread(r.Job.Shape)
	nodes := s.Nodes
	set("nodes", strconv.Itoa(nodes))
	set("ntasks-per-node", "1")
	tasks := nodes * o.Tasks(nodes)
	set("cpus-per-task", strconv.Itoa((max(s.CPUs, 1)+tasks-1)/tasks))
	if s.Memory > 0 {
		set("mem", memory((s.Memory+int64(nodes)-1)/int64(nodes))) // of each node
	}
	set("gres", o.gres(r.Gres))
}

// memory is a size as sbatch takes it, "32G" or "50M", rounded up.
func memory(bytes int64) string {
	const mib, gib = 1 << 20, 1 << 30
	if bytes%gib == 0 {
		return strconv.FormatInt(bytes/gib, 10) + "G"
	}
	return strconv.FormatInt((bytes+mib-1)/mib, 10) + "M"
}

// body is what the script does.
func (r Request) body(b *strings.Builder) {
	what, where := "1 job", "Its command is in the file jobs beside this one"
	if r.Count > 1 {
		what, where = strconv.Itoa(r.Count)+" jobs", "Their commands are in the file jobs beside this one, one a line"
	}
	if len(r.Job.Setup) > 0 {
		where += ", with the setup before it"
	}
	fmt.Fprintf(b, "\n# %s of phase.%s. %s.\n", what, r.Job.Phase, where)
	b.WriteString("# The program below claims the job, so that it never runs twice, runs its command\n# with its output in .muster/logs, and checks what it left before Slurm is told.\n")
	b.WriteString("# srun does not take --cpus-per-task over by itself since 22.05.\n")
	b.WriteString("[ -z \"$SLURM_CPUS_PER_TASK\" ] || export SRUN_CPUS_PER_TASK=\"$SLURM_CPUS_PER_TASK\"\n")
	batch := "-batch " + quote(r.Dir)
	if len(r.Others) == 0 {
		fmt.Fprintf(b, "exec %s %s\n", command(r.Agent), batch)
		return
	}
	b.WriteString("case $(uname -m) in # nodes here differ: each takes the program for its processor\n")
	for _, machine := range slices.Sorted(maps.Keys(r.Others)) {
		fmt.Fprintf(b, "%s) exec %s %s ;;\n", machine, command(r.Others[machine]), batch)
	}
	fmt.Fprintf(b, "*) exec %s %s ;;\nesac\n", command(r.Agent), batch)
}

// command is a command line for the shell.
func command(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
}

func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:@%~") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
