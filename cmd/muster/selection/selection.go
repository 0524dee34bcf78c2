// Package selection resolves the addresses on a command line to jobs, among those
// of the campaign and those in the state.
package selection

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// Jobs are the jobs that addresses mean. The zero value has every job.
type Jobs struct {
	only  map[string]bool // by address; nil = every job
	total int
}

// Of resolves addresses: full ones, globs over axes, unique suffixes and
// labels. None at all mean every job.
func Of(c *lang.Campaign, st *state.State, addresses []string) (Jobs, diag.List) {
	all := planner.Candidates(c, st)
	jobs := Jobs{total: len(all)}
	if len(addresses) == 0 {
		return jobs, nil
	}
	jobs.only = map[string]bool{}
	found, diags := addr.Select(addresses, all)
	for _, i := range found {
		jobs.only[all[i].Job.String()] = true
	}
	return jobs, diags
}

// All reports whether no address was given.
func (s Jobs) All() bool { return s.only == nil }

// Has reports whether a job is meant.
func (s Jobs) Has(address string) bool { return s.only == nil || s.only[address] }

// Named are the addresses of the jobs that were named, in no order: none
// where every job is meant.
func (s Jobs) Named() []string {
	out := make([]string, 0, len(s.only))
	for address := range s.only {
		out = append(out, address)
	}
	return out
}

// Text is "12 of 24 jobs selected".
func (s Jobs) Text() string { return fmt.Sprintf("%d of %d jobs selected", len(s.only), s.total) }

// List is the jobs of the campaign that are meant, in its order.
func (s Jobs) List(c *lang.Campaign) []string {
	var out []string
	for _, p := range c.Phases {
		for i := range p.Len() {
			if address := p.Address(i); s.Has(address) {
				out = append(out, address)
			}
		}
	}
	return out
}

// One is the job that an address means; that it means several, or none, is an
// error that says so.
func (s Jobs) One(c *lang.Campaign, address string) (string, error) {
	switch list := s.List(c); len(s.only) {
	case 1:
		return s.Named()[0], nil
	case 0:
		return "", fmt.Errorf("%s means no job", address)
	default:
		return "", fmt.Errorf("%s means %d jobs (%s, …): name one", address, len(s.only), strings.Join(list[:min(len(list), 3)], ", "))
	}
}
