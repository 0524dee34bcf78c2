package sshx

import "strings"

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
