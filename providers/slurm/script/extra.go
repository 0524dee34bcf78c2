package script

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/slurm/cluster"
)

// ours are the options of sbatch that muster sets itself, each with what to write
// instead, "" for nothing: on them rest what is started, what it costs at most,
// and where it is looked for.
var ours = map[string]string{
	"array": "", "job-name": "", "dependency": "", "hold": "", "requeue": "", "no-requeue": "", "output": "", "error": "", "chdir": "workdir in the backend block", "parsable": "",
	"wrap": "", "open-mode": "", "kill-on-invalid-dep": "", "comment": "", "wait": "", "test-only": "", "begin": "", "export": "env in job",
	"time": "walltime in resources", "nodes": "nodes in resources", "partition": `partition in options "slurm"`, "account": "account in the backend block",
	"qos": `qos in options "slurm"`, "clusters": "a backend block for each cluster", "cluster": "a backend block for each cluster", "signal": "signal and grace in checkpoint",
	"gpus": "gpus in resources", "gpus-per-node": "gpus in resources", "gpus-per-task": "gpus in resources", "gpus-per-socket": "gpus in resources",
}

// short are the short names of these, and of others that stand for a line of
// muster's or a wish.
var short = map[string]string{"-C": "constraint", "-L": "licenses", "-w": "nodelist", "-n": "ntasks", "-c": "cpus-per-task", "-a": "array", "-J": "job-name", "-d": "dependency", "-H": "hold", "-o": "output", "-e": "error", "-D": "chdir", "-W": "wait", "-b": "begin",
	"-t": "time", "-N": "nodes", "-p": "partition", "-A": "account", "-q": "qos", "-M": "clusters", "-G": "gpus"}

// words are further arguments as a shell would hand them to sbatch: "-w node1" is
// two.
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

// Args are the further arguments of sbatch, less those that are part of what
// muster writes itself.
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

// lines are Args as #SBATCH has them, an option and its value each.
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

// value is what further arguments give an option, by its names; "" if nothing.
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

// Wishes are the things of the cluster that a job names, wherever it does: what
// further arguments say replaces an option.
func (o Options) Wishes() cluster.Wishes {
	return cluster.Wishes{Constraint: cmp.Or(o.value("--constraint", "-C"), o.Constraint), Reservation: cmp.Or(o.value("--reservation"), o.Reservation),
		Licenses: cmp.Or(o.value("--licenses", "-L"), o.Licenses), Nodes: o.value("--nodelist", "-w")}
}

// gres are the GPUs that muster asks for and what else of the kind further
// arguments do: sbatch takes the last --gres, and no other.
func (o Options) gres(gpus string) string {
	other := o.value("--gres")
	if gpus == "" || other == "" {
		return gpus + other
	}
	return gpus + "," + other
}

// Tasks are how many tasks of one node further arguments ask for, 1 without.
func (o Options) Tasks(nodes int) int {
	if n, err := strconv.Atoi(o.value("--ntasks-per-node")); err == nil && n > 0 {
		return n
	}
	if n, err := strconv.Atoi(o.value("--ntasks", "-n")); err == nil && n > 0 {
		return (n + nodes - 1) / nodes
	}
	return 1
}

// Cores are how many further arguments ask for by themselves on so many nodes, 0
// if they do not.
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

// OwnOption is the first of further arguments that muster sets itself, and what
// to write instead; "" if none is.
func OwnOption(extra []string) string {
	for _, x := range words(extra) {
		name := longName(x)
		instead, own := ours[name]
		if full := meant(name); !own && full != "" {
			name, instead, own = full, ours[full], true
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

// gpu reports whether generic resources have GPUs among them: "fpga:1,gpu:2".
func gpu(gres string) bool {
	return slices.ContainsFunc(strings.Split(gres, ","), func(g string) bool { return g == "gpu" || strings.HasPrefix(g, "gpu:") })
}

// flags are the short options of sbatch that take no value: another may follow in
// the same word.
const flags = "OQsvV"

// letter is the first short option of a word that is no such flag: "-q" of
// "-Oqlong"; the last where all are.
func letter(x string) string {
	if !strings.HasPrefix(x, "-") {
		return x[:2]
	}
	for len(x) > 2 && strings.Contains(flags, x[1:2]) {
		x = "-" + x[2:]
	}
	return x[:2]
}

// meant is the option of muster's own that a name may stand for: sbatch takes any
// beginning that no other option has. getopt_long(3). "" if none.
func meant(name string) string {
	if name == "" {
		return ""
	}
	for _, full := range slices.Sorted(maps.Keys(ours)) {
		if strings.HasPrefix(full, name) {
			return full
		}
	}
	return ""
}

// longName is the name of an option as it is written long, "" for a word that
// is none.
func longName(x string) string {
	if len(x) > 1 && !strings.HasPrefix(x, "--") {
		return short[letter(x)]
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(x, "--"), "=")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// Replaced reports whether further arguments set an argument, "--mem=4G", otherwise.
func Replaced(extra []string, arg string) bool { return replaced(extra, longName(arg)) }

// replaced reports whether further arguments set an option otherwise, as those of
// a program with many tasks a node do: then it is written once. Generic resources
// are put together; see gres.
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
