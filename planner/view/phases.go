package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// Symbols stand beside the word of an action, never for it.
var symbols = map[planner.Kind]string{
	planner.Run: "+ run", planner.Rerun: "± re-run", planner.Restart: "± cancel and re-run", planner.Retry: "↻ retry",
	planner.Resubmit: "~ resubmit", planner.Continue: "… continue", planner.Adopt: "+ adopt", planner.Move: "→ moved",
	planner.Accept: "≈ accept", planner.HeldKind: "! held", planner.Blocked: "⊘ blocked", planner.UnknownAt: "? unknown",
	planner.Missing: "? missing", planner.Bytes: "≠ input bytes changed", planner.Altered: "≠ output changed", planner.Restore: "⟲ restore", planner.AdoptFiles: "+ adopt", planner.Duplicate: "! duplicate",
	planner.Cancel: "- cancel", planner.Forget: "- forget", planner.Record: "… record", planner.None: "  unchanged", planner.Skipped: "  not selected",
}

// Limits of the table on a screen; the rest is counted, and shown by -verbose.
const (
	linesPerPhase = 8  // of kinds of change in one phase
	tableLines    = 40 // in all; a campaign of more gets one line a phase
	briefPhases   = 30 // of those
)

// phases is the table of the phases, producers first.
func (h Human) phases(p *planner.Plan) string {
	var lines []line
	for _, pp := range p.Phases {
		for _, t := range p.Transfers {
			if t.Phase == pp.Phase.Name {
				lines = append(lines, transferLine(t))
			}
		}
		lines = append(lines, h.phaseLines(pp)...)
	}
	if len(lines) > tableLines && !h.Verbose {
		lines = brief(p)
	}
	return h.layout(lines)
}

func (h Human) phaseLines(pp *planner.PhasePlan) []line {
	head := line{label: "phase." + pp.Phase.Name, amount: units.Count(len(pp.Kind), "job"), phase: true}
	groups := group(pp, h.Verbose)
	if len(groups) == 1 && groups[0].kind == planner.Skipped {
		return nil
	}
	if len(groups) == 1 && groups[0].kind == planner.None && pp.Hold == "" {
		head.shape = "unchanged"
		return append([]line{head}, rereadLines(pp)...)
	}
	head.shape = where(pp)
	if pp.Hold != "" {
		head.note = "! held: " + term.CleanLine(pp.Hold)
	}
	differs := apart(pp)
	lines := append([]line{head}, gateLines(pp, differs)...)
	lines = append(lines, append(rereadLines(pp), afterLines(pp)...)...)
	for i, g := range groups {
		if i == linesPerPhase && !h.Verbose && len(groups) > linesPerPhase+1 {
			lines = append(lines, line{label: "…", shape: fmt.Sprintf("%d more kinds of change; -verbose shows every job", len(groups)-i)})
			break
		}
		if g.text == term.CleanLine(pp.Hold) {
			g.text = "" // it is above
		}
		lines = append(lines, groupLine(pp, g, differs))
	}
	return lines
}

