package sshx

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// tokens are the values of %x (ssh_config(5), TOKENS).
type tokens map[byte]string

func (h *host) tokens(home string) tokens {
	local, _ := os.Hostname()
	short, _, _ := strings.Cut(local, ".")
	t := tokens{
		'%': "%", 'd': home, 'h': h.name, 'i': fmt.Sprint(os.Getuid()), 'k': h.keyName(), 'L': short, 'l': local,
		'n': h.alias, 'p': fmt.Sprint(h.port), 'r': h.user, 'u': localUser(), 'j': h.jump,
	}
	sum := sha1.Sum([]byte(local + h.name + t['p'] + h.user + h.jump)) // readconf.c, ssh_connection_hash
	t['C'] = hex.EncodeToString(sum[:])
	return t
}

func (t tokens) expand(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", fmt.Errorf("%q ends with a single %%", s)
		}
		v, ok := t[s[i]]
		if !ok {
			return "", fmt.Errorf("%%%c in %q has no meaning", s[i], s)
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

// path expands ~, ${NAME} and tokens in the name of a file.
func (t tokens) path(s, home string) (string, error) {
	s, err := expandEnv(s)
	if err != nil {
		return "", err
	}
	if s, err = t.expand(expandTilde(s, home)); err != nil {
		return "", err
	}
	return s, nil
}

// expandEnv expands ${NAME}; a variable that is not set is an error, as it is
// for ssh(1), and a plain $ is itself.
func expandEnv(s string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		v, set := os.LookupEnv(name)
		if !closed || !set {
			return "", fmt.Errorf("environment variable %q of %q is not set", name, s)
		}
		b.WriteString(v)
		s = after
	}
}

func expandTilde(s, home string) string {
	if s == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return s
}
