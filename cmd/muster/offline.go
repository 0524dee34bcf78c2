package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm"
	"github.com/muster-run/muster/providers/ssh"
)

// offlines plan for the built-in types that are not driven yet, in this
// process, from facts.
var offlines = map[string]func() providers.Provider{"slurm": slurm.Offline, "ssh": ssh.Offline}

// undriven refuses to apply a plan that would start work where this muster
// cannot.
func undriven(p *planner.Plan) diag.List {
	var where []string
	for _, pp := range p.Phases {
		for i, kind := range pp.Kind {
			name := pp.Decision(i).Backend
			typ, _, _ := strings.Cut(name, ".")
			if kind.Starts() && offlines[typ] != nil && !slices.Contains(where, name) {
				where = append(where, name)
			}
		}
	}
	if len(where) == 0 {
		return nil
	}
	return diag.List{{Summary: "This muster plans for some backends that it cannot drive yet",
		Detail: fmt.Sprintf("Work would start on %s. Nothing was started. Place it on local, or on a provider of your own, to run it with this version.", strings.Join(where, ", "))}}
}
