package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/state"
)

// NotesOf are the notes that a request asks to keep.
func NotesOf(r request.Request) (out []state.Note) {
	for _, e := range request.Noted(r) {
		out = append(out, e.(state.Noted).Note)
	}
	return out
}

// notesOn are the notes of the chosen jobs and of their phases, oldest first.
func notesOn(c *lang.Campaign, st *state.State, jobs selection.Jobs) (out []state.Note) {
	for address, notes := range st.Notes {
		phase, _, isJob := strings.Cut(address, "[")
		known := slices.ContainsFunc(c.Phases, func(p *lang.Phase) bool { return "phase."+p.Name == phase })
		if jobs.All() || isJob && jobs.Has(address) || !isJob && known && touches(c, phase, jobs) {
			out = append(out, notes...)
		}
	}
	slices.SortFunc(out, func(a, b state.Note) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Address, b.Address)
	})
	return out
}

// touches reports whether a job of a phase was chosen.
func touches(c *lang.Campaign, phase string, jobs selection.Jobs) bool {
	for _, p := range c.Phases {
		if "phase."+p.Name != phase {
			continue
		}
		for i := range p.Len() {
			if jobs.Has(p.Address(i)) {
				return true
			}
		}
	}
	return false
}

// noteLine is "2026-11-23, ada: the disk is slow".
func noteLine(n state.Note) string {
	return fmt.Sprintf("%s, %s: %s", n.At.Format("2006-01-02"), term.CleanLine(n.Who), term.CleanLine(n.Text))
}
