package planner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers/offer"
)

// A Risk is one thing that could go wrong when the plan is applied. Its texts put commands to
// copy in backticks.
type Risk struct {
	Kind string   `json:"kind"`         // "failures"
	Of   string   `json:"of,omitempty"` // its subject: a budget, a backend, a block
	Text string   `json:"text"`
	More string   `json:"more,omitempty"` // the rest of a diagnostic after its first line
	Rows []string `json:"rows,omitempty"` // its parts, each by itself
	// Damage is its expected damage: the share of the plan's jobs that it would stop, lose or
	// repeat, times its probability.
	Damage float64 `json:"expected_damage"`
	InHead bool    `json:"-"` // the lines about backends at the head of a plan say it, too
}

// filesInTheWay is the summary of the warning of files at the output paths of jobs
// that start. The risk of moving them aside has its text.
const filesInTheWay = "Files exist that their jobs did not make"

// How likely muster takes risks without any measurement.
const (
	likely   = 0.5
	doubtful = 0.2 // a figure that is guessed
	failing  = 0.1 // a launch of a program that never ran
	remote   = 0.05
	fewRuns  = 10 // launches by which failures can be judged
	riskRows = 5  // of one risk
)

// Risks are the plan's risks, the greatest expected damage first.
func (p *Plan) Risks() []Risk {
	if p.risks != nil {
		return *p.risks
	}
	r := risks{p: p}
	for _, pp := range p.Phases {
		for _, k := range pp.Kind {
			if k.Starts() {
				r.starts++
			}
		}
	}
	r.diagnostics(diag.Error, 1)
	r.budgets()
	r.losses()
	if p.Counts.Changes() {
		r.unplaced()
		if !p.Destroy && !p.RefreshOnly {
			r.smokes()
			r.unattended()
			r.failures()
			r.transfers()
			r.estimates()
		}
	}
	for _, text := range p.Dangers {
		r.add(Risk{Kind: "date", Text: text, Damage: likely})
	}
	r.backends()
	r.waiting()
	r.diagnostics(diag.Warning, failing)
	slices.SortStableFunc(r.list, func(a, b Risk) int { return cmp.Compare(b.Damage, a.Damage) })
	return r.list
}

// WithRisks gives a plan that was read from a file its saved risks.
func (p *Plan) WithRisks(list []Risk) { p.risks = &list }

// risks are gathered.
type risks struct {
	p      *Plan
	starts int
	list   []Risk
	shown  string // the diagnostic that a risk above says, by its summary
}

func (r *risks) add(risk Risk) {
	risk.Damage = math.Round(1000*min(risk.Damage, 1)) / 1000
	r.list = append(r.list, risk)
}

// share is the share of so many jobs in those that the plan starts.
func (r *risks) share(jobs int) float64 { return min(float64(jobs)/float64(max(r.starts, 1)), 1) }

// diagnostics turns diagnostics into risks; those of budgets are with the budgets.
func (r *risks) diagnostics(severity diag.Severity, damage float64) {
	for _, d := range r.p.Diags.Alike() {
		of := cmp.Or(d.In, d.Address)
		if len(d.Also) > 0 {
			of += fmt.Sprintf(" and %d more", len(d.Also))
		}
		if d.Severity == severity && (r.shown == "" || d.Summary != r.shown) && (severity == diag.Error || !strings.HasPrefix(d.In, "budget ")) {
			r.add(Risk{Kind: severity.String(), Of: of, Text: diag.Lower(d.Summary), More: d.Detail, Damage: damage})
		}
	}
}

func (r *risks) budgets() {
	for _, c := range r.p.Budgets {
		for _, text := range c.Broken {
			r.add(Risk{Kind: "budget", Of: c.Name, Text: text, Damage: 1})
		}
		for _, text := range c.Warn {
			r.add(Risk{Kind: "budget", Of: c.Name, Text: text, Damage: max(failing*r.share(c.Left), remote)})
		}
	}
}

