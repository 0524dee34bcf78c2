package planner

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// A hold is a person's word that something must not start.
type hold struct {
	state.Hold
	all bool
	sel addr.Selection
}

// holdsOf reads the holds of a state. One whose address cannot be read holds everything, and
// is reported.
func holdsOf(st *state.State) (out []hold, diags diag.List) {
	for _, h := range st.Holds {
		o := hold{Hold: h, all: h.Address == ""}
		if !o.all {
			sel, err := addr.ParseSelection(h.Address)
			if err != nil {
				diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A hold names no address", Detail: fmt.Sprintf("%v. Everything is held until `muster resume`.", err)})
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
	b.WriteString("; until " + h.resume())
	return b.String()
}

// resume is the command that lifts the hold, as a word of a sentence.
func (h *hold) resume() string {
	if h.all {
		return "`muster resume`"
	}
	return resumeOf(h.Address)
}

func resumeOf(address string) string { return "`muster resume " + shell.Quote(address) + "`" }

// Stops keep jobs from starting until a person resumes them: holds, and breakers.
type Stops struct {
	holds    []hold
	breakers map[string]state.Breaker
}

// StopsOf takes them from a state.
func StopsOf(st *state.State) Stops {
	holds, _ := holdsOf(st)
	return Stops{holds, st.Breakers}
}

// Resume is the command that a job waits for, "" where nothing stops it.
func (s Stops) Resume(p *lang.Phase, cell int) string {
	if b, open := breakerOf(s.breakers, p, cell); open {
		return resumeOf(b.Address())
	}
	for i := range s.holds {
		if h := &s.holds[i]; h.covers(addr.Job{Phase: p.Name, Key: p.Key(cell)}, p.Label(cell)) {
			return h.resume()
		}
	}
	return ""
}

// breakerOf is the open breaker that stops a cell.
func breakerOf(all map[string]state.Breaker, p *lang.Phase, cell int) (b state.Breaker, open bool) {
	if b, open = all[p.Name]; !open && p.Trial != nil && len(all) > 0 {
		b, open = all[lang.BreakerOf(p, cell)]
	}
	return b, open
}

// breakerText says since when and why a breaker is open.
func breakerText(b state.Breaker) string {
	why := b.Reason
	if why == "" {
		why = b.Cause
	}
	return fmt.Sprintf("breaker open since %s: %s; %s closes it", units.FormatTime(b.At.UTC()), why, resumeOf(b.Address()))
}
