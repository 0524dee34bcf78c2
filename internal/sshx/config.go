package sshx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
)

// configTimeout bounds `ssh -G`, which may run the programs of Match exec and
// look names up.
const configTimeout = 30 * time.Second

// settings are ssh's configuration for one host, by keyword in lower case. Most keywords have
// one value.
type settings struct {
	values map[string][]string
	notes  []string // the settings that muster does not follow
}

func (s *settings) get(keyword string) string {
	if v := s.values[keyword]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// client is the user's ssh(1), "" where none is installed.
func client() string {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return ""
	}
	return path
}

// readConfig asks ssh(1) for its configuration of a target, which it prints as it would use
// it. Without a client nothing is configured. The target must have been checked.
func readConfig(ctx context.Context, t Target, o Options) (*settings, error) {
	none := &settings{values: map[string][]string{}}
	program := client()
	if program == "" {
		return none, nil
	}
	file, err := o.configFile()
	if err != nil {
		return nil, err
	}
	args := []string{"-G", "-T"} // without a terminal it says no word about one
	if file != "" {
		args = append(args, "-F", file)
	}
	if t.User != "" {
		args = append(args, "-l", t.User)
	}
	if t.Port != 0 {
		args = append(args, "-p", strconv.Itoa(t.Port))
	}
	if t.ControlPath != "" {
		args = append(args, "-o", `ControlPath="`+t.ControlPath+`"`)
	}
	ctx, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	var out bytes.Buffer
	var said tail
	cmd := exec.CommandContext(ctx, program, append(args, "--", t.Host)...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err = subprocess.Run(cmd)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, configError("cannot read the ssh configuration", fmt.Sprintf("ssh -G %s did not end within %s", t.Host, configTimeout), "a Match exec in ~/.ssh/config may hang")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && strings.Contains(said.String(), "No user exists for uid"):
		return none, nil // ssh(1) does not run for users that passwd(5) lacks
	case err != nil:
		return nil, configError("cannot read the ssh configuration", lastLine(said.String(), err), "try: ssh -G "+t.Host)
	}
	return parseConfig(out.Bytes(), o.Home), nil
}

func lastLine(said string, err error) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if text := strings.TrimSpace(strings.Join(lines[max(0, len(lines)-3):], "; ")); text != "" {
		return text
	}
	return err.Error()
}

// unfollowed are settings that can decide whether a host is reached, and that muster does not
// follow; with the values here they change nothing.
var unfollowed = map[string][]string{
	"pkcs11provider": {"none"}, "knownhostscommand": {"none"}, "remotecommand": {"none"}, "proxyusefdpass": {"no"},
	"verifyhostkeydns": {"no", "false"}, "bindinterface": {"none"},
}

// parseConfig reads the output of `ssh -G`: a keyword and its value a line.
func parseConfig(text []byte, home string) *settings {
	s := &settings{values: map[string][]string{}}
	theirs := passwdHome()
	for line := range strings.Lines(string(text)) {
		keyword, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		keyword = strings.ToLower(keyword)
		if home != theirs { // ssh(1) expands ~ by passwd(5), whatever HOME says
			value = strings.ReplaceAll(" "+value, " "+theirs+"/", " "+home+"/")[1:]
		}
		if off, ok := unfollowed[keyword]; ok && value != "" && !slices.Contains(off, strings.ToLower(value)) {
			s.notes = append(s.notes, "ssh is configured with "+keyword+", which muster does not follow")
		}
		if value != "" {
			s.values[keyword] = append(s.values[keyword], value)
		}
	}
	return s
}

// passwdHome is the home that ssh(1) uses.
func passwdHome() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || u.HomeDir == "" {
		return "/"
	}
	return strings.TrimRight(u.HomeDir, "/")
}

// configFile is the argument of ssh(1)'s -F, "" for its own choice. ssh(1) looks below the
// home of passwd(5); a user who sets HOME means that one.
func (o Options) configFile() (string, error) {
	if o.ConfigFile != "" {
		return o.ConfigFile, nil
	}
	if o.Home == "" || o.Home == passwdHome() {
		return "", nil
	}
	file := filepath.Join(o.Home, ".ssh", "config")
	info, err := os.Stat(file)
	if err != nil {
		return "", nil
	}
	if info.Mode().Perm()&0o022 != 0 { // refused by ssh(1), but not with -F
		return "", configError("ssh configuration may be written by others", file+" has mode "+info.Mode().Perm().String(), "chmod 600 "+file)
	}
	return file, nil
}

// paths cuts a list of files as ssh prints it: separated by blanks, which a
// name may have, too. A file begins where a path does.
func paths(list string) []string {
	var out []string
	for _, word := range strings.Fields(list) {
		if len(out) > 0 && word[0] != '/' && word[0] != '~' && word[0] != '%' && word[0] != '$' {
			out[len(out)-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
