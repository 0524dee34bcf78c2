package warnings

import (
	"strings"

	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/state"
)

// NeededBackends are the backends, by address, that a campaign needs whether its phases
// name them or not: a job was there, a file of one is, or a machine.
func NeededBackends(st *state.State, orphans []observed.Orphan) map[string]bool {
	out := map[string]bool{}
	for _, job := range st.All() {
		for k := range job.Attempts {
			out[job.Attempts[k].Backend] = true
		}
		for k := range job.Outputs {
			out[job.Outputs[k].Backend] = true
			for _, c := range job.Outputs[k].Copies {
				backend, _, _ := strings.Cut(c.Backend, "/") // of a host, ssh.lab/h
				out[backend] = true
			}
		}
	}
	for _, r := range st.Rentals {
		if r.Rented() {
			out[r.Backend] = true
		}
	}
	for _, o := range orphans {
		out[o.Backend] = true
	}
	return out
}
