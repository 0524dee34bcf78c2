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
		{"-target", o.Targets, func(w *draft, c []bool) { w.selected = c }},
		{"-rerun", o.Rerun, func(w *draft, c []bool) { w.rerun = c }},
		{"-accept", o.Accept, func(w *draft, c []bool) { w.accept = c }},
	}
}

type selecting struct {
	flag  string
	texts []string
	put   func(w *draft, column []bool)
}

// Misaddressed reports addresses of the options that match no job of the campaign or of the
// state, or jobs of several phases without naming them, with similar names. It asks no
// backend, so that it can run first.
func Misaddressed(c *lang.Campaign, st *state.State, o Options) (diags diag.List) {
	var all []addr.Candidate
	for _, f := range o.selecting() {
		if len(f.texts) > 0 && all == nil {
			all = Candidates(c, st)
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

// Candidates are the jobs that an address may mean: those of the campaign, and
// those that only the state has, without smokes.
func Candidates(c *lang.Campaign, st *state.State) (all []addr.Candidate) {
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
func selectCells(fs *facts, ps phases) diag.List {
	for _, f := range fs.in.Options.selecting() {
		if len(f.texts) > 0 {
			ps.selectBy(f.texts, f.put)
		}
	}
	return Misaddressed(fs.in.Campaign, fs.st, fs.in.Options)
}

// selectBy marks the cells that any of the texts selects.
func (ps phases) selectBy(texts []string, put func(*draft, []bool)) {
	var sels []addr.Selection
	for _, t := range texts {
		if s, err := addr.ParseSelection(t); err == nil {
			sels = append(sels, s)
		}
	}
	for _, w := range ps.drafts {
		column := make([]bool, len(w.pp.Kind))
		for i := range column {
			job, label := addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, w.p.Label(i)
			column[i] = slices.ContainsFunc(sels, func(s addr.Selection) bool { return s.Match(job, label) })
		}
		put(w, column)
	}
}

// narrow leaves out the jobs that -target does not select, except for missing
// producers of selected ones. Every job that only got another address gets it: selected
// ones may wait for it. It notes how many are left in and out.
func narrow(targets []string, ps phases) (notes []string) {
	if len(targets) == 0 {
		return nil
	}
	c := ps.counted()
	needed := ps.includeNeeds()
	others := 0
	for _, w := range ps.drafts {
		for i, k := range w.pp.Kind {
			if w.chosen(i) {
				continue
			}
			switch k {
			case Run, Rerun, Restart, Retry, Resubmit, Accept, Adopt, Record, Duplicate, Restore, AdoptFiles:
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
		note += fmt.Sprintf("; %d %s would change", others, wording(others, "other", "others"))
	}
	return []string{note + "."}
}

// includeNeeds selects producers that start and that a selected job needs, or a smoke before it.
func (ps phases) includeNeeds() int {
	n := 0
	include := func(from *draft, i int) {
		if from != nil && !from.chosen(i) && from.pp.Kind[i].Starts() {
			from.selected[i] = true
			n++
		}
	}
	for at := len(ps.drafts) - 1; at >= 0; at-- {
		w := ps.drafts[at]
		any := false
		for i, k := range w.pp.Kind {
			any = any || k.Starts() && w.chosen(i)
		}
		if !any {
			continue
		}
		for _, name := range w.p.DependsOn {
			if from := ps.byPhase[name]; from != nil {
				for i := range from.pp.Kind {
					include(from, i)
				}
			}
		}
		for _, in := range w.p.Inputs {
			from := ps.byPhase[in.From.Name]
			done := make([]bool, in.Groups())
			for i, k := range w.pp.Kind {
				g := in.GroupOf(i)
				if smoke := w.p.Smoke != nil && slices.Contains(w.p.Smoke.Cells, i); !done[g] && (smoke || k.Starts() && w.chosen(i)) {
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