// losses are finished and running work that the plan ends or replaces, and files
// of others that it moves aside.
func (r *risks) losses() {
	var results, submitted, foreign, machines []Destruction
	for _, row := range r.p.Destructive() {
		switch {
		case row.movesAside():
			foreign = append(foreign, row)
		case row.Release:
			machines = append(machines, row)
		case row.Result || row.Kind == Rerun:
			results = append(results, row)
		default:
			submitted = append(submitted, row)
		}
	}
	r.loss(results, "the results of %s are replaced", "job")
	r.loss(submitted, "the submitted work of %s is cancelled", "job")
	r.loss(machines, "%s given back, and the disk is deleted with all that is not here", "machine")
	r.loss(foreign, "files at the output paths of %s, which muster did not make, are moved aside", "job")
	for _, d := range r.p.Diags {
		if last := len(r.list) - 1; len(foreign) > 0 && d.Summary == filesInTheWay {
			r.list[last].More, r.shown = d.Detail, d.Summary
		}
	}
}

func (r *risks) loss(rows []Destruction, text, noun string) {
	if len(rows) == 0 {
		return
	}
	type key struct {
		what, phase string
	}
	var order []key
	of := map[key][]string{}
	for _, row := range rows {
		phase, _, _ := strings.Cut(row.Address, "[")
		k := key{row.word(), phase}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], row.Address)
	}
	many := units.Count(len(rows), noun)
	if noun == "machine" {
		many += map[bool]string{true: " is", false: " are"}[len(rows) == 1]
	}
	risk := Risk{Kind: "loss", Text: fmt.Sprintf(text, many), Damage: float64(len(rows)) / float64(len(rows)+r.starts)}
	for i, k := range order {
		if i == riskRows {
			risk.Rows = append(risk.Rows, fmt.Sprintf("… and %d more", len(order)-i))
			break
		}
		names := of[k]
		text := "`" + strings.Join(names, "`, `") + "`"
		if len(names) > 3 {
			text = fmt.Sprintf("%s of `%s`, the first `%s`", amount.Jobs(len(names)), k.phase, names[0])
		}
		risk.Rows = append(risk.Rows, k.what+" "+text)
	}
	r.add(risk)
}

// movesAside reports whether a row replaces only files that muster did not make.
func (d Destruction) movesAside() bool { return len(d.Foreign) > 0 && !d.Kind.Destroys() }

// word says what a row does.
func (d Destruction) word() string {
	switch {
	case d.Release:
		return "release"
	case d.movesAside():
		return "move aside files of others at"
	case d.Kind == Restart:
		return "cancel and re-run"
	case d.Kind == Rerun:
		return "re-run"
	}
	return d.Kind.String()
}

func (r *risks) unplaced() {
	if n := r.p.Forecast.LeftOut; n > 0 {
		r.add(Risk{Kind: "no place", Text: amount.Jobs(n) + " cannot run anywhere as it is, so no sum and no end is known", Damage: r.share(n)})
	}
}

// smokes hold their phase when they fail, and nothing repeats one.
func (r *risks) smokes() {
	for _, pp := range r.p.Phases {
		if pp.Smoke == nil || pp.Hold != "" || len(pp.Smoke.Run) == 0 {
			continue
		}
		n, behind := len(pp.Smoke.Launches()), r.behind(pp.Phase.Name)
		what := fmt.Sprintf("one of the %d smokes of `%s` fails or is preempted", n, pp.Phase.Name)
		if n == 1 {
			what = fmt.Sprintf("the smoke of `%s` fails or is preempted", pp.Phase.Name)
		}
		r.add(Risk{Kind: "smoke", Of: "phase." + pp.Phase.Name, Text: fmt.Sprintf("if %s, nothing repeats it: %s for `muster resume %s`", what, waits(behind), pp.Phase.Name),
			Damage: (1 - math.Pow(1-failing, float64(n))) * r.share(behind)})
	}
}

// behind counts the jobs that start of a phase, and of those that come after it.
func (r *risks) behind(phase string) (n int) {
	after := map[string]bool{phase: true}
	for _, pp := range r.p.Phases { // in campaign order
		name := pp.Phase.Name
		for _, in := range pp.Phase.Inputs {
			after[name] = after[name] || after[in.From.Name]
		}
		for _, d := range pp.Phase.DependsOn {
			after[name] = after[name] || after[d]
		}
		if after[name] {
			n += started(pp)
		}
	}
	return n
}

