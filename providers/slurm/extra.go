package slurm

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// ownOptions are options of sbatch that muster sets itself, with the attribute to use instead,
// "" for none. The job, its ceiling and its search depend on them.
var ownOptions = map[string]string{
	"array": "", "job-name": "", "dependency": "", "hold": "", "requeue": "", "no-requeue": "", "output": "", "error": "", "chdir": "workdir in the backend block", "parsable": "",
	"wrap": "", "open-mode": "", "kill-on-invalid-dep": "", "comment": "", "wait": "", "test-only": "", "begin": "", "export": "env in job",
	"time": "walltime in resources", "nodes": "nodes in resources", "partition": `partition in options "slurm"`, "account": "account in the backend block",
	"qos": `qos in options "slurm"`, "clusters": "a backend block for each cluster", "cluster": "a backend block for each cluster", "signal": "signal and grace in checkpoint",
	"gpus": "gpus in resources", "gpus-per-node": "gpus in resources", "gpus-per-task": "gpus in resources", "gpus-per-socket": "gpus in resources",
}

// short are the short names of these options, and of others that replace a line of
// muster's or are a requirement.
var short = map[string]string{"-C": "constraint", "-L": "licenses", "-w": "nodelist", "-n": "ntasks", "-c": "cpus-per-task", "-a": "array", "-J": "job-name", "-d": "dependency", "-H": "hold", "-o": "output", "-e": "error", "-D": "chdir", "-W": "wait", "-b": "begin",
	"-t": "time", "-N": "nodes", "-p": "partition", "-A": "account", "-q": "qos", "-M": "clusters", "-G": "gpus"}

// words splits further arguments as a shell does: "-w node1" is two.
func words(extra []string) (out []string) {
	for _, x := range extra {
		name, value, ok := strings.Cut(strings.TrimSpace(x), " ")
		if ok && strings.HasPrefix(name, "-") && !strings.Contains(name, "=") {
			out = append(out, name, strings.TrimSpace(value))
		} else {
			out = append(out, x)
		}
	}
	return out
}

// Args are the further arguments of sbatch, without those that are part of
// muster's own lines.
func (o Options) Args() (out []string) {
	drop := false
	for _, w := range words(o.Extra) {
		switch {
		case drop:
			drop = false
		case longName(w) == "gres":
			drop = !strings.Contains(w, "=") // its value is the next
		default:
			out = append(out, w)
		}
	}
	return out
}

// lines are Args as #SBATCH lines: an option and its value each.
func (o Options) lines() (out []string) {
	for _, w := range o.Args() {
		if quoted := cluster.Quote(w); strings.HasPrefix(w, "-") || len(out) == 0 {
			out = append(out, quoted)
		} else {
			out[len(out)-1] += " " + quoted
		}
	}
	return out
}

// value is the value of an option in the further arguments, by any of its names;
// "" = none.
func (o Options) value(names ...string) string {
	list := words(o.Extra)
	for i, w := range list {
		for _, name := range names {
			switch rest, ok := strings.CutPrefix(w, name); {
			case !ok:
			case rest == "" && i+1 < len(list):
				return list[i+1]
			case strings.HasPrefix(name, "--") && strings.HasPrefix(rest, "="):
				return rest[1:]
			case !strings.HasPrefix(name, "--") && rest != "":
				return rest
			}
		}
	}
	return ""
}

// Requirements are the cluster's features, licenses and reservations that a job
// names; further arguments replace options.
func (o Options) Requirements() cluster.Requirements {
	return cluster.Requirements{Constraint: cmp.Or(o.value("--constraint", "-C"), o.Constraint), Reservation: cmp.Or(o.value("--reservation"), o.Reservation),
		Licenses: cmp.Or(o.value("--licenses", "-L"), o.Licenses), Nodes: o.value("--nodelist", "-w")}
}

// Recipient is the address for mail, from an option or the further arguments; "" =
// none.
func (o Options) Recipient() string { return cmp.Or(o.value("--mail-user"), o.Mail) }

