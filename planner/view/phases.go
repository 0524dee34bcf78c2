package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

// Symbols stand beside the word of an action, never for it.
var symbols = map[planner.Kind]string{
	planner.Run: "+ run", planner.Rerun: "± re-run", planner.Restart: "± cancel and re-run", planner.Retry: "↻ retry",
	planner.Resubmit: "~ resubmit", planner.Continue: "… continue", planner.Adopt: "+ adopt", planner.Move: "→ moved",
	planner.Accept: "≈ accept", planner.HeldKind: "! held", planner.Blocked: "⊘ blocked", planner.UnknownAt: "? unknown",
	planner.Missing: "? missing", planner.Bytes: "≠ input bytes changed", planner.Duplicate: "! duplicate",
	planner.Cancel: "- cancel", planner.Forget: "- forget", planner.Record: "… record", planner.None: "  unchanged", planner.Skipped: "  not selected",
}

// What the table may take of the screen; the rest is counted, and shown by
// -verbose.
const (
	linesPerPhase = 8  // of kinds of change in one phase
	tableLines    = 40 // in all; a campaign of more gets one line a phase
	briefPhases   = 30 // of those
)

// A line of the phase table: label, amount, shape and remark.
type line struct {
	label, amount, shape, note string
	phase                      bool
}

// phases is the table of what each phase does, producers first.
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

// brief is one line a phase, those that change something first.
func brief(p *planner.Plan) []line {
	var lines []line
	same, jobsSame, hidden, jobsHidden := 0, 0, 0, 0
	for _, pp := range p.Phases {
		text := kinds(pp)
		switch {
		case text == "":
			same++
			jobsSame += len(pp.Kind)
		case len(lines) == briefPhases:
			hidden++
			jobsHidden += len(pp.Kind)
		default:
			lines = append(lines, line{label: "phase." + pp.Phase.Name, amount: plural(len(pp.Kind), "job"), shape: text, note: where(pp), phase: true})
		}
	}
	if hidden > 0 {
		lines = append(lines, line{label: "… " + plural(hidden, "more phase"), amount: plural(jobsHidden, "job"), shape: "-verbose shows every one", phase: true})
	}
	if n := len(p.Transfers); n > 0 {
		files := 0
		for _, t := range p.Transfers {
			files += t.Files
		}
		lines = append(lines, line{label: "⇡⇣ transfers", amount: plural(files, "file"), shape: plural(n, "input") + " that move between backends", phase: true})
	}
	if same > 0 {
		lines = append(lines, line{label: plural(same, "phase") + " more", amount: plural(jobsSame, "job"), shape: "unchanged", phase: true})
	}
	return lines
}

// kinds is "+ run 24, ! held 1": what a phase does in one line, "" for
// nothing.
func kinds(pp *planner.PhasePlan) string {
	var n [256]int
	for _, k := range pp.Kind {
		n[k]++
	}
	var parts []string
	if g := pp.Smoke; g != nil && len(g.Run) > 0 {
		parts = append(parts, "+ smoke "+count(len(g.Run)))
	}
	for k := range n {
		if kind := planner.Kind(k); n[k] > 0 && kind != planner.None && kind != planner.Skipped {
			parts = append(parts, Word(kind)+" "+count(n[k]))
		}
	}
	if pp.Hold != "" {
		parts = append(parts, "! held: "+term.CleanLine(pp.Hold))
	}
	return strings.Join(parts, ", ")
}

func (h Human) phaseLines(pp *planner.PhasePlan) []line {
	head := line{label: "phase." + pp.Phase.Name, amount: plural(len(pp.Kind), "job"), phase: true}
	groups := group(pp)
	if len(groups) == 1 && groups[0].kind == planner.None && pp.Hold == "" {
		head.shape = "unchanged"
		return []line{head}
	}
	head.shape = where(pp)
	if pp.Hold != "" {
		head.note = "! held: " + term.CleanLine(pp.Hold)
	}
	lines := append([]line{head}, gateLines(pp)...)
	for i, g := range groups {
		if i == linesPerPhase && !h.Verbose && len(groups) > linesPerPhase+1 {
			lines = append(lines, line{label: "…", shape: fmt.Sprintf("%d more kinds of change; -verbose shows every job", len(groups)-i)})
			break
		}
		lines = append(lines, groupLine(pp, g))
	}
	return lines
}

