package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/state"
)

// selecting are the options that select jobs by address.
func (o Options) selecting() []selecting {
	return []selecting{
		{"-target", o.Targets, func(w *work, c []bool) { w.selected = c }},
		{"-rerun", o.Rerun, func(w *work, c []bool) { w.rerun = c }},
		{"-accept", o.Accept, func(w *work, c []bool) { w.accept = c }},
	}
}

type selecting struct {
	flag  string
	texts []string
	put   func(w *work, column []bool)
}

// Misaddressed says which addresses of the options mean no job of the campaign
// or of the state, or jobs of several phases without saying so, and what may
// have been meant. It asks no backend, so that it can be known first.
func Misaddressed(c *lang.Campaign, st *state.State, o Options) (diags diag.List) {
	var all []addr.Candidate
	for _, f := range o.selecting() {
		if len(f.texts) > 0 && all == nil {
			all = candidates(c, st)
		}
		for _, text := range f.texts {
			_, wrong := addr.Select([]string{text}, all)
			for _, d := range wrong {
				d.Detail = f.flag + ": " + d.Detail
				diags.Append(d)
			}
		}
	}
	return diags
}

// candidates are the jobs that the campaign wants, and those that the state
// alone knows.
func candidates(c *lang.Campaign, st *state.State) (all []addr.Candidate) {
	known := map[string]bool{}
	for _, p := range c.Phases {
		for i := range p.Len() {
			all = append(all, addr.Candidate{Job: addr.Job{Phase: p.Name, Key: p.Key(i)}, Label: p.Label(i)})
			known[p.Address(i)] = true
		}
	}
	for _, address := range st.Addresses() {
		j := st.Jobs[address]
		if job, err := addr.Parse(j.Address); err == nil && !known[j.Address] && !j.Smoke {
			all = append(all, addr.Candidate{Job: job, Label: j.Name})
		}
	}
	return all
}

// selectCells turns the options that select jobs into columns.
func (m *maker) selectCells() {
	m.diags.Append(Misaddressed(m.in.Campaign, m.st, m.in.Options)...)
	for _, f := range m.in.Options.selecting() {
		if len(f.texts) > 0 {
			m.selectBy(f.texts, f.put)
		}
	}
}

// selectBy marks the cells that any of the texts selects.
func (m *maker) selectBy(texts []string, put func(*work, []bool)) {
	var sels []addr.Selection
	for _, t := range texts {
		if s, err := addr.ParseSelection(t); err == nil {
			sels = append(sels, s)
		}
	}
	for _, w := range m.works {
		column := make([]bool, len(w.pp.Kind))
		for i := range column {
			job, label := addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, w.p.Label(i)
			column[i] = slices.ContainsFunc(sels, func(s addr.Selection) bool { return s.Match(job, label) })
		}
		put(w, column)
	}
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
			case Run, Rerun, Restart, Retry, Resubmit, Move, Accept, Adopt, Record, Duplicate, Restore:
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
