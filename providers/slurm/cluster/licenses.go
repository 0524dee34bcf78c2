package cluster

import (
	"context"
	"strings"
)

// A license has a name, a total, and the number that this user's jobs hold or may
// get now.
type license struct{ total, open int }

// parseLicenses reads scontrol -o show licenses, by name.
func parseLicenses(out string) map[string]license {
	list := map[string]license{}
	for line := range strings.Lines(out) {
		if f := parseWords(line); f["LicenseName"] != "" {
			n := license{number(f["Total"]), number(f["Total"])}
			if free, told := f["Free"]; told {
				n.open = number(free)
			}
			list[f["LicenseName"]] = n
		}
	}
	return list
}

// ours counts the licenses of this user's own jobs as open: they are no
// strangers to the jobs after them. squeue(1), %W.
func (s *Facts) ours(ctx context.Context, c *Commands) {
	if len(s.licenses) == 0 {
		return
	}
	out, err := c.told(ctx, askTimeout, "squeue", "-h", "-u", c.User, "-t", "R", "-o", "%W")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		for name, n := range licenses(strings.TrimSpace(line)) {
			if l, ok := s.licenses[name]; ok {
				l.open = min(l.open+n, l.total)
				s.licenses[name] = l
			}
		}
	}
}

// Licensed is how many jobs the licenses that each asks for let run at once, at
// least 1; 0 = any number, as far as is known.
func (s *Facts) Licensed(o Requirements) (jobs int) {
	for name, n := range licenses(o.Licenses) {
		if l, ok := s.licenses[name]; ok {
			jobs = Least(jobs, max(l.open/n, 1))
		}
	}
	return jobs
}

// licenses are those of "matlab:2,stata", how many of each. sbatch(1),
// --licenses; alternatives are in "a|b" and are not held against anything.
func licenses(text string) map[string]int {
	out := map[string]int{}
	if strings.Contains(text, "|") {
		return out
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		name, n, _ := strings.Cut(strings.TrimSpace(w), ":")
		if name != "" {
			out[name] = max(number(n), 1)
		}
	}
	return out
}
