package planner

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// A hold is a person's word that something must not start.
type hold struct {
	state.Hold
	all bool
	sel addr.Selection
}

// holdsOf reads the holds of a state. One whose address cannot be read holds
// everything, which is told.
func holdsOf(st *state.State) (out []hold, diags diag.List) {
	for _, h := range st.Holds {
		o := hold{Hold: h, all: h.Address == ""}
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

// covers reports whether a job is held.
func (h *hold) covers(job addr.Job, label string) bool { return h.all || h.sel.Match(job, label) }

// text says who holds, why, and until when.
func (h *hold) text() string {
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

// breakerText says since when and why the breaker of a phase is open.
func breakerText(phase string, b state.Breaker) string {
	why := b.Reason
	if why == "" {
		why = b.Cause
	}
	return fmt.Sprintf("breaker open since %s: %s; `muster resume phase.%s` closes it", units.FormatTime(b.At.UTC()), why, phase)
}