// unattended is the risk of jobs that wait while muster is closed.
func (r *risks) unattended() {
	jobs, smokes := 0, 0
	for _, pp := range r.p.Phases {
		if !slices.Contains(r.p.Unattended, pp.Phase.Name) {
			continue
		}
		jobs += started(pp)
		if pp.Smoke != nil {
			smokes += len(pp.Smoke.Launches())
		}
	}
	if jobs == 0 {
		return
	}
	verb, start, after := "wait", "they start", ""
	if jobs == 1 {
		verb, start = "waits", "it starts"
	}
	if smokes > 0 {
		after = " after " + units.Count(smokes, "smoke")
	}
	r.add(Risk{Kind: "muster off", Text: fmt.Sprintf("%s of %s %s for muster%s: if it is closed, %s with your next `muster apply -once`", amount.Jobs(jobs), phaseNames(r.p.Unattended), verb, after, start),
		Damage: likely * r.share(jobs)})
}

// failures are the launches that fail beside those that p90 counts.
func (r *risks) failures() {
	var fresh []string
	jobs, most := 0, 1
	for _, pp := range r.p.Phases {
		n := started(pp)
		if n == 0 {
			continue
		}
		launches, failed, by := ended(pp)
		switch {
		case launches == 0:
			fresh, jobs = append(fresh, pp.Phase.Name), jobs+n
			most = max(most, pp.Phase.Retry.Launches())
		case failed > 0:
			r.add(Risk{Kind: "failed so far", Of: "phase." + pp.Phase.Name, Text: fmt.Sprintf("%s of %s failed so far (%s)", units.FormatCount(int64(failed)), launched(launches), mostOf(by)),
				Damage: float64(failed) / float64(launches) * r.share(n)})
		case launches < fewRuns:
			r.add(Risk{Kind: "failures", Of: "phase." + pp.Phase.Name, Text: fmt.Sprintf("p90 counts no failures, since none of %s failed; %s to come", launched(launches), amount.Jobs(n)),
				Damage: r.share(n) / float64(launches+2)})
		}
	}
	if jobs == 0 {
		return
	}
	text := fmt.Sprintf("no job of %s has ever run (%s): p90 counts one attempt of each", phaseNames(fresh), amount.Jobs(jobs))
	if most > 1 {
		text += fmt.Sprintf("; `retry` allows up to %d", most)
	}
	if line := r.p.costliest(); line.Unit != "" && line.AtMost.Mark != forecast.Unknown {
		text += fmt.Sprintf("; at most the plan takes %s", amount.Words(line.Unit, line.AtMost.Text))
	}
	r.add(Risk{Kind: "failures", Text: text, Damage: failing * r.share(jobs)})
}

// costliest is the line of the unit that matters most to a reader and is not
// zero.
func (p *Plan) costliest() forecast.CostLine {
	for _, l := range p.Forecast.Lines {
		if amount.Of(l.AtMost.Text).IsPositive() {
			return l
		}
	}
	return forecast.CostLine{}
}

// transfers whose size or speed nobody has seen.
func (r *risks) transfers() {
	files, after, readers := 0, []string{}, map[string]bool{}
	for _, t := range r.p.Transfers {
		if t.Bytes >= 0 && (t.Cost == nil || !t.Cost.Guessed) {
			continue
		}
		files, readers[t.Phase] = files+t.Files, true
		if t.After != "" && !slices.Contains(after, t.After) {
			after = append(after, t.After)
		}
	}
	jobs := 0
	for _, pp := range r.p.Phases {
		if readers[pp.Phase.Name] {
			jobs += started(pp)
		}
	}
	if files > 0 {
		known := ""
		if len(after) > 0 {
			known = " is known after " + phaseNames(after)
		} else {
			known = " is not known"
		}
		r.add(Risk{Kind: "transfers", Text: fmt.Sprintf("the size of %s that move between backends%s; their time and cost are estimates", units.Count(files, "file"), known), Damage: doubtful * r.share(jobs)})
	}
	for _, text := range r.p.Forecast.Basis {
		if strings.Contains(text, transfers.Assumed) {
			r.add(Risk{Kind: "transfers", Text: text, Damage: doubtful * doubtful})
		}
	}
}

