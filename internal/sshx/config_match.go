package sshx

import (
	"fmt"
	"os/user"
	"strings"
)

// match decides a Match line. Criteria that muster does not know make the
// block one that does not hold, and are told.
func (r *reader) match(args []string, at string) bool {
	holds := true
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		name, value, inline := strings.Cut(word, "=")
		wanted := !strings.HasPrefix(name, "!")
		name = strings.ToLower(strings.TrimPrefix(name, "!"))
		got := false
		switch name {
		case "all":
			got = true
		case "final":
			r.again = true
			got = r.final
		case "canonical":
			got = r.final // names are not canonicalised; the last pass stands for it
		default:
			if !inline {
				if len(args) == 0 {
					r.tell(fmt.Sprintf("%s: Match %s says nothing to compare with", at, name))
					return false
				}
				value, args = args[0], args[1:]
			}
			known := false
			if got, known = r.criterion(name, value); !known {
				r.tell(fmt.Sprintf("%s: Match %s is not followed; the block is left out", at, name))
				holds = false
				continue
			}
		}
		holds = holds && got == wanted
	}
	return holds
}

func (r *reader) criterion(name, value string) (got, known bool) {
	patterns := strings.Split(value, ",")
	switch name {
	case "host":
		return matchHosts(patterns, r.hostName()), true
	case "originalhost":
		return matchList(patterns, r.alias), true
	case "user":
		return matchList(patterns, r.remoteUser()), true
	case "localuser":
		return matchList(patterns, localUser()), true
	}
	return false, false
}

// hostName is the name to connect to as far as it is known by now.
func (r *reader) hostName() string {
	if h := r.settings.get("hostname"); h != "" {
		return strings.NewReplacer("%h", r.alias, "%%", "%").Replace(h)
	}
	return r.alias
}

func (r *reader) remoteUser() string {
	switch {
	case r.user != "":
		return r.user
	case r.settings.get("user") != "":
		return r.settings.get("user")
	}
	return localUser()
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// matchList reports whether some pattern fits and no negated one does
// (ssh_config(5), PATTERNS).
func matchList(patterns []string, s string) bool {
	matched := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if !wildcard(p, s) {
			continue
		}
		if negated {
			return false
		}
		matched = true
	}
	return matched
}

// matchHosts is matchList for names of hosts, in which case does not count.
func matchHosts(patterns []string, s string) bool {
	return matchList(strings.Split(strings.ToLower(strings.Join(patterns, ",")), ","), strings.ToLower(s))
}

// wildcard matches '*' with anything and '?' with one byte; nothing else is
// special. It is linear in both but for the last star, which alone is retried.
func wildcard(pattern, s string) bool {
	star, from := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
