package slurm

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Options are a job's `options "slurm"`.
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

// parseOptions reads the options of a job, as JSON; empty text is none.
func parseOptions(text json.RawMessage) (o Options, err error) {
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

// Spread is a shape with the number of nodes in the options.
func (o Options) Spread(s offer.Shape) offer.Shape {
	s.Nodes = max(s.Nodes, o.Nodes, 1)
	return s
}

// Given is the shape that Slurm gives a job with these options on a partition, and
// charges.
func (o Options) Given(l *cluster.Partition, s offer.Shape) offer.Shape {
	if s = o.Spread(s).Given(); o.Exclusive || l.Exclusive {
		s = l.Whole(s)
	} else if hint := o.value("--hint"); hint == "nomultithread" || hint == "compute_bound" || o.value("--threads-per-core") == "1" {
		s = l.OneThread(s)
	}
	return l.Given(s)
}

// A scriptRequest is a script's contents with those that the site adds.
type scriptRequest struct {
	scheduler.Request
	Account string
	QoS     string
	Gres    string // "gpu:a100:2"
}

// text is the text for sbatch. It is meant to be read: lines that a person would
// write, and one command that runs an element.
func (r scriptRequest) text() (string, error) {
	o, err := parseOptions(r.Job.Options)
	if err != nil {
		return "", err
	}
	if bad := ownOption(o.Extra); bad != "" {
		return "", providers.Errorf(providers.Invalid, "options.extra of phase.%s holds %s", r.Job.Phase, bad)
	}
	var b strings.Builder
	b.WriteString(r.Shebang())
	r.directives(&b, o)
	r.body(&b)
	return b.String(), nil
}

// directives are the options of sbatch.
func (r scriptRequest) directives(b *strings.Builder, o Options) {
	set := func(name, value string) {
		if value != "" && !replaced(o.Extra, name) {
			fmt.Fprintf(b, "#SBATCH --%s=%s\n", name, cluster.Quote(value))
		}
	}
	flag := func(name string, on bool) {
		if on {
			fmt.Fprintf(b, "#SBATCH --%s\n", name)
		}
	}
	set("job-name", r.Name)
	set("comment", string(scheduler.LabelOf(r.Campaign, r.Job.Phase)))
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
	r.resources(set, o)
	flag("exclusive", o.Exclusive)
	r.rules(set, flag, o)
	set("chdir", r.Job.Workdir)
	out := "%x-%j.out"
	if r.Array {
		out = "%x-%A_%a.out"
	}
	set("output", filepath.Join(strings.ReplaceAll(r.Spool, "%", "%%"), "out", out))
	set("open-mode", "append")
	for _, line := range o.lines() {
		fmt.Fprintf(b, "#SBATCH %s\n", line)
	}
}

// rules are the options that say when a job starts and ends, and what follows.
func (r scriptRequest) rules(set func(name, value string), flag func(name string, on bool), o Options) {
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
		set("dependency", scheduler.Terms(cluster.Notation{}, r.Depend))
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
}

// resources are the resources of one element, as options of sbatch.
func (r scriptRequest) resources(set func(name, value string), o Options) {
	s := o.Spread(r.Job.Shape)
	nodes := s.Nodes
	set("nodes", strconv.Itoa(nodes))
	set("ntasks-per-node", "1")
	tasks := nodes * o.Tasks(nodes)
	set("cpus-per-task", strconv.Itoa((max(s.CPUs, 1)+tasks-1)/tasks))
	if s.Memory > 0 {
		set("mem", perNode((s.Memory+int64(nodes)-1)/int64(nodes))) // of each node
	}
	set("gres", o.gres(r.Gres))
}

// perNode is a size in the form of sbatch, "32G" or "50M", rounded up.
func perNode(bytes int64) string {
	const mib, gib = 1 << 20, 1 << 30
	if bytes%gib == 0 {
		return strconv.FormatInt(bytes/gib, 10) + "G"
	}
	return strconv.FormatInt((bytes+mib-1)/mib, 10) + "M"
}

// body writes the commands of the script.
func (r scriptRequest) body(b *strings.Builder) {
	b.WriteString("\n" + r.About("Slurm"))
	b.WriteString("# srun does not take --cpus-per-task over by itself since 22.05.\n")
	b.WriteString("[ -z \"$SLURM_CPUS_PER_TASK\" ] || export SRUN_CPUS_PER_TASK=\"$SLURM_CPUS_PER_TASK\"\n")
	b.WriteString(r.Exec())
}