// where names the backends and pools the phase's jobs go to.
func where(pp *planner.PhasePlan) string {
	var out []string
	for _, d := range pp.Placements {
		if d.Backend == "" {
			continue
		}
		s := d.Backend
		if d.Pool != "" {
			s += ", " + poolWord(d) + d.Pool
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) > 3 {
		out = append(out[:3], fmt.Sprintf("%d more", len(out)-3))
	}
	return strings.Join(out, "; ")
}

func poolWord(d place.Decision) string {
	if d.Word == "" {
		return ""
	}
	return d.Word + " "
}

func gateLines(pp *planner.PhasePlan) []line {
	var lines []line
	if g := pp.Smoke; g != nil {
		switch {
		case len(g.Run) > 0:
			l := line{label: "  + smoke", amount: amount(len(g.Run), g.Place), shape: shape(g.Place)}
			if g.Place.Pool != "" {
				l.note = "on " + g.Place.Pool
			}
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
		lines = append(lines, line{label: "  + pilot", amount: amount(len(pp.Pilot), d), shape: shape(d), note: note})
	}
	return lines
}

// A cluster is cells of one phase that the plan treats alike, for one reason.
type cluster struct {
	kind  planner.Kind
	place uint16
	text  string
	cells int
	first int
}

// group clusters the cells of a phase; pilots have a line of their own. Large
// plans keep the details of the first cells only: the others are counted with
// those of their kind where these agree.
func group(pp *planner.PhasePlan) []cluster {
	pilot := map[int]bool{}
	for _, i := range pp.Pilot {
		pilot[i] = true
	}
	g := grouper{index: map[groupKey]int{}, kept: map[groupKey]int{}}
	plain := map[groupKey]cluster{} // without a kept detail
	for i, kind := range pp.Kind {
		if pilot[i] {
			continue
		}
		k := groupKey{kind: kind}
		if i < len(pp.Place) && kind.Starts() {
			k.place = pp.Place[i]
		}
		d, ok := pp.Details[i]
		if !ok {
			c, seen := plain[k]
			if !seen {
				c = cluster{kind: kind, place: k.place, first: i}
			}
			c.cells++
			plain[k] = c
			continue
		}
		bare := k
		if k.text = reason(d); g.add(k, i) {
			g.kept[bare]++
		}
	}
	for k, c := range plain {
		g.merge(k, c)
	}
	slices.SortFunc(g.out, func(a, b cluster) int {
		return cmp.Or(cmp.Compare(rank(a.kind), rank(b.kind)), cmp.Compare(a.kind, b.kind), cmp.Compare(b.cells, a.cells), cmp.Compare(a.first, b.first))
	})
	return g.out
}

type groupKey struct {
	kind  planner.Kind
	place uint16
	text  string
}

type grouper struct {
	index map[groupKey]int // into out
	kept  map[groupKey]int // different texts by kind and place
	out   []cluster
}

// add counts a cell in and reports whether it opened a cluster.
func (g *grouper) add(k groupKey, cell int) bool {
	at, ok := g.index[k]
	if !ok {
		at = len(g.out)
		g.index[k] = at
		g.out = append(g.out, cluster{k.kind, k.place, k.text, 0, cell})
	}
	g.out[at].cells++
	return !ok
}

// merge adds cells whose reasons are not kept.
func (g *grouper) merge(k groupKey, c cluster) {
	if g.kept[k] == 1 {
		for i := range g.out {
			if o := &g.out[i]; o.kind == k.kind && o.place == k.place {
				o.cells += c.cells
				return
			}
		}
	}
	if g.kept[k] > 1 {
		c.text = "for various reasons: see explain"
	}
	g.out = append(g.out, c)
}

// rank puts what needs a decision first and what stays as it is last.
func rank(k planner.Kind) int {
	switch k {
	case planner.Restart, planner.Rerun, planner.Duplicate:
		return 0
	case planner.HeldKind, planner.UnknownAt, planner.Missing, planner.Bytes:
		return 1
	case planner.None, planner.Skipped:
		return 9
	}
	return 2
}

func groupLine(pp *planner.PhasePlan, g cluster) line {
	l := line{label: "  " + symbols[g.kind], note: g.text}
	if !g.kind.Starts() {
		l.amount = count(g.cells)
		if g.cells == 1 && g.kind != planner.None && pp.Phase.Key(g.first) != "" {
			l.shape = term.CleanLine(pp.Phase.Label(g.first))
		}
		return l
	}
	d := pp.Decision(g.first)
	l.amount, l.shape = amount(g.cells, d), shape(d)
	if l.note == "" {
		l.note = after(pp)
	}
	return l
}

// after says what each job of a phase waits for.
func after(pp *planner.PhasePlan) string {
	for _, in := range pp.Phase.Inputs {
		if in.All || in.From.Len() <= 1 {
			continue
		}
		shared := sharedAxes(pp.Phase.Grid, in.From.Grid)
		if len(shared) == 0 {
			continue
		}
		return fmt.Sprintf("each after its %s (same %s)", singular(in.From.Name), strings.Join(shared, ", "))
	}
	return ""
}

// sharedAxes names the axes that two grids have in common.
func sharedAxes(a, b *grid.Grid) []string {
	return slices.DeleteFunc(a.AxisNames(), func(name string) bool { return b.AxisIndex(name) < 0 })
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
		return count(n) + " ×"
	}
	return fmt.Sprintf("%s × ≤%s", count(n), units.ShortDuration(d.Shape.Walltime))
}

// shape is "1×A100": the devices of one job, where it asks for any.
func shape(d place.Decision) string {
	if d.Shape.GPUs == 0 {
		return ""
	}
	model := "GPU"
	if d.GPUClass != "" {
		model = d.GPUClass
	}
	s := fmt.Sprintf("%d×%s", d.Shape.GPUs, model)
	if d.Segments > 1 {
		s += fmt.Sprintf(", %d segments", d.Segments)
	}
	return s
}

// reason is why a job is treated so, in one line.
func reason(d planner.Detail) string {
	var parts []string
	for i, r := range d.Reasons {
		if i == 2 {
			parts = append(parts, fmt.Sprintf("%d more", len(d.Reasons)-i))
			break
		}
		parts = append(parts, r.Text())
	}
	if d.From != "" {
		parts = append(parts, "from "+d.From)
	}
	if d.Text != "" {
		parts = append(parts, firstLine(d.Text))
	}
	if len(d.Waits) > 0 {
		parts = append(parts, "waits for "+d.Waits[0]+more(len(d.Waits)-1))
	}
	return term.CleanLine(strings.Join(parts, "; "))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

func transferLine(t planner.Transfer) line {
	label := "⇣ pull"
	if t.Push {
		label = "⇡ push"
	}
	size := "size known after " + t.After
	if t.Bytes >= 0 {
		size = units.FormatSize(t.Bytes)
	}
	files := "files"
	if t.Files == 1 {
		files = "file"
	}
	return line{label: label, amount: fmt.Sprintf("%s %s", count(t.Files), files), shape: fmt.Sprintf("%s → %s, %s", t.From, t.To, size)}
}

// layout lines the table up: amounts stand so that the digits of counts end
// in one column, below the first letter of a phase's own amount.
func (h Human) layout(lines []line) string {
	for i := range lines {
		lines[i] = h.shown(lines[i])
	}
	label, digits, amounts, shapes := 0, 0, 0, 0
	for _, l := range lines {
		label = max(label, term.Width(l.label))
		if !l.phase {
			digits = max(digits, digitWidth(l.amount))
		}
	}
	at := label + 3
	for i := range lines {
		l := &lines[i]
		if !l.phase && l.amount != "" {
			l.amount = strings.Repeat(" ", max(0, 1-digitWidth(l.amount))) + l.amount
		}
		amounts = max(amounts, term.Width(l.amount)-overhang(*l))
		if !l.phase && l.note != "" {
			shapes = max(shapes, term.Width(l.shape))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		s := l.label + strings.Repeat(" ", max(1, at-overhang(l)-term.Width(l.label))) + l.amount
		s += strings.Repeat(" ", max(2, at+amounts+2-term.Width(s))) + l.shape
		if l.note != "" {
			if l.phase {
				s += "   " + l.note
			} else {
				s += strings.Repeat(" ", max(0, at+amounts+2+shapes-term.Width(s)))
				if shapes > 0 {
					s += "   "
				}
				s += l.note
			}
		}
		b.WriteString(h.fit("  " + s))
	}
	return b.String()
}

// shown is a line in the symbols of the terminal, so that what is lined up is
// what is seen, and without control characters.
func (h Human) shown(l line) line {
	for _, s := range []*string{&l.label, &l.amount, &l.shape, &l.note} {
		*s = h.Style.Text(term.CleanLine(*s))
	}
	return l
}

// fit cuts a line to the screen.
func (h Human) fit(s string) string {
	s, width := h.Style.Text(s), term.MaxWidth
	if !h.Style.UTF8 && term.Width(s) > width {
		width -= 2 // the ellipsis takes three columns
	}
	return strings.TrimRight(h.Style.Text(term.Fit(s, width)), " ") + "\n"
}

// overhang is how far an amount stands to the left of its column, so that the
// last digit of its count is in it.
func overhang(l line) int {
	if l.phase {
		return 0
	}
	return max(0, digitWidth(l.amount)-1)
}

func digitWidth(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == ',') {
		n++
	}
	return n
}

// Word is an action's symbol and word: "+ run".
func Word(k planner.Kind) string { return strings.TrimSpace(symbols[k]) }
