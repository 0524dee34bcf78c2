package login

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// jobOptions are what `options "slurm"` of a job may say.
type jobOptions struct {
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

func parseOptions(text json.RawMessage) (o jobOptions, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &o)
	}
	return o, err
}

// A request is what a script is made of.
type request struct {
	batch    *batch
	job      *providers.Job // one of the like jobs
	count    int
	campaign string
	account  string
	qos      string
	gres     string // "gpu:a100:2"
	depend   []string
	await    bool // what it comes after may come back under a new id
	spool    string
	agent    []string            // the command that runs one element on the node
	others   map[string][]string // on nodes of another processor, by its name
}

// script is the text that sbatch is given. It is meant to be read: what a
// person would write by hand, and one command that runs an element.
func (r request) script() (string, error) {
	o, err := parseOptions(r.job.Options)
	if err != nil {
		return "", err
	}
	if bad := ownOption(o.Extra); bad != "" {
		return "", providers.Errorf(providers.Invalid, "options.extra of %s holds %s, which muster sets itself", r.job.Address, bad)
	}
	var b strings.Builder
	// A login shell has `module`, `conda` and the like for the setup, and costs
	// what the site's profile costs.
	if len(r.job.Setup) > 0 {
		b.WriteString("#!/bin/bash -l\n")
	} else {
		b.WriteString("#!/bin/bash\n")
	}
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "#SBATCH --%s=%s\n", name, cluster.Quote(value))
		}
	}
	flag := func(name string, on bool) {
		if on {
			fmt.Fprintf(&b, "#SBATCH --%s\n", name)
		}
	}
	set("job-name", r.batch.Name)
	set("comment", fmt.Sprintf("muster %s phase.%s", r.campaign, r.job.Phase))
	set("account", r.account)
	set("partition", r.batch.Pool)
	set("qos", r.qos)
	set("reservation", o.Reservation)
	set("constraint", o.Constraint)
	set("licenses", o.Licenses)
	if r.batch.Array {
		list := cluster.FormatIndexes(r.batch.Indexes)
		if r.batch.Cap > 0 && r.batch.Cap < r.count {
			list += "%" + strconv.Itoa(r.batch.Cap)
		}
		set("array", list)
	}
	r.resources(set, o)
	flag("exclusive", o.Exclusive)
	if w := r.job.Shape.Walltime; w > 0 {
		set("time", cluster.FormatLimit(w))
	}
	if c := r.job.Checkpoint; c.Signal != "" && c.Grace > 0 {
		set("signal", fmt.Sprintf("B:%s@%d", strings.TrimPrefix(c.Signal, "SIG"), int(c.Grace.Seconds())))
	}
	if r.job.Retry.Max > 1 {
		flag("requeue", true)
	} else {
		flag("no-requeue", true)
	}
	if len(r.depend) > 0 {
		set("dependency", strings.Join(r.depend, ","))
		kill := "yes"
		if r.await {
			kill = "no"
		}
		set("kill-on-invalid-dep", kill)
	}
	if o.Mail != "" {
		set("mail-user", o.Mail)
		set("mail-type", "END,FAIL") // of an array: one for all of it
	}
	set("chdir", r.job.Workdir)
	out := "%x-%j.out"
	if r.batch.Array {
		out = "%x-%A_%a.out"
	}
	set("output", filepath.Join(r.spool, "out", out))
	set("open-mode", "append")
	for _, x := range o.Extra {
		fmt.Fprintf(&b, "#SBATCH %s\n", cluster.Quote(x))
	}
	r.body(&b)
	return b.String(), nil
}

// Preview is the script that like jobs of a backend would be submitted with,
// but for what is only known then: ids, and the paths of the spool. await says
// that what they come after may come back under a new id.
func Preview(b providers.Backend, like *providers.Job, count int, await bool) (string, error) {
	var c settings
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return "", err
		}
	}
	o, err := parseOptions(like.Options)
	if err != nil {
		return "", err
	}
	k := &batch{Name: nameOf(like.Phase, "TOKEN", 0), Phase: like.Phase, Pool: like.Pool, Cap: like.Cap, Array: count > 1}
	for i := range count {
		k.Indexes = append(k.Indexes, i)
	}
	spool := filepath.Join(like.Workdir, ".muster", "slurm", "CAMPAIGN")
	k.dir = node.Batch(filepath.Join(spool, "batches", k.Name))
	r := request{batch: k, job: like, count: count, campaign: b.Campaign, account: c.Account, qos: o.QoS, depend: like.After, await: await,
		spool: spool, agent: []string{filepath.Join(like.Workdir, ".muster", "bin", "muster"), "provider", "node"}, gres: cluster.Gres(nil, like.Shape)}
	if r.qos == "" {
		r.qos = c.QoS
	}
	return r.script()
}

// resources are what one element asks for.
func (r request) resources(set func(name, value string), o jobOptions) {
	s := r.job.Shape
	nodes := max(s.Nodes, o.Nodes, 1)
	set("nodes", strconv.Itoa(nodes))
	set("ntasks-per-node", "1")
	set("cpus-per-task", strconv.Itoa(max(1, (max(s.CPUs, 1)+nodes-1)/nodes)))
	if s.Memory > 0 {
		const mib = 1 << 20
		each := (s.Memory + int64(nodes) - 1) / int64(nodes)
		set("mem", strconv.FormatInt((each+mib-1)/mib, 10)+"M") // of each node
	}
	set("gres", r.gres)
}

// body is what the script does.
func (r request) body(b *strings.Builder) {
	what, where := "1 job", "Its command is in the file jobs beside this one"
	if r.count > 1 {
		what, where = strconv.Itoa(r.count)+" jobs", "Their commands are in the file jobs beside this one, one a line"
	}
	if len(r.job.Setup) > 0 {
		where += ", with the setup before it"
	}
	fmt.Fprintf(b, "\n# %s of phase.%s. %s.\n", what, r.job.Phase, where)
	b.WriteString("# The program below claims the job, so that it never runs twice, runs its command\n# with its output in .muster/logs, and checks what it left before Slurm is told.\n")
	b.WriteString("export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun(1): since 22.05 not taken over by itself\n")
	batch := "-batch " + quote(string(r.batch.dir))
	if len(r.others) == 0 {
		fmt.Fprintf(b, "exec %s %s\n", command(r.agent), batch)
		return
	}
	b.WriteString("case $(uname -m) in # nodes here differ: each takes the program for its processor\n")
	for _, machine := range slices.Sorted(maps.Keys(r.others)) {
		fmt.Fprintf(b, "%s) exec %s %s ;;\n", machine, command(r.others[machine]), batch)
	}
	fmt.Fprintf(b, "*) exec %s %s ;;\nesac\n", command(r.agent), batch)
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

// ours are the options that muster sets itself.
var ours = []string{"array", "job-name", "dependency", "hold", "requeue", "no-requeue", "output", "error", "chdir", "parsable", "wrap", "open-mode",
	"kill-on-invalid-dep", "comment", "wait", "test-only", "begin", "export"}

var oursShort = []string{"-a", "-J", "-d", "-H", "-o", "-e", "-D", "-W", "-b"}

// ownOption is the first of further arguments that muster sets itself, "" if none is.
func ownOption(extra []string) string {
	for _, x := range extra {
		name, _, _ := strings.Cut(strings.TrimPrefix(x, "--"), "=")
		name, _, _ = strings.Cut(name, " ")
		if strings.HasPrefix(x, "--") && slices.Contains(ours, name) {
			return "--" + name
		}
		for _, s := range oursShort {
			if strings.HasPrefix(x, s) {
				return s
			}
		}
	}
	return ""
}
