package sshx

import (
	"fmt"
	"strings"
)

// CheckHost refuses the names of hosts that ssh(1) refuses: one that a shell,
// a ProxyCommand or a Match exec would read as more than a name
// (CVE-2023-51385; ssh.c of OpenSSH 9.6, valid_hostname). A slash is refused,
// too: no host has one, and a ControlPath may hold the name.
func CheckHost(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, "'`\"$\\;&<>|(){}/") || strings.ContainsFunc(name, blankOrControl) {
		return configError("not the name of a host", fmt.Sprintf("%q", name), "")
	}
	if bare, port, ok := inBrackets(name); ok {
		hint := fmt.Sprintf("write %q", bare)
		if port != "" {
			hint += ", and the port on its own: port = " + port
		}
		return configError("not the name of a host", fmt.Sprintf("%q", name), hint)
	}
	return nil
}

// inBrackets is the address in brackets that a URL would have, and its port.
func inBrackets(name string) (bare, port string, ok bool) {
	at := ""
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		at, name = name[:i+1], name[i+1:]
	}
	address, rest, found := strings.Cut(strings.TrimPrefix(name, "["), "]")
	if !strings.HasPrefix(name, "[") || !found {
		return "", "", false
	}
	return at + address, strings.TrimPrefix(rest, ":"), true
}

// CheckUser refuses the names of users that ssh(1) refuses (ssh.c,
// valid_ruser), and those with a dollar sign, which a shell expands.
func CheckUser(name string) error {
	bad := strings.HasPrefix(name, "-") || strings.HasSuffix(name, `\`) || strings.ContainsAny(name, "'`\"$;&<>|(){}")
	for i, r := range name {
		bad = bad || r != ' ' && blankOrControl(r) || r == ' ' && strings.HasPrefix(name[i+1:], "-")
	}
	if bad {
		return configError("not the name of a user", fmt.Sprintf("%q", name), "")
	}
	return nil
}

// blankOrControl holds for white space and control characters of ASCII and Unicode, and for
// characters that hide or reverse text.
func blankOrControl(r rune) bool {
	return r <= ' ' || r >= 0x7f && r <= 0xa0 || r >= 0x2000 && r <= 0x200f || r >= 0x2028 && r <= 0x202f || r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == 0xfffd
}

// check refuses a target that cannot be put into a command line.
func (t Target) check() error {
	if err := CheckHost(t.Host); err != nil {
		return err
	}
	if err := CheckUser(t.User); err != nil {
		return err
	}
	return CheckControlPath(t.ControlPath)
}

// CheckControlPath refuses a path that cannot be a socket's. Tokens such as %h are ssh's to
// expand.
func CheckControlPath(path string) error {
	rooted := strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "%d/")
	if path != "" && (!rooted || strings.Contains(path, "${") || strings.ContainsAny(path, "\"\\") || strings.ContainsFunc(path, func(r rune) bool { return r != ' ' && blankOrControl(r) })) {
		return configError("not a path of a control socket", fmt.Sprintf("%q", path), "write an absolute path, or one that begins with ~/")
	}
	return nil
}
