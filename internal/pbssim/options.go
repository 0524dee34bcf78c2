package pbssim

import (
	"strings"
)

// An option is one of a command line, with its value.
type option struct {
	letter byte
	value  string
}

// getopt takes a command line apart as getopt(3) does with letters such as "fF:":
// those followed by a colon take a value. bad are its complaints.
func getopt(args []string, letters string) (opts []option, rest []string, bad []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return opts, append(rest, args[i+1:]...), bad
		}
		if len(arg) < 2 || arg[0] != '-' {
			return opts, append(rest, args[i:]...), bad // OpenPBS stops at the first operand
		}
		for k := 1; k < len(arg); k++ {
			at := strings.IndexByte(letters, arg[k])
			switch {
			case at < 0 || arg[k] == ':':
				bad = append(bad, "invalid option -- '"+arg[k:k+1]+"'")
			case at+1 == len(letters) || letters[at+1] != ':':
				opts = append(opts, option{arg[k], ""})
			case k+1 < len(arg):
				opts = append(opts, option{arg[k], arg[k+1:]})
				k = len(arg)
			case i+1 < len(args):
				i++
				opts = append(opts, option{arg[k], args[i]})
				k = len(arg)
			default:
				bad = append(bad, "option requires an argument -- '"+arg[k:k+1]+"'")
			}
		}
	}
	return opts, rest, bad
}

// last is the value of the last option of a letter.
func last(opts []option, letter byte) (v string, ok bool) {
	for _, o := range opts {
		if o.letter == letter {
			v, ok = o.value, true
		}
	}
	return v, ok
}

// pairs reads "a=b,c=d", where a value may be quoted and may have commas that no
// name and sign of equality follow: "depend=afterok:1,afterany:2".
func pairs(text string) (list [][2]string, ok bool) {
	for _, part := range splitQuoted(text, ',') {
		name, value, found := strings.Cut(part, "=")
		switch {
		case found && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == "":
			list = append(list, [2]string{name, strings.Trim(value, `"'`)})
		case len(list) > 0:
			list[len(list)-1][1] += "," + strings.Trim(part, `"'`)
		default:
			return nil, false
		}
	}
	return list, true
}

// splitQuoted splits at a byte outside of quotes, and keeps the quotes.
func splitQuoted(text string, at byte) (parts []string) {
	var quote byte
	start := 0
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == at:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}
