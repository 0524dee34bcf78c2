package main

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/state"
)

// requestAddresses are the exact jobs, or whole phases, a request is about.
// A phase stays a phase, so that jobs it gets later are meant, too.
func (a *app) requestAddresses(c *lang.Campaign, st *state.State, verb request.Verb, args []string) ([]string, error) {
	var out, rest []string
	for _, arg := range args {
		name := strings.TrimPrefix(arg, "phase.")
		if phaseNamed(c, name) && verb != request.Cancel {
			out = append(out, "phase."+name)
			continue
		}
		rest = append(rest, arg)
	}
	if len(rest) == 0 {
		return out, nil
	}
	s, err := a.choose(c, st, rest)
	if err != nil {
		return nil, err
	}
	out = append(out, s.Named()...)
	a.notef("%s\n", s.Text())
	return out, nil
}

func phaseNamed(c *lang.Campaign, name string) bool {
	for _, p := range c.Phases {
		if p.Name == name {
			return true
		}
	}
	return false
}
