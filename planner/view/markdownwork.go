package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner"
)

// commandWidth is how many columns of a command a comment shows.
const commandWidth = 160

// markdownWork describes the jobs of each phase that starts: their number,
// their axes, the request of each, and the command of the first.
func markdownWork(b *strings.Builder, p *planner.Plan) {
	n := 0
	for _, pp := range p.Phases {
		first := slices.IndexFunc(pp.Kind, planner.Kind.Starts)
		if first < 0 {
			continue
		}
		if n++; n == 1 {
			b.WriteString("**What the jobs are**\n\n")
		}
		if n <= markdownRows {
			fmt.Fprintf(b, "- %s: %s\n", code(pp.Phase.Name), markdownJobs(pp, first))
		}
	}
	if n > markdownRows {
		fmt.Fprintf(b, "- … and %s\n", units.Count(n-markdownRows, "more phase"))
	}
	if n > 0 {
		b.WriteByte('\n')
	}
}

// markdownJobs is "252 jobs, one for each `N` (12) and `seed` (21), 1×A100
// each, 4h at the longest, on `slurm.alpine`, partition aa100: GPU work goes to
// the production pool. The first runs `python train.py`", with a line for each
// of the requests where these differ.
func markdownJobs(pp *planner.PhasePlan, first int) string {
	n := 0
	for _, k := range pp.Kind {
		if k.Starts() {
			n++
		}
	}
	text := jobs(n, "", "")
	if all := pp.Phase.Len(); n < all {
		text = commas(n) + " of " + jobs(all, "", "")
	}
	if over := axes(pp.Phase.Grid); over != "" {
		text += ", one for each " + over
	}
	kinds := requested(pp)
	if len(kinds) == 1 {
		text += kinds[0].text(pp, n > 1)
	}
	if most := pp.Phase.Retry.Max; most > 1 {
		text += fmt.Sprintf(", launched up to %d times where it fails", most)
	}
	if len(kinds) == 1 {
		text += kinds[0].place(pp)
	}
	verb := ". It runs "
	if n > 1 {
		verb = ". The first runs "
	}
	text += verb + code(clip(command(pp.Phase, first), commandWidth))
	if len(kinds) == 1 {
		return text
	}
	for i, r := range kinds {
		if i == requestRows && len(kinds) > requestRows+1 {
			return text + fmt.Sprintf("\n  - … and %s more kinds of request; `muster plan -verbose` shows every job", commas(len(kinds)-i))
		}
		text += "\n  - " + jobs(r.jobs, "", "") + r.text(pp, r.jobs > 1) + r.place(pp)
	}
	return text
}

// requestRows is how many kinds of request of one phase a comment lists.
const requestRows = 6

// A request is the common request of like jobs of a phase that start, and where
// they go.
type request struct {
	jobs, first int    // cells
	differs     string // its own requests, where the phase has several
}

// requested are the kinds of request of the jobs that start, as rows of the
// plan tell them apart: in the order of their first cells.
func requested(pp *planner.PhasePlan) (out []*request) {
	like, differs, at := alike(pp), apart(pp), map[uint16]*request{}
	for i, k := range pp.Kind {
		if !k.Starts() {
			continue
		}
		var place uint16
		if i < len(pp.Place) {
			place = like[pp.Place[i]]
		}
		if at[place] == nil {
			at[place] = &request{first: i, differs: ofPlace(differs, pp, i)}
			out = append(out, at[place])
		}
		at[place].jobs++
	}
	return out
}

// text is ", 1×A100 each, 4h at the longest, 64GiB of memory".
func (r *request) text(pp *planner.PhasePlan, several bool) string {
	d, out := pp.Decision(r.first), ""
	if s := shape(d); s != "" {
		out += ", " + s
		if several {
			out += " each"
		}
	}
	if d.Shape.Walltime > 0 {
		out += ", " + units.ShortDuration(d.Shape.Walltime) + " at the longest"
	}
	if r.differs != "" {
		out += ", " + escape(r.differs)
	}
	return out
}

// place is ", on `slurm.alpine`, partition aa100: GPU work goes to the
// production pool", where they have one.
func (r *request) place(pp *planner.PhasePlan) string {
	d := pp.Decision(r.first)
	if d.Backend == "" {
		return ", with no place"
	}
	out := ", on " + code(d.Backend)
	switch hosts := byHost(pp)[d.Backend]; {
	case len(hosts) > 1:
		out += ", hosts " + escape(clip(strings.Join(hosts, ", "), 200))
	case d.Pool != "":
		out += ", " + escape(clip(poolWord(d)+d.Pool, 100))
	}
	if d.Why != "" {
		out += " (" + escape(clip(d.Why, 200)) + ")"
	}
	return out
}

// command is the command of a cell, on one line, with the paths of its outputs, and the names
// of its inputs.
func command(p *lang.Phase, cell int) string {
	var words []string
	for _, f := range p.Fields(cell, lang.Run) {
		if f.Name == "command" || strings.HasPrefix(f.Name, "command[") {
			words = append(words, strings.Fields(f.Text)...)
		}
	}
	text := strings.Join(words, " ")
	for _, o := range p.Outputs {
		text = strings.ReplaceAll(text, "${output."+o.Name+"}", p.OutputPath(cell, o.Name, lang.Run))
	}
	for _, in := range p.Inputs { // where it is is not known before it is made
		of := "<" + in.Output + " of " + in.From.Name + ">"
		text = strings.NewReplacer("${input."+in.Name+"}", of, "${input_file."+in.Name+"}", "<list: "+of[1:]).Replace(text)
	}
	return text
}

// axes is "`N` (12) and `seed` (21)": the axes of a grid.
func axes(g *grid.Grid) string {
	const shown = 5
	var names []string
	for i, a := range g.Axes {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", len(g.Axes)-shown))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", code(a.Name), commas(len(a.Values))))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
