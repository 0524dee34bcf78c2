package main

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// A selection is the exact jobs that addresses on the command line mean. The
// zero value has every job.
type selection struct {
	jobs  map[string]bool // nil = every job
	total int
}

func (s selection) has(address string) bool { return s.jobs == nil || s.jobs[address] }

// text is "12 of 24 jobs selected".
func (s selection) text() string { return fmt.Sprintf("%d of %d jobs selected", len(s.jobs), s.total) }

// list is the selected addresses in campaign order.
func (s selection) list(c *lang.Campaign) []string {
	var out []string
	for _, p := range c.Phases {
		for i := range p.Len() {
			if address := p.Address(i); s.has(address) {
				out = append(out, address)
			}
		}
	}
	return out
}

// choose resolves addresses: full ones, globs over axes, unique suffixes and
// labels, over the jobs the campaign wants and those the state remembers.
func (a *app) choose(c *lang.Campaign, st *state.State, args []string) (selection, error) {
	var all []addr.Candidate
	known := map[string]bool{}
	for _, p := range c.Phases {
		for i := range p.Len() {
			all = append(all, addr.Candidate{Job: addr.Job{Phase: p.Name, Key: p.Key(i)}, Label: p.Label(i)})
			known[p.Address(i)] = true
		}
	}
	for _, address := range st.Addresses() {
		j := st.Jobs[address]
		if known[j.Address] || j.Smoke {
			continue
		}
		if job, err := addr.Parse(j.Address); err == nil {
			all = append(all, addr.Candidate{Job: job, Label: j.Name})
		}
	}
	s := selection{total: len(all)}
	if len(args) == 0 {
		return s, nil
	}
	s.jobs = map[string]bool{}
	found, diags := addr.Select(args, all)
	for _, i := range found {
		s.jobs[all[i].Job.String()] = true
	}
	return s, a.report(diags)
}

// chooseOne resolves an address that must mean one job.
func (a *app) chooseOne(c *lang.Campaign, st *state.State, arg string) (string, error) {
	s, err := a.choose(c, st, []string{arg})
	if err != nil {
		return "", err
	}
	if len(s.jobs) != 1 {
		list := s.list(c)
		return "", usagef("%s means %d jobs (%s, …): name one", arg, len(s.jobs), strings.Join(list[:min(len(list), 3)], ", "))
	}
	for address := range s.jobs {
		return address, nil
	}
	return "", usagef("%s means no job", arg)
}

// mostProposed is how many words are completed: more is no help to anybody at
// a prompt.
const mostProposed = 2000

// jobAddresses completes addresses from the campaign in this directory and,
// once a word is begun, the values of its axes: seed=42,N=384.
func jobAddresses(a *app, begun string) []string {
	c, diags := a.load(varFlags{}, true)
	if diags.HasErrors() {
		return nil
	}
	out := selection{}.list(c)
	out = out[:min(len(out), mostProposed)]
	if begun != "" {
		out = append(out, axisValues(c, begun[:strings.LastIndexByte(begun, ',')+1])...)
	}
	return out
}

// axisValues are the axis=value of all cells, each after the pairs that stand
// there before it.
func axisValues(c *lang.Campaign, before string) []string {
	seen := map[string]bool{}
	var out []string
	for _, p := range c.Phases {
		for i := range min(p.Len(), mostProposed) {
			for axis, value := range p.Axes(i) {
				pair := before + axis + "=" + string(addr.AppendKeyText(nil, value))
				if !seen[pair] && len(out) < mostProposed {
					seen[pair], out = true, append(out, pair)
				}
			}
		}
	}
	return out
}
