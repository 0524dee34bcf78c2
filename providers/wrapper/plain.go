package wrapper

import (
	"strings"

	"github.com/muster-run/muster/providers"
)

// maxPlain bounds a command that is looked through, in bytes.
const maxPlain = 4 << 10

// Plain reports whether a command means the same sourced by the wrapper as run
// by a /bin/sh of its own, which costs a fork and an exec. Anything that could
// see the difference ($$, $0, parameters, PPID, options, traps, exec, other
// scripts, the wrapper's own variables, setup, an image) is run the long way.
func Plain(j *providers.Job) bool {
	s := j.Shell
	if len(j.Argv) > 0 || len(j.Setup) > 0 || j.Launched() || j.Image != "" || len(j.Secrets) > 0 || len(s) > maxPlain {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '$':
			if i+1 >= len(s) || !isName(s[i+1]) && s[i+1] != '(' {
				return false
			}
		case c == '`', c == '\\', c == '{', c == '<' && i+1 < len(s) && s[i+1] == '<':
			return false
		}
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) }) {
		if tellsApart[strings.Trim(word, `"'`)] {
			return false
		}
	}
	for _, name := range []string{"PPID", "LINENO", "MUSTER_JOB", "_muster"} {
		if strings.Contains(s, name) {
			return false
		}
	}
	return true
}

func isName(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// tellsApart are the words with which a command could notice that it was
// sourced.
var tellsApart = map[string]bool{".": true, "source": true, "return": true, "trap": true, "set": true, "eval": true,
	"shift": true, "getopts": true, "local": true, "kill": true, "wait": true, "times": true, "fg": true, "bg": true, "jobs": true,
	"command": true, "builtin": true, "alias": true, "unalias": true, "ulimit": true, "exec": true, "break": true, "continue": true,
	"unset": true, "readonly": true}
