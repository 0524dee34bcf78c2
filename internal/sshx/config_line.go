package sshx

import (
	"errors"
	"slices"
	"strings"
)

// commands are the keywords whose value is a shell's, quotes and all.
var commands = []string{"proxycommand", "localcommand", "remotecommand", "knownhostscommand"}

// line is the keyword and the arguments of a line.
func line(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	keyword, rest, err := cutWord(text, true)
	if err == nil && slices.Contains(commands, strings.ToLower(keyword)) {
		rest = strings.TrimLeft(rest, " \t\f\r")
		return []string{keyword, strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t\f\r")}, nil
	}
	return split(text)
}

// split cuts a line of ssh_config into its keyword and arguments: separated by
// blanks, the keyword also by one '='; double quotes hold blanks; '#' begins a
// comment where a word could begin (readconf.c, misc.c argv_split).
func split(line string) ([]string, error) {
	rest := strings.TrimSpace(line)
	var words []string
	for rest != "" && rest[0] != '#' {
		word, after, err := cutWord(rest, len(words) == 0)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		rest = strings.TrimLeft(after, " \t\f\r")
		if len(words) == 1 && strings.HasPrefix(rest, "=") {
			rest = strings.TrimLeft(rest[1:], " \t\f\r")
		}
	}
	return words, nil
}

// cutWord takes the first word; a keyword ends at '=', too.
func cutWord(s string, keyword bool) (word, rest string, err error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\'' || s[i+1] == '\\' || quote == 0 && s[i+1] == ' '):
			i++
			b.WriteByte(s[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote = c
		case c == ' ' || c == '\t' || c == '\f' || c == '\r' || keyword && c == '=':
			return b.String(), s[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", errors.New("a quote is not closed")
	}
	return b.String(), "", nil
}
