// Package holds knows what a person's word keeps from starting: the holds of a
// state, and breakers that wait for someone to close them.
package holds

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// A Hold is a person's word that something must not start.
type Hold struct {
	state.Hold
	all bool
	sel addr.Selection
}

// Of reads the holds of a state. One whose address cannot be read holds
// everything, which is told.
func Of(st *state.State) (out []Hold, diags diag.List) {
	for _, h := range st.Holds {
		o := Hold{Hold: h, all: h.Address == ""}
		if !o.all {
			sel, err := addr.ParseSelection(h.Address)
			if err != nil {
				diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "a hold names no address", Detail: fmt.Sprintf("%v. Everything is held until `muster resume`.", err)})
				o.all = true
			}
			o.sel = sel
		}
		out = append(out, o)
	}
	return out, diags
}

// Covers reports whether a job is held.
func (h *Hold) Covers(job addr.Job, label string) bool { return h.all || h.sel.Match(job, label) }

// Text says who holds, why, and until when.
func (h *Hold) Text() string {
	who := h.Who
	if who == "" {
		who = "someone"
	}
	var b strings.Builder
	b.WriteString("held by " + who)
	if h.Reason != "" {
		b.WriteString(": " + h.Reason)
	}
	b.WriteString("; until `muster resume")
	if !h.all {
		b.WriteString(" " + h.Address)
	}
	b.WriteString("`")
	return b.String()
}

// Breaker says since when and why the breaker of a phase is open.
func Breaker(phase string, b state.Breaker) string {
	why := b.Reason
	if why == "" {
		why = b.Cause
	}
	return fmt.Sprintf("breaker open since %s: %s; `muster resume phase.%s` closes it", b.At.Format("2006-01-02 15:04"), why, phase)
}
