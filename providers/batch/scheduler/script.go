package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/shell"
)

// Shebang is the first line of a script. A login shell has `module`, `conda` and
// the like for the setup, and takes as long as the site's profile.
func (r Request) Shebang() string {
	if len(r.Job.Setup) > 0 {
		return "#!/bin/bash -l\n"
	}
	return "#!/bin/bash\n"
}

// About are comments about a script's jobs, for the people who read it; name is
// the scheduler's.
func (r Request) About(name string) string {
	what, where := "1 job", "Its command is in the file jobs beside this one"
	switch {
	case len(r.Pack) > 0:
		what, where = strconv.Itoa(r.Count)+" jobs", r.shared()+"\n# Their commands are in the file jobs beside this one, one a line"
	case r.Count > 1:
		what, where = strconv.Itoa(r.Count)+" jobs", "Their commands are in the file jobs beside this one, one a line"
	}
	if len(r.Job.Setup) > 0 {
		where += ", with the setup before it"
	}
	return fmt.Sprintf("# %s of phase.%s. %s.\n", what, r.Job.Phase, where) +
		"# The program below claims " + r.each() + ", so that it never runs twice, runs its command\n# with its output in .muster/logs, and checks what it left before " + name + " is told.\n"
}

// shared is how the jobs of a pack run.
func (r Request) shared() string {
	switch s := r.Job.Shape; {
	case s.Turns() < 2:
		return "They run beside one another, each with its part of the node."
	case s.Beside() < 2:
		return "They run one after another."
	default:
		return fmt.Sprintf("%d run beside one another, each with its part of the node, and the others in turns.", s.Beside())
	}
}

func (r Request) each() string {
	if len(r.Pack) > 0 {
		return "each job"
	}
	return "the job"
}

// Exec is the command of a script that runs one element.
func (r Request) Exec() string {
	batch := "-batch " + shell.Quote(r.Dir)
	if len(r.Pack) > 0 {
		batch += " -pack " + strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Pack), "[]"), " ", ",")
	}
	if len(r.Others) == 0 {
		return fmt.Sprintf("exec %s %s\n", commandLine(r.Agent), batch)
	}
	var b strings.Builder
	b.WriteString("case $(uname -m) in # nodes here differ: each takes the program for its processor\n")
	for _, machine := range slices.Sorted(maps.Keys(r.Others)) {
		fmt.Fprintf(&b, "%s) exec %s %s ;;\n", machine, commandLine(r.Others[machine]), batch)
	}
	fmt.Fprintf(&b, "*) exec %s %s ;;\nesac\n", commandLine(r.Agent), batch)
	return b.String()
}

// commandLine quotes a command line for the shell.
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}