// gres combines muster's GPUs with generic resources of the further arguments:
// sbatch uses only the last --gres.
func (o Options) gres(gpus string) string {
	other := o.value("--gres")
	if gpus == "" || other == "" {
		return gpus + other
	}
	return gpus + "," + other
}

// Tasks is how many tasks per node the further arguments request; 1 by default.
func (o Options) Tasks(nodes int) int {
	if n, err := strconv.Atoi(o.value("--ntasks-per-node")); err == nil && n > 0 {
		return n
	}
	if n, err := strconv.Atoi(o.value("--ntasks", "-n")); err == nil && n > 0 {
		return (n + nodes - 1) / nodes
	}
	return 1
}

// Cores is how many cores the further arguments request on so many nodes; 0 = they
// do not.
func (o Options) Cores(nodes int) int {
	if !replaced(o.Extra, "ntasks-per-node") || slices.ContainsFunc(words(o.Extra), func(w string) bool { return w == "--overcommit" || w == "-O" }) {
		return 0
	}
	each, err := strconv.Atoi(o.value("--cpus-per-task", "-c"))
	if err != nil {
		each = 1
	}
	return nodes * o.Tasks(nodes) * each
}

// ownOption is the first further argument that only muster may set, with the
// attribute to use instead; "" = there is none.
func ownOption(extra []string) string {
	for _, x := range words(extra) {
		name := longName(x)
		instead, own := ownOptions[name]
		if full := meant(name); !own && full != "" {
			name, instead, own = full, ownOptions[full], true
		}
		switch {
		case name == "gres" && gpu(Options{Extra: extra}.value("--gres")):
			instead, own = "gpus in resources", true
		case x == "--exclusive" || x == "--exclusiv" || x == "--exclusi" || x == "--exclus":
			instead, own = `exclusive in options "slurm"`, true
		}
		given := "--" + name
		if len(x) > 1 && !strings.HasPrefix(x, "--") {
			given = letter(x)
		}
		switch {
		case own && instead == "":
			return given + ", which muster sets itself"
		case own:
			return given + ", which muster sets itself: use " + instead
		}
	}
	return ""
}

// gpu reports whether generic resources include GPUs: "fpga:1,gpu:2".
func gpu(gres string) bool {
	return slices.ContainsFunc(strings.Split(gres, ","), func(g string) bool { return g == "gpu" || strings.HasPrefix(g, "gpu:") })
}

// flags are the short options of sbatch that take no value: another may follow in
// the same word.
const flags = "OQsvV"

// letter is the first short option of a word that takes a value: "-q" of
// "-Oqlong"; or the last.
func letter(x string) string {
	if !strings.HasPrefix(x, "-") {
		return x[:2]
	}
	for len(x) > 2 && strings.Contains(flags, x[1:2]) {
		x = "-" + x[2:]
	}
	return x[:2]
}

// meant is muster's own option that a name may abbreviate: sbatch takes any unique
// prefix. getopt_long(3). "" = none.
func meant(name string) string {
	if name == "" {
		return ""
	}
	for _, full := range slices.Sorted(maps.Keys(ownOptions)) {
		if strings.HasPrefix(full, name) {
			return full
		}
	}
	return ""
}

// longName is the long name of an option; "" = the word is no option.
func longName(x string) string {
	if len(x) > 1 && !strings.HasPrefix(x, "--") {
		return short[letter(x)]
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(x, "--"), "=")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// replacesArg reports whether further arguments replace an argument such as
// "--mem=4G".
func replacesArg(extra []string, arg string) bool { return replaced(extra, longName(arg)) }

// replaced reports whether further arguments set an option, which then is written
// once. gres combines generic resources.
func replaced(extra []string, name string) bool {
	return name != "gres" && slices.ContainsFunc(words(extra), func(x string) bool {
		own := longName(x)
		switch name {
		case "mem":
			return own == "mem" || own == "mem-per-cpu" || own == "mem-per-gpu"
		case "ntasks-per-node":
			return own == name || own == "ntasks"
		case "cpus-per-task":
			return own == name || own == "cpus-per-gpu"
		}
		return own == name
	})
}
