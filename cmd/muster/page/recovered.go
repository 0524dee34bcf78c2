package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Recovery is the JSON of `muster recover -json`: the backends' records of a campaign
// whose state is lost.
type Recovery struct {
	FormatVersion string            `json:"format_version"`
	Campaign      string            `json:"campaign"`
	Phases        []RecoveredPhase  `json:"phases"`
	Lineage       string            `json:"lineage,omitempty"` // of the lost state
	Complete      bool              `json:"complete"`          // every backend was asked for its records: no other job of the lost state runs
	Known         int               `json:"known"`             // jobs that backends keep records of
	Recorded      int               `json:"recorded"`          // of these, recorded
	Found         int               `json:"found"`             // other jobs whose outputs are all there
	Adopted       int               `json:"adopted"`           // of these, recorded
	Held          bool              `json:"held"`              // everything is held, since jobs of the lost state may run that it does not record
	Others        []OtherState      `json:"others,omitempty"`  // states of this campaign in other folders
	Busy          []string          `json:"busy,omitempty"`    // machines where jobs of this user run now, in words
	Writers       []string          `json:"writers"`           // campaigns and states that wrote to these folders, in words
	Unreachable   map[string]string `json:"unreachable,omitempty"`
	Unasked       map[string]string `json:"unasked,omitempty"` // backends that have no records of jobs to show, and why
	Unknown       []string          `json:"unknown"`           // facts that no backend can tell
}

// An OtherState is one of a campaign of the same name that wrote to the same workdirs.
type OtherState struct {
	Lineage string `json:"lineage"`
	Dir     string `json:"dir"`
	Host    string `json:"host"`
}

// Recalled counts the jobs of a phase, and their smokes, that backends keep records of.
type Recalled struct {
	Unfinished int `json:"unfinished"` // that wait or run
	Ended      int `json:"ended"`
}

// A RecoveredPhase counts the jobs found of a phase.
type RecoveredPhase struct {
	Phase     string `json:"phase"`
	Jobs      int    `json:"jobs"`
	Completed int    `json:"completed"` // as the state has it
	Found     int    `json:"found"`
	Young     int    `json:"young"` // all there, and changed in the last ten minutes: left alone
	Recalled
	Outputs bool `json:"outputs"` // false: it declares none, so that nothing shows that a job is done
}

// RecoveryOf lists what a plan that adopts all existing files would adopt. Young counts, by
// phase, jobs whose files changed lately, and known the jobs that backends keep records of;
// complete says that all backends showed theirs.
func RecoveryOf(name string, p *planner.Plan, seen observed.Refresh, pools []offer.Pool, young map[string]int, known map[string]Recalled, complete bool) Recovery {
	r := Recovery{FormatVersion: FormatVersion, Campaign: name, Phases: []RecoveredPhase{}, Writers: []string{}, Unreachable: seen.Unreachable, Complete: complete}
	bare := false
	for _, pp := range p.Phases {
		ph := RecoveredPhase{Phase: pp.Phase.Name, Jobs: len(pp.Kind), Young: young[pp.Phase.Name], Recalled: known[pp.Phase.Name], Outputs: len(pp.Phase.Outputs) > 0}
		for _, k := range pp.Kind {
			switch k {
			case planner.AdoptFiles:
				ph.Found++
			case planner.None:
				ph.Completed++
			}
		}
		bare = bare || !ph.Outputs
		r.Found += ph.Found
		delete(known, ph.Phase)
		r.Known += ph.Unfinished + ph.Ended
		r.Phases = append(r.Phases, ph)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) { // that have left the campaign
		ph := RecoveredPhase{Phase: name, Recalled: known[name], Outputs: true}
		r.Known += ph.Unfinished + ph.Ended
		r.Phases = append(r.Phases, ph)
	}
	for _, g := range seen.Ground {
		for _, words := range g.Campaigns {
			if !slices.Contains(r.Writers, words) {
				r.Writers = append(r.Writers, words)
			}
		}
	}
	slices.Sort(r.Writers)
	for _, p := range pools {
		if n := p.Total - p.Idle - p.Others; (p.Kind == offer.MachinePool || p.Kind == offer.HostPool) && p.Idle >= 0 && n > 0 {
			r.Busy = append(r.Busy, fmt.Sprintf("jobs of yours use %d of %d slots of backend.%s now", n, p.Total, providers.At(p.Backend, p.Name)))
		}
	}
	if !complete {
		r.Unknown = append(r.Unknown, "whether jobs that the lost state started still run or wait in a queue")
	}
	r.Unknown = append(r.Unknown, "with which command, source and inputs files without a record were made: they count as made by the campaign as it is now",
		"past approvals and holds, and spending, retries and times of jobs without a record: budgets count from nothing", "smokes that passed")
	if bare {
		r.Unknown = append(r.Unknown, "which jobs of phases without declared outputs are done")
	}
	return r
}

