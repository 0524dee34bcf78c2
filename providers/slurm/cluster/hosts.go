package cluster

import (
	"os"
	"strconv"
	"strings"
)

// hostIn reports whether a host list of Slurm's, "login[1-2,07],cpu1", has a host.
func hostIn(list, host string) bool {
	depth := 0
	parts := strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		return r == ',' && depth == 0
	})
	for _, part := range parts {
		if isHost(part, host) {
			return true
		}
	}
	return false
}

// isHost reports whether a host list, "rack[1-2]n[01-16]", contains a host.
func isHost(pattern, host string) bool {
	before, rest, ranged := strings.Cut(pattern, "[")
	if !ranged {
		return pattern == host
	}
	ranges, after, _ := strings.Cut(rest, "]")
	digits, ok := strings.CutPrefix(host, before)
	if !ok {
		return false
	}
	end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(digits)
	}
	n, err := strconv.Atoi(digits[:end])
	if err != nil || !isHost(after, digits[end:]) {
		return false
	}
	for span := range strings.SplitSeq(ranges, ",") {
		from, to, ok := strings.Cut(span, "-")
		if !ok {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err == nil && err2 == nil && a <= n && n <= b && (!strings.HasPrefix(from, "0") || len(from) == end) {
			return true
		}
	}
	return false
}

// thisHost is the name by which Slurm knows the machine that submits: its own,
// without a domain. job_mgr.c, validate_alloc_node.
func thisHost() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}