// where names the backends and pools the phase's jobs go to, and those where
// they run already.
func where(pp *planner.PhasePlan) string {
	var out []string
	jobs, named := byHost(pp), map[string]bool{}
	for _, d := range pp.Placements {
		if d.Backend == "" {
			continue
		}
		named[d.Backend] = true
		s := d.Backend
		switch hosts := jobs[d.Backend]; {
		case len(hosts) > 1:
			s += ", hosts " + strings.Join(hosts, ", ")
		case d.Pool != "":
			s += ", " + poolWord(d) + d.Pool
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for i, k := range pp.Kind {
		if k != planner.Continue {
			continue
		}
		if at := pp.Record(i).Last(); at != nil && !named[at.Backend] {
			named[at.Backend] = true
			out = append(out, strings.TrimSuffix(at.Backend+", "+at.Pool, ", "))
		}
	}
	if len(out) > 3 {
		out = append(out[:3], fmt.Sprintf("%d more", len(out)-3))
	}
	return strings.Join(out, "; ")
}

// shownHosts is how many hosts of a backend are named in the table.
const shownHosts = 6

// byHost are the hosts over which jobs of a backend are spread, each with how
// many it gets: "a (168)".
func byHost(pp *planner.PhasePlan) map[string][]string {
	n := make([]int, len(pp.Placements))
	for i, at := range pp.Place {
		if int(at) < len(n) && (pp.Kind[i].Starts() || pp.Kind[i] == planner.Blocked) {
			n[at]++
		}
	}
	jobs, order := map[[2]string]int{}, map[string][]string{}
	for at, d := range pp.Placements {
		if d.Kind != offer.HostPool || n[at] == 0 {
			continue
		}
		key := [2]string{d.Backend, d.Pool}
		if jobs[key] == 0 {
			order[d.Backend] = append(order[d.Backend], d.Pool)
		}
		jobs[key] += n[at]
	}
	for backend, hosts := range order {
		slices.Sort(hosts)
		for i, host := range hosts {
			hosts[i] = fmt.Sprintf("%s (%s)", host, commas(jobs[[2]string{backend, host}]))
		}
		if len(hosts) > shownHosts {
			order[backend] = append(hosts[:shownHosts-1], fmt.Sprintf("%d more", len(hosts)-shownHosts+1))
		}
	}
	return order
}

func poolWord(d place.Decision) string {
	if d.Word == "" {
		return ""
	}
	return d.Word + " "
}

func gateLines(pp *planner.PhasePlan, differs []string) []line {
	var lines []line
	if g := pp.Smoke; g != nil {
		switch {
		case len(g.Run) > 0 && pp.Hold == "": // a held phase tries nothing
			l := line{label: "  + " + g.Word(), amount: amount(len(g.Launches()), g.Place), shape: shape(g.Place)}
			if g.Place.Pool != "" {
				l.note = "on " + g.Place.Pool
			}
			l.note = notes(l.note, term.CleanLine(g.Text))
			lines = append(lines, l)
		case g.Text != "":
			lines = append(lines, line{label: "    smoke", shape: g.Text})
		}
		if g.Override != "" {
			lines = append(lines, line{label: "  ≈ override", shape: term.CleanLine(g.Override)})
		}
	}
	if len(pp.Pilot) > 0 {
		i := pp.Pilot[0]
		d := pp.Decision(i)
		note := term.CleanLine(pp.Phase.Label(i))
		if n := len(pp.Pilot) - 1; n > 0 {
			note += fmt.Sprintf(" and %d more", n)
		}
		note = notes(ofPlace(differs, pp, i), note)
		lines = append(lines, line{label: "  + pilot", amount: amount(len(pp.Pilot), d), shape: shape(d), note: note})
	}
	return lines
}

// rereadLines say which metrics of completed jobs are read again.
func rereadLines(pp *planner.PhasePlan) []line {
	if pp.Reread == nil {
		return nil
	}
	names := term.CleanLine(strings.Join(pp.Reread.Metrics, ", "))
	return []line{{label: "    metrics", shape: fmt.Sprintf("read %s again from the outputs of %s; nothing runs", names, jobs(pp.Reread.Jobs, "", ""))}}
}

// afterLines say where jobs go after failures.
func afterLines(pp *planner.PhasePlan) (lines []line) {
	for _, text := range fallbacks(pp) {
		lines = append(lines, line{label: "    retries", shape: text})
	}
	return lines
}

// fallbacks name the places where the jobs of a phase are launched again after failures that
// move them, and the ceiling of one launch there, each once.
func fallbacks(pp *planner.PhasePlan) (out []string) {
	for _, a := range slices.Concat(pp.After...) {
		text := fmt.Sprintf("after %s on %s", a.Class, a.To.Where())
		if a.To.Backend == "" {
			text = fmt.Sprintf("after %s: no place yet: %s", a.Class, term.CleanLine(a.To.Away))
		} else if most := Amounts(a.AtMost); most != "" {
			text += "; at most " + most + " a launch"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// groupLine is the row of a cluster; differs has, by placement, the difference
// of its request from others.
func groupLine(pp *planner.PhasePlan, g cluster, differs []string) line {
	l := line{label: "  " + symbols[g.kind], note: g.text}
	if !g.kind.Starts() {
		l.amount = commas(g.cells)
		if g.cells == 1 && g.kind != planner.None && pp.Phase.Key(g.first) != "" {
			l.shape = term.CleanLine(pp.Phase.Label(g.first))
		}
		if g.kind == planner.AdoptFiles {
			l.note = notes(adoptedSize(pp, g.text), l.note)
		}
		return l
	}
	d := pp.Decision(g.first)
	l.amount, l.shape = amount(g.cells, d), shape(d)
	if l.note == "" {
		l.note = after(pp)
	}
	at := placed(pp, d)
	switch {
	case at != "":
		at = "on " + at
	case d.Backend == "" && len(pp.Placements) > 1:
		at = "no place"
	}
	l.note = notes(ofPlace(differs, pp, g.first), at, l.note)
	return l
}

// adoptedSize is how large the files are that the cells of a row adopt.
func adoptedSize(pp *planner.PhasePlan, text string) string {
	files, size := 0, int64(0)
	for i, k := range pp.Kind {
		if d := pp.Details[i]; k == planner.AdoptFiles && reason(d) == text {
			for _, o := range d.Seen {
				files, size = files+max(o.Files, 1), size+o.Size
			}
		}
	}
	return units.Count(files, "file") + ", " + units.FormatSize(size)
}

// ofPlace is the text of a cell's placement, "" where it has none.
func ofPlace(texts []string, pp *planner.PhasePlan, cell int) string {
	if cell < len(pp.Place) && int(pp.Place[cell]) < len(texts) {
		return texts[pp.Place[cell]]
	}
	return ""
}

// notes joins remarks on one row.
func notes(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

// placed is where jobs go, in a phase whose jobs go to several places; of a
// backend's hosts the head of the phase tells.
func placed(pp *planner.PhasePlan, d place.Decision) string {
	if d.Backend == "" || d.Kind == offer.HostPool {
		return ""
	}
	for _, other := range pp.Placements {
		if other.Backend != "" && (other.Backend != d.Backend || other.Pool != d.Pool) {
			return strings.TrimSuffix(d.Backend+" "+d.Pool, " ")
		}
	}
	return ""
}

// after says what each job of a phase waits for.
func after(pp *planner.PhasePlan) string {
	for _, in := range pp.Phase.Inputs {
		axes := matched(pp.Phase, in)
		switch {
		case in.Partial() && in.Required(in.From.Len()) == 0:
			return fmt.Sprintf("after phase.%s, however its jobs end", in.From.Name)
		case in.Partial() && axes != "":
			return fmt.Sprintf("each after %s of its %s (%s)", in.Least, in.From.Name, axes)
		case in.Partial():
			return fmt.Sprintf("needs %s of phase.%s", in.Least, in.From.Name)
		}
		if in.All || in.From.Len() <= 1 || axes == "" {
			continue
		}
		return fmt.Sprintf("each after its %s (%s)", singular(in.From.Name), axes)
	}
	return ""
}

// matched says by which axes jobs find those that they read: "same temp, by arch", where
// match maps arch.
func matched(p *lang.Phase, in *lang.Input) string {
	mapped := in.Mapped()
	same := slices.DeleteFunc(p.Grid.AxisNames(), func(name string) bool {
		return in.From.Grid.AxisIndex(name) < 0 || slices.Contains(mapped, name)
	})
	var out []string
	if len(same) > 0 {
		out = append(out, "same "+strings.Join(same, ", "))
	}
	if len(mapped) > 0 {
		out = append(out, "by "+strings.Join(mapped, ", "))
	}
	return strings.Join(out, ", ")
}

// singular drops the plural s of a phase's name: "teachers" → "teacher".
func singular(name string) string {
	if strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss") && len(name) > 2 {
		return name[:len(name)-1]
	}
	return name
}

// amount is "2 × ≤20m": how many, and the longest each may take.
func amount(n int, d place.Decision) string {
	if d.Shape.Walltime == 0 {
		return commas(n) + " ×"
	}
	return fmt.Sprintf("%s × ≤%s", commas(n), units.ShortDuration(d.Shape.Walltime))
}

// shape is "1×A100, 4 share a node, 3 segments": the devices of one job, where it asks
// for any, how many share a node, and in how many launches its work is cut.
func shape(d place.Decision) string {
	var parts []string
	if d.Shape.GPUs > 0 {
		model := "GPU"
		if d.GPUClass != "" {
			model = d.GPUClass
		}
		parts = append(parts, fmt.Sprintf("%d×%s", d.Shape.GPUs, model))
	}
	if n := d.Shape.Beside(); n > 1 {
		parts = append(parts, fmt.Sprintf("%d share a node", n))
	}
	if n := d.Shape.Turns(); n > 1 {
		parts = append(parts, fmt.Sprintf("%d in turn", n))
	}
	if d.Segments > 1 {
		parts = append(parts, fmt.Sprintf("%d segments", d.Segments))
	}
	return strings.Join(parts, ", ")
}

// reason is why a job is treated so, in one line.
func reason(d planner.Detail) string {
	var parts []string
	causes := causes(d.Reasons)
	for i, r := range causes {
		if i == 2 {
			parts = append(parts, fmt.Sprintf("%d more", len(causes)-i))
			break
		}
		parts = append(parts, cause(r))
	}
	if d.From != "" {
		parts = append(parts, "from "+d.From)
	}
	if d.Text != "" {
		parts = append(parts, firstLine(d.Text))
	}
	if len(d.Foreign) > 0 {
		n := 0
		for _, o := range d.Foreign {
			n += max(o.Files, 1)
		}
		parts = append(parts, units.Count(n, "file")+" there, "+d.Whose)
	}
	if len(d.Waits) > 0 {
		parts = append(parts, "waits for "+d.Waits[0]+others(len(d.Waits)-1))
	}
	return term.CleanLine(strings.Join(parts, "; "))
}

// causes leaves out reasons that only follow from another: a command that
// takes a param changes with it, and differs from cell to cell.
func causes(in []planner.Reason) []planner.Reason {
	if !slices.ContainsFunc(in, func(r planner.Reason) bool { return strings.HasPrefix(r.Field, "param.") }) {
		return in
	}
	return slices.DeleteFunc(slices.Clone(in), func(r planner.Reason) bool { return r.Field == "command" || r.Field == "setup" })
}

// cause is a reason without its useless parts: the hashes of an input's
// producers, and the unchanged words of a long text.
func cause(r planner.Reason) string {
	if _, file, ok := strings.Cut(r.Field, ":"); ok && strings.HasPrefix(r.Field, "input.") {
		switch {
		case r.Old == "":
			return "input file added: " + file
		case r.New == "":
			return "input file gone: " + file
		}
		return "input bytes changed: " + file
	}
	if r.Files != "" && (r.Field == "source" || strings.HasPrefix(r.Field, "input.")) {
		kind, _, _ := strings.Cut(r.Field, ".")
		return kind + " bytes changed: " + r.Files
	}
	if strings.HasPrefix(r.Field, "input.") && r.Old != "" && r.New != "" && !strings.HasPrefix(r.Old, "phase.") {
		return r.Field + " changed"
	}
	if r.Field == "image.bytes" {
		return "image bytes changed"
	}
	if text, ok := reworded(r); ok {
		return text
	}
	return r.Text()
}

// others is for a list that may have been cut after two more.
func others(n int) string {
	if n > 1 {
		return " and others"
	}
	return more(n)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

// Word is an action's symbol and word: "+ run".
func Word(k planner.Kind) string { return strings.TrimSpace(symbols[k]) }