// estimates are the assumptions under the figures that may be off.
func (r *risks) estimates() {
	if slices.Contains(r.p.Forecast.Basis, forecast.NoHistory) {
		r.add(Risk{Kind: "no history", Text: "some jobs have never run: their times and costs come from the requested walltimes, not from measurements", Damage: doubtful * failing})
	}
	for _, text := range r.p.Forecast.Basis {
		if strings.Contains(text, "not comparable: ") {
			r.add(Risk{Kind: "other work", Text: text, Damage: doubtful})
		}
	}
	for _, l := range r.p.Forecast.Lines {
		if r.p.Forecast.LeftOut == 0 && l.AtMost.Mark == forecast.Unknown {
			r.add(Risk{Kind: "no upper bound", Text: "the most that the plan may take in " + amount.Unit(l.Unit) + " is unknown: " + r.unbounded(l.Unit), Damage: doubtful})
		}
	}
}

// unbounded says what is missing for an upper bound in a unit.
func (r *risks) unbounded(unit string) string {
	var names []string
	for _, pp := range r.p.Phases {
		if slices.ContainsFunc(pp.Placements, func(d place.Decision) bool { return d.Backend != "" && d.Shape.Walltime == 0 }) && started(pp) > 0 {
			names = append(names, pp.Phase.Name)
		}
	}
	switch priced := unit == place.USD || unit == place.ServiceUnits; {
	case len(names) == 0:
		return "a price is missing"
	case priced:
		return "a price is missing, or the walltime of jobs of " + phaseNames(names)
	}
	return "no walltime is stated for jobs of " + phaseNames(names)
}

func (r *risks) backends() {
	away := map[string]int{}
	for _, pp := range r.p.Phases {
		for i := range pp.Kind {
			if d := pp.Decision(i); d.Away != "" {
				away[d.Backend]++
			}
		}
	}
	for _, v := range r.p.Backends {
		if v.Problem != "" {
			r.add(Risk{Kind: "backend", Of: v.Name, Text: "cannot be asked: " + v.Problem, InHead: true, Damage: max(likely*r.share(away[v.Name]), doubtful)})
		}
	}
	for _, v := range r.p.Backends {
		if v.Fallback != "" {
			r.add(Risk{Kind: "backend", Of: v.Name, Text: r.p.Fallback(v), Damage: remote})
		}
	}
}

// Fallback says why a backend's jobs go there, without the reason that is said of
// the backend they would have gone to.
func (p *Plan) Fallback(v BackendView) string {
	text := v.Fallback
	for _, other := range p.Backends {
		if other.Problem != "" {
			text = strings.ReplaceAll(text, " ("+other.Problem+")", "")
		}
	}
	return text
}

// waiting are jobs that the plan leaves as they are although they are not done.
func (r *risks) waiting() {
	c, awaiting := r.p.Counts, 0
	for _, pp := range r.p.Phases {
		for i := range pp.Kind {
			if pp.Away(i) != "" {
				awaiting++
			}
		}
	}
	of := func(n int) float64 { return float64(n) / float64(max(n+r.starts, 1)) }
	add := func(n int, risk Risk) {
		if n > 0 {
			risk.Damage *= of(n)
			r.add(risk)
		}
	}
	if n := c.Held - awaiting; n > 0 && !r.p.RefreshOnly && !r.p.Destroy {
		add(n, Risk{Kind: "held", Text: fmt.Sprintf("%s %s held: `muster explain ADDR` says why. Change that, then `muster resume` releases the held jobs.", amount.Jobs(n), isOrAre(n)), Rows: r.p.heldBy(), Damage: 1})
	}
	add(c.Blocked, Risk{Kind: "blocked", Text: fmt.Sprintf("%s %s blocked by jobs that are held, or whose outputs changed", amount.Jobs(c.Blocked), isOrAre(c.Blocked)), Damage: 1})
	add(c.Unknown, Risk{Kind: "unknown", Text: amount.Jobs(c.Unknown) + " cannot be asked about, and count as running at their ceiling", Damage: likely})
	add(c.Missing, Risk{Kind: "missing", Text: amount.Jobs(c.Missing) + wording(c.Missing, " lacks files that it once made", " lack files that they once made"), Damage: doubtful})
	if altered := r.p.Of(Altered); len(altered) > 0 {
		add(len(altered), Risk{Kind: "changed outputs", Text: AlteredWays(altered), Damage: likely})
	}
}

