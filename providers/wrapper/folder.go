package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/providers"
)

// A Folder is a running job's directory in a spool:
//
//	cmd | plain    the command, byte for byte (plain: may be sourced)
//	before         sourced first: secrets and setup
//	setup.N        the backend's setup, then the job's
//	list.NAME      an input list, one path a line, when the job names no place for it
//	record         claim and end; its creation is the claim
//	duplicates     starts that came too late
type Folder string

// Record is the path of the job's record.
func (f Folder) Record() string { return filepath.Join(string(f), "record") }

// Fill writes what the wrapper needs to run a job; secrets is the file of its
// exported secrets, "" if it has none. A folder that is there
// already is one of an earlier queue whose wrapper may be reading it: files
// are then replaced whole.
func (f Folder) Fill(j *providers.Job, secrets string) error {
	put := fresh
	if err := os.Mkdir(string(f), 0o700); errors.Is(err, os.ErrExist) {
		put = replace
	} else if err != nil {
		return fmt.Errorf("job folder: %w", err)
	}
	if len(j.Argv) == 0 {
		name := "cmd"
		if Plain(j) {
			name = "plain"
		}
		if err := put(filepath.Join(string(f), name), []byte(j.Shell), 0o600); err != nil {
			return fmt.Errorf("job folder: %w", err)
		}
	}
	if err := f.before(j, secrets, put); err != nil {
		return fmt.Errorf("job folder: %w", err)
	}
	return nil
}

// before writes what is sourced ahead of the command, if anything is.
func (f Folder) before(j *providers.Job, secrets string, put func(string, []byte, os.FileMode) error) error {
	var b strings.Builder
	if secrets != "" {
		b.WriteString(". " + quote(secrets) + "\n")
	}
	for i, s := range j.Setup {
		if strings.TrimSpace(s) == "" {
			continue
		}
		name := fmt.Sprintf("setup.%d", i)
		if err := put(filepath.Join(string(f), name), []byte(s+"\n"), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&b, ". \"$MUSTER_JOB/%s\"\nset -- \"$?\" \"$@\"; [ \"$1\" -eq 0 ] || exit \"$1\"; shift\n", name)
	}
	if b.Len() == 0 {
		return nil
	}
	return put(filepath.Join(string(f), "before"), []byte(b.String()), 0o600)
}

// fresh writes a file nobody can be reading.
func fresh(path string, b []byte, mode os.FileMode) error { return os.WriteFile(path, b, mode) }

// Exports is shell source that exports variables, whatever their bytes.
func Exports(vars []providers.EnvVar) []byte {
	var b strings.Builder
	for _, v := range vars {
		b.WriteString("export " + v.Name + "=" + quote(v.Value) + "\n")
	}
	return []byte(b.String())
}

// quote makes one word of the shell's of any text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Plain reports whether a command means the same sourced in a subshell as
// run by a /bin/sh of its own, which costs a second exec. Anything that could
// see the difference ($$, $0, parameters, PPID, options, traps, functions,
// other scripts, setup) is run the long way.
func Plain(j *providers.Job) bool {
	s := j.Shell
	if len(j.Argv) > 0 || len(j.Setup) > 0 || len(s) > 4<<10 {
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
	return !strings.Contains(s, "PPID") && !strings.Contains(s, "LINENO")
}

func isName(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// tellsApart are the words with which a command could notice that it was
// sourced.
var tellsApart = map[string]bool{".": true, "source": true, "return": true, "trap": true, "set": true, "eval": true,
	"shift": true, "getopts": true, "local": true, "kill": true, "wait": true, "times": true, "fg": true, "bg": true, "jobs": true,
	"command": true, "builtin": true, "alias": true, "unalias": true, "ulimit": true, "exec": true, "break": true, "continue": true}