// found describes the backends' records of a phase.
func (p RecoveredPhase) found() string {
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	add(p.Completed, "%d recorded")
	add(p.Unfinished, "%d wait or run")
	add(p.Ended, "%d ended")
	if p.Jobs == 0 {
		return strings.Join(append(parts, "the campaign no longer has this phase"), "; ")
	}
	if known := p.Unfinished + p.Ended; !p.Outputs && known < p.Jobs {
		parts = append(parts, "no output is declared")
	} else if p.Found > 0 || known == 0 && p.Completed == 0 && p.Young == 0 {
		parts = append(parts, fmt.Sprintf("all outputs of %s exist", units.Count(p.Found, "job")))
	}
	if p.Young > 0 {
		parts = append(parts, fmt.Sprintf("outputs of %s changed in the last ten minutes and are left alone", units.Count(p.Young, "job")))
	}
	return strings.Join(parts, "; ")
}

// Text is the page before the question.
func (r Recovery) Text(width int) string {
	var b strings.Builder
	t := term.Table{Indent: "  ", Align: []term.Align{term.Left, term.Right}}
	for _, ph := range r.Phases {
		t.Row("phase."+ph.Phase, units.Count(ph.Jobs, "job"), ph.found())
	}
	b.WriteString("\nFound:\n\n" + t.String())
	for _, words := range r.Busy {
		b.WriteString(wrapped("  ", "  ", words, width))
	}
	for _, words := range r.Writers {
		b.WriteString(wrapped("  ", "  ", term.CleanLine(words)+" wrote to these folders", width))
	}
	for _, o := range r.Others {
		b.WriteString(wrapped("  ", "  ", term.CleanLine(fmt.Sprintf("if the lost state was in %s on %s, and no muster runs there: muster recover -lineage=%s", o.Dir, o.Host, o.Lineage)), width))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unreachable)) {
		b.WriteString(wrapped("  ", "  ", fmt.Sprintf("backend.%s cannot be asked: %s", name, term.CleanLine(r.Unreachable[name])), width))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Unasked)) {
		b.WriteString(wrapped("  ", "  ", fmt.Sprintf("no records of jobs from backend.%s: %s", name, term.CleanLine(r.Unasked[name])), width))
	}
	b.WriteString("\nNo backend knows:\n\n")
	for _, text := range r.Unknown {
		b.WriteString(wrapped("  - ", "    ", text, width))
	}
	b.WriteString("\n")
	return b.String()
}

// Question asks for approval.
func (r Recovery) Question() string {
	switch {
	case r.Complete:
		return fmt.Sprintf("Record %s of the lost state, and adopt the outputs of %s?", units.Count(r.Known, "job"), units.Count(r.Found, "job"))
	case r.Known > 0:
		return fmt.Sprintf("Record %s of the lost state, adopt the outputs of %s, and hold everything else?", units.Count(r.Known, "job"), units.Count(r.Found, "job"))
	}
	return fmt.Sprintf("Adopt the outputs of %s, and hold everything else?", units.Count(r.Found, "job"))
}

// Ending is the last paragraph: the recorded and adopted jobs, and the next step.
func (r Recovery) Ending(width int) string {
	jobs := 0
	for _, ph := range r.Phases {
		jobs += ph.Jobs - ph.Completed
	}
	text := fmt.Sprintf("Adopted %d of %s", r.Adopted, units.Count(jobs, "job"))
	if r.Recorded > 0 {
		text = fmt.Sprintf("Recorded %s that backends know, and adopted %d of %d", units.Count(r.Recorded, "job"), r.Adopted, jobs)
	}
	switch {
	case !r.Held:
		return wrapped("", "", text+". Nothing else of the lost state runs.", width) + `
To see what became of the recorded jobs, and what remains to be run:

    muster plan
`
	case r.Recorded < r.Known:
		text += fmt.Sprintf(". The campaign no longer has %s that may run", units.Count(r.Known-r.Recorded, "job"))
	}
	text = wrapped("", "", text+", so everything is held: jobs of the lost state may still run.", width) + `
Look for them where they ran (squeue, qstat, muster backends).`
	if r.Recorded == 0 {
		text += ` While some run, wait, and type
muster recover again: it adopts their outputs.`
	}
	return text + ` When none runs:

    muster resume
    muster plan
`
}