// AlteredWays names the remedies for outputs that hold other bytes than their jobs made.
func AlteredWays(jobs []string) string {
	of, each := shell.Enclose(jobs[0]), ""
	if len(jobs) > 1 {
		of, each = "ADDR", fmt.Sprintf(" ADDR is a job, such as %s, or a selection of jobs.", of)
	}
	return fmt.Sprintf("The outputs of %s changed after they were recorded (≠ output changed); jobs that read them do not start. Put the recorded files back; "+
		"or keep the new ones: muster apply -accept=%s; or make them again: muster apply -rerun=%[2]s.%[3]s", amount.Jobs(len(jobs)), of, each)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// heldBy says why jobs wait for a person, phase by phase.
func (p *Plan) heldBy() (rows []string) {
	type cause struct{ phase, why string }
	var order []cause
	n := map[cause]int{}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			if k != HeldKind || pp.Away(i) != "" {
				continue
			}
			why, _, _ := strings.Cut(pp.Detail(i).Text, "\n") // its own: some were held before their phase was
			c := cause{pp.Phase.Name, cmp.Or(why, pp.Hold)}
			if n[c]++; n[c] == 1 {
				order = append(order, c)
			}
		}
	}
	for i, c := range order {
		if i == riskRows {
			return append(rows, "… and "+units.Count(len(order)-i, "more reason"))
		}
		rows = append(rows, fmt.Sprintf("%s of `%s`: %s", units.FormatCount(int64(n[c])), c.phase, c.why))
	}
	return rows
}

// started counts the jobs of a phase that start.
func started(pp *PhasePlan) (n int) {
	for _, k := range pp.Kind {
		if k.Starts() {
			n++
		}
	}
	return n
}

// ended counts the launches of a phase that ended, and those that failed by class.
func ended(pp *PhasePlan) (launches, failed int, by map[string]int) {
	by = map[string]int{}
	for _, job := range pp.Records {
		if job == nil || job.Adopted() {
			continue
		}
		for i := range job.Attempts {
			if at := &job.Attempts[i]; !at.Ended.IsZero() && at.Class != offer.Blocked {
				if launches++; at.Class != "" && !history.GoesOn(pp.Phase, job, i) {
					failed++
					by[at.Class]++
				}
			}
		}
	}
	return launches, failed, by
}

// mostOf is "8 × oom_gpu, 4 × walltime": the most frequent first.
func mostOf(by map[string]int) string {
	classes := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var out []string
	for i, c := range classes {
		if i == 3 {
			out = append(out, "…")
			break
		}
		out = append(out, fmt.Sprintf("%s × %s", units.FormatCount(int64(by[c])), c))
	}
	return strings.Join(out, ", ")
}

// waits is "1 job waits" or "24 jobs wait".
func waits(n int) string {
	if n == 1 {
		return "1 job waits"
	}
	return amount.Jobs(n) + " wait"
}

// launched is "1 launch" or "24 launches".
func launched(n int) string {
	if n == 1 {
		return "1 launch"
	}
	return units.FormatCount(int64(n)) + " launches"
}

// phaseNames is "`a`, `b` and 2 more".
func phaseNames(names []string) string {
	const shown = 3
	var out []string
	for i, name := range names {
		if i == shown {
			return strings.Join(out, ", ") + " and " + units.Count(len(names)-i, "more phase")
		}
		out = append(out, "`"+name+"`")
	}
	if len(out) < 2 {
		return strings.Join(out, "")
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}
