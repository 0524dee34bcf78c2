package planner

import (
	"fmt"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// selectCells turns -target, -rerun and -accept into columns.
func (m *maker) selectCells() {
	o := m.in.Options
	for _, f := range []struct {
		flag  string
		texts []string
		put   func(w *work, column []bool)
	}{
		{"-target", o.Targets, func(w *work, c []bool) { w.selected = c }},
		{"-rerun", o.Rerun, func(w *work, c []bool) { w.rerun = c }},
		{"-accept", o.Accept, func(w *work, c []bool) { w.accept = c }},
	} {
		if len(f.texts) == 0 {
			continue
		}
		m.selectBy(f.flag, f.texts, f.put)
	}
}

// selectBy marks the cells that any of the texts selects. What selects
// nothing, or jobs of several phases without saying so, is an error.
func (m *maker) selectBy(flag string, texts []string, put func(*work, []bool)) {
	sels := m.parse(flag, texts)
	phases := make([]int, len(sels)) // that each selects jobs of
	for _, w := range m.works {
		column := make([]bool, len(w.pp.Kind))
		hit := make([]bool, len(sels))
		for i := range column {
			key, label := w.p.Key(i), w.p.Label(i)
			for k, s := range sels {
				if s.Match(addr.Job{Phase: w.p.Name, Key: key}, label) {
					column[i], hit[k] = true, true
				}
			}
		}
		for k := range hit {
			if hit[k] {
				phases[k]++
			}
		}
		put(w, column)
	}
	for k, s := range sels {
		if phases[k] == 0 && !m.looseMatch(s) || phases[k] > 1 && s.Phase == "" && s.Label == "" {
			m.badSelection(flag, s.Text)
		}
	}
}

func (m *maker) parse(flag string, texts []string) []addr.Selection {
	out := make([]addr.Selection, 0, len(texts))
	for _, t := range texts {
		s, err := addr.ParseSelection(t)
		if err != nil {
			m.diags.Append(diag.Diagnostic{Summary: "a selection cannot be read", Detail: fmt.Sprintf("%s=%s: %v.", flag, t, err)})
			continue
		}
		out = append(out, s)
	}
	return out
}

// badSelection says what is wrong with a selection, and what may have been
// meant, in the words of every other command that takes addresses.
func (m *maker) badSelection(flag, text string) {
	var all []addr.Candidate
	for _, w := range m.works {
		for i := range w.pp.Kind {
			all = append(all, addr.Candidate{Job: addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, Label: w.p.Label(i)})
		}
	}
	_, diags := addr.Select([]string{text}, all)
	for _, d := range diags {
		d.Detail = flag + ": " + d.Detail
		m.diags.Append(d)
	}
}

// looseMatch reports whether a selection picks a job that is not wanted.
func (m *maker) looseMatch(s addr.Selection) bool {
	for _, job := range m.loose {
		if matches(s, job) {
			return true
		}
	}
	return false
}

func matches(s addr.Selection, job *state.Job) bool {
	phase, key, ok := addr.Split(job.Address)
	return ok && s.Match(addr.Job{Phase: phase, Key: key}, job.Name)
}

// targeted reports whether -target leaves a loose record in the plan.
func (m *maker) targeted(job *state.Job) bool {
	if len(m.in.Options.Targets) == 0 {
		return true
	}
	for _, t := range m.in.Options.Targets {
		if s, err := addr.ParseSelection(t); err == nil && matches(s, job) {
			return true
		}
	}
	return false
}

// narrow leaves out what -target does not select, but for what the selected
// jobs need and is not there yet.
func (m *maker) narrow() {
	c := &m.plan.Counts
	for _, w := range m.works {
		c.Total += len(w.pp.Kind)
		for i := range w.pp.Kind {
			if w.chosen(i) {
				c.Selected++
			}
		}
	}
	if len(m.in.Options.Targets) == 0 {
		return
	}
	needed := m.includeNeeds()
	others := 0
	for _, w := range m.works {
		for i, k := range w.pp.Kind {
			if w.chosen(i) {
				continue
			}
			switch k {
			case Run, Rerun, Restart, Retry, Resubmit, Move, Accept, Adopt, Record, Duplicate:
				others++
				w.pp.Kind[i] = Skipped
				delete(w.pp.Details, i)
			}
		}
	}
	note := fmt.Sprintf("%d of %d jobs selected", c.Selected, c.Total)
	if needed > 0 {
		note += fmt.Sprintf(", and %d that they need", needed)
	}
	if others > 0 {
		noun := "others"
		if others == 1 {
			noun = "other"
		}
		note += fmt.Sprintf("; %d %s would change", others, noun)
	}
	m.plan.Notes = append(m.plan.Notes, note+".")
}

// includeNeeds selects producers that start and that a selected job needs.
func (m *maker) includeNeeds() int {
	n := 0
	include := func(from *work, i int) {
		if from != nil && !from.chosen(i) && from.pp.Kind[i].Starts() {
			from.selected[i] = true
			n++
		}
	}
	for at := len(m.works) - 1; at >= 0; at-- {
		w := m.works[at]
		any := false
		for i, k := range w.pp.Kind {
			any = any || k.Starts() && w.chosen(i)
		}
		if !any {
			continue
		}
		for _, name := range w.p.DependsOn {
			if from := m.byPhase[name]; from != nil {
				for i := range from.pp.Kind {
					include(from, i)
				}
			}
		}
		for _, in := range w.p.Inputs {
			from := m.byPhase[in.From.Name]
			done := make([]bool, in.Groups())
			for i, k := range w.pp.Kind {
				if g := in.GroupOf(i); k.Starts() && w.chosen(i) && !done[g] {
					done[g] = true
					for _, p := range in.Members(g) {
						include(from, p)
					}
				}
			}
		}
	}
	return n
}
