package cluster

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
)

// A said is a part of PBS's output when a command is refused, and its meaning.
type said struct {
	text  string
	class providers.ErrorClass
	means string
	hint  string
}

// Common meanings of messages.
const (
	away      = "PBS's server does not answer"
	whetherUp = "`qstat -B` says whether it is up"
)

// messages are the refusals that PBS's commands print, seen on 23.06.
var messages = []said{
	{"unknown host", providers.Unreachable, "PBS's server cannot be found", "PBS_SERVER in /etc/pbs.conf names it"},
	{"cannot connect", providers.Unreachable, away, whetherUp},
	{"connection", providers.Unreachable, away, whetherUp},
	{"reserved ports in use", providers.Unreachable, "PBS's commands were run too often for this machine's ports", "wait a minute"},
	{"end of file", providers.Unreachable, "PBS's server ended while it answered", whetherUp},
	{"premature end", providers.Unreachable, "PBS's server ended while it answered", whetherUp},
	{"timed out", providers.Unreachable, away, whetherUp},
	{"protocol", providers.Unreachable, "PBS's server did not answer in its own terms", whetherUp},
	{"system error", providers.Unreachable, "PBS's server failed", whetherUp},
	{"internal error", providers.Unreachable, "PBS's server failed", whetherUp},
	{"server is shutting down", providers.Unreachable, "PBS's server is being stopped", whetherUp},
	{"no permission", providers.Auth, "PBS does not let you do this", ""},
	{"would exceed", providers.Quota, "a limit on your jobs is reached", "`qstat -Qf` says max_queued and max_run"},
	{"maximum number of jobs already in queue", providers.Quota, "the queue holds as many jobs as it may", "`qstat -Qf` says max_queuable"},
	{"array job exceeds", providers.Invalid, "the array is longer than the site allows", "`qstat -Bf` says max_array_size"},
	{"violates queue", providers.Invalid, "it asks for more, or less, than the queue gives", "`qstat -Qf` says resources_min and resources_max"},
	{"unknown queue", providers.Invalid, "there is no such queue", "`qstat -Q` lists the queues"},
	{"queue is not enabled", providers.Invalid, "the queue takes no new jobs now", "choose another queue, or wait"},
	{"access to queue is denied", providers.Invalid, "the queue takes no jobs from users", "submit to the routing queue before it"},
	{"unknown resource", providers.Invalid, "the site has no such resource", "`qstat -Qf` and `pbsnodes -a` show its resources"},
	{"illegal attribute or resource value", providers.Invalid, "a value cannot be read", ""},
	{"bad uid", providers.Auth, "PBS takes no jobs from this user", "submit as yourself, not as root"},
	{"unauthorized request", providers.Invalid, "PBS does not let you do this", "a queue of others, or a job that is not yours"},
	{"invalid credential", providers.Auth, "PBS does not know you", ""},
	{"job rejected by all possible destinations", providers.Invalid, "no queue behind the routing queue takes it", "`qstat -Qf` says which nodes and walltimes each takes"},
	{"illegal -", providers.Invalid, "qsub cannot read an option", ""},
	{"invalid option", providers.Invalid, "qsub does not know an option", ""},
}

func hintFor(text string) string {
	if strings.Contains(text, "executable file not found") {
		return "PBS's commands are not on PATH here: run muster on a login node, or add an ssh block to the backend"
	}
	return ""
}

// refusal is a command's failure as a diagnostic.
func refusal(name string, r command.Result) *providers.Error {
	text := strings.ToLower(string(r.Err))
	detail := fmt.Sprintf("%s: %s", name, message(name, r.Err))
	i := slices.IndexFunc(messages, func(m said) bool { return strings.Contains(text, m.text) })
	switch {
	case i >= 0 && (name == "qsub" || messages[i].class != providers.Quota):
		m := messages[i]
		return &providers.Error{Class: m.class, Summary: m.means, Detail: detail, Hint: m.hint}
	case name == "qsub" && len(bytes.TrimSpace(r.Err)) > 0: // a rule of the site's own, told by a hook
		return &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("PBS refuses it: %s", message(name, r.Err)), Detail: detail}
	}
	return &providers.Error{Class: providers.Unreachable, Summary: fmt.Sprintf("%s ended with status %d: %s", name, r.Code, message(name, r.Err)), Detail: detail}
}

// message is a command's output on stderr, without its name and its usage.
func message(name string, text []byte) string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), name+": "))
		if strings.HasPrefix(line, "usage:") {
			break
		}
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "it did not say why"
	}
	return strings.Join(lines, "; ")
}

// Refusals of a change of one job, as part of a line on stderr.
var (
	goneWords = []string{"unknown job id", "job has finished", "history job"}
	// endsWords: qdel refuses, beside those, a job that is ending already.
	endsWords  = []string{"request invalid for state"}
	fixedWords = []string{"unauthorized request", "cannot modify attribute", "invalid request", "request invalid for state", "invalid state", "illegal attribute"}
)

// lines divides a command's output on stderr into lines about jobs that are
// gone, about jobs that it does not change, and others.
func lines(name string, r command.Result) (gone, fixed, other []string) {
	for line := range strings.Lines(string(r.Err)) {
		text := strings.ToLower(strings.TrimSpace(line))
		has := func(words []string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
		}
		switch {
		case text == "":
		case has(goneWords), name == "qdel" && has(endsWords):
			gone = append(gone, text)
		case has(fixedWords):
			fixed = append(fixed, text)
		default:
			other = append(other, text)
		}
	}
	return gone, fixed, other
}
