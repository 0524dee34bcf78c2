package planner

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// A hold is a person's word that something must not start.
type hold struct {
	state.Hold
	all bool
	sel addr.Selection
}

func (m *maker) indexHolds() {
	for _, h := range m.st.Holds {
		out := hold{Hold: h, all: h.Address == ""}
		if !out.all {
			sel, err := addr.ParseSelection(h.Address)
			if err != nil {
				m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "a hold names no address", Detail: fmt.Sprintf("%v. Everything is held until `muster resume`.", err)})
				out.all = true
			}
			out.sel = sel
		}
		m.holds = append(m.holds, out)
	}
	for _, w := range m.works {
		for at := range m.holds {
			w.holds = append(w.holds, at)
		}
	}
}

// heldBy says who holds a cell and why; "" when nobody does.
func (m *maker) heldBy(w *work, i int) string {
	for _, at := range w.holds {
		h := &m.holds[at]
		if h.all || h.sel.Match(addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, w.p.Label(i)) {
			return h.text()
		}
	}
	if b, ok := m.st.Breakers[w.p.Name]; ok {
		return fmt.Sprintf("breaker open since %s: %s; `muster resume phase.%s` closes it", b.At.Format("2006-01-02 15:04"), orElse(b.Reason, b.Cause), w.p.Name)
	}
	return ""
}

func (h hold) text() string {
	var b strings.Builder
	b.WriteString("held by " + orElse(h.Who, "someone"))
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
