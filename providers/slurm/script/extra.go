package script

import (
	"slices"
	"strings"
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

var oursShort = map[string]string{"-a": "array", "-J": "job-name", "-d": "dependency", "-H": "hold", "-o": "output", "-e": "error", "-D": "chdir", "-W": "wait", "-b": "begin",
	"-t": "time", "-N": "nodes", "-p": "partition", "-A": "account", "-q": "qos", "-M": "clusters", "-G": "gpus"}

// OwnOption is the first of further arguments that muster sets itself, and what
// to write instead; "" if none is.
func OwnOption(extra []string) string {
	for _, x := range extra {
		name := longName(x)
		instead, own := ours[name]
		if name == "gres" && strings.Contains(x, "gpu") {
			instead, own = "gpus in resources", true
		}
		given := "--" + name
		if len(x) > 1 && !strings.HasPrefix(x, "--") {
			given = x[:2]
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

// longName is the name of an option as it is written long, "" for a word that
// is none.
func longName(x string) string {
	if len(x) > 1 && !strings.HasPrefix(x, "--") {
		return oursShort[x[:2]]
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(x, "--"), "=")
	name, _, _ = strings.Cut(name, " ")
	return name
}

// Replaced reports whether further arguments set an argument, "--mem=4G", otherwise.
func Replaced(extra []string, arg string) bool { return replaced(extra, longName(arg)) }

// replaced reports whether further arguments set an option otherwise, as those of
// a program with many tasks a node do: then it is written once.
func replaced(extra []string, name string) bool {
	return slices.ContainsFunc(extra, func(x string) bool {
		return longName(x) == name || name == "mem" && (longName(x) == "mem-per-cpu" || longName(x) == "mem-per-gpu") || name == "ntasks-per-node" && (longName(x) == "ntasks" || strings.HasPrefix(x, "-n")) ||
			name == "cpus-per-task" && strings.HasPrefix(x, "-c")
	})
}
