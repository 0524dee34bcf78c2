package page

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/state"
)

// A CodeOfPlan identifies the code and the environment of an approved plan's jobs.
type CodeOfPlan struct {
	Plan   string    `json:"plan"`
	Who    string    `json:"who"`
	Host   string    `json:"host,omitempty"`
	Muster string    `json:"muster,omitempty"`
	Begun  time.Time `json:"begun"`
	state.Revision
	Programs map[string]state.Program `json:"programs,omitempty"` // by phase
}

// runsOf are the plans of the launches of these jobs, oldest first.
func runsOf(st *state.State, jobs []jobReport) []CodeOfPlan {
	of := map[string]bool{}
	for _, j := range jobs {
		of[j.Plan] = true
	}
	out := []CodeOfPlan{}
	for _, a := range st.Approvals {
		if of[a.Plan] {
			out = append(out, CodeOfPlan{Plan: a.Plan, Who: a.Who, Host: a.Host, Muster: a.Muster, Begun: a.Begun, Revision: a.Revision, Programs: a.Programs})
		}
	}
	return out
}

// ranRows say what the jobs of each phase ran, of all that the report has.
func (r Report) ranRows() [][]string {
	rows := [][]string{{"phase", "jobs", "commit", "source", "image", "packages", "nodes"}}
	type programs struct{ phase, commit, source, images, locks string }
	jobs, nodes := map[programs]int{}, map[programs]map[string]bool{}
	var order []programs
	for _, j := range r.Jobs {
		i := slices.IndexFunc(r.Runs, func(run CodeOfPlan) bool { return run.Plan == j.Plan })
		if j.Plan == "" || i < 0 {
			continue
		}
		p := r.Runs[i].Programs[j.Phase]
		at := p.Revision
		if p.Source == "" {
			at = r.Runs[i].Revision
		}
		g := programs{j.Phase, revisionText(at), dash(change.Short(p.Source)), dash(shortAll(p.Images)), dash(strings.Join(slices.Sorted(maps.Keys(p.Locks)), ", "))}
		if jobs[g]++; jobs[g] == 1 {
			order, nodes[g] = append(order, g), map[string]bool{}
		}
		switch {
		case j.Driver != "":
			nodes[g][j.Node+" (driver "+j.Driver+")"] = true
		case j.Node != "":
			nodes[g][j.Node] = true
		}
	}
	for _, g := range order {
		rows = append(rows, []string{g.phase, strconv.Itoa(jobs[g]), g.commit, g.source, g.images, g.locks, dash(someOf(slices.Sorted(maps.Keys(nodes[g]))))})
	}
	return rows
}

func revisionText(r state.Revision) string {
	switch {
	case r.Commit == "":
		return "–"
	case r.Dirty:
		return change.Short(r.Commit) + " and changes"
	}
	return change.Short(r.Commit)
}

func dash(s string) string { return cmp.Or(s, "–") }

func shortAll(digests []string) string {
	var out []string
	for _, d := range digests {
		out = append(out, change.Short(d))
	}
	return someOf(out)
}

// someOf names three, and how many more there are.
func someOf(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// expectedRows compare the time of jobs with the time expected at their launch.
func (r Report) expectedRows() [][]string {
	rows := [][]string{{"phase", "jobs", "expected", "took", "ratio", "farthest off"}}
	for _, ph := range r.Phases {
		var expected, took, ratios []float64
		worst := jobReport{Ratio: 1}
		for _, j := range r.Jobs {
			if j.Phase != ph.Phase || j.Ratio == 0 {
				continue
			}
			expected, took, ratios = append(expected, j.Planned), append(took, j.Seconds), append(ratios, j.Ratio)
			if off(j.Ratio) > off(worst.Ratio) {
				worst = j
			}
		}
		if len(ratios) == 0 {
			continue
		}
		rows = append(rows, []string{ph.Phase, strconv.Itoa(len(ratios)), secs(median(expected)), secs(median(took)), timesText(median(ratios)),
			dash(strings.TrimSpace(worst.Address + " " + timesText(worst.Ratio)))})
	}
	return rows
}

// off is how far a ratio is from 1, whichever way.
func off(ratio float64) float64 { return max(ratio, 1/ratio) }

func timesText(r float64) string { return fmt.Sprintf("%.2f×", r) }

// A Record is the file that pull writes beside its copies: command, sources, place, time and
// the digest of every file.
type Record struct {
	FormatVersion string       `json:"format_version"`
	Type          string       `json:"type"` // "muster run"
	Campaign      string       `json:"campaign"`
	Description   string       `json:"description,omitempty"`
	Lineage       string       `json:"lineage"`
	Written       time.Time    `json:"written"`
	Runs          []CodeOfPlan `json:"runs"`
	Jobs          []JobRecord  `json:"jobs"`
}

// recordType is the type of a record.
const recordType = "muster run"

// A JobRecord is one completed job of a record.
type JobRecord struct {
	jobReport
	Result string            `json:"result"`           // hash of the parts that determine the result
	Inputs map[string]string `json:"inputs,omitempty"` // digests of their bytes, by name
	Notes  []state.Note      `json:"notes,omitempty"`
	Files  []PulledFile      `json:"files"`
}

// RecordOf is the record of a pull.
func RecordOf(c *lang.Campaign, st *state.State, p Pull, now time.Time) Record {
	r := Record{FormatVersion: FormatVersion, Type: recordType, Campaign: c.Name, Description: c.Description, Lineage: st.Lineage, Written: now, Jobs: []JobRecord{}}
	at := map[string]int{}
	var reports []jobReport
	for _, f := range p.Files {
		i, ok := at[f.Address]
		if !ok {
			j := st.Job(f.Address)
			k := slices.IndexFunc(c.Phases, func(ph *lang.Phase) bool { return ph.Name == j.Phase })
			if k < 0 {
				continue
			}
			i, at[f.Address] = len(r.Jobs), len(r.Jobs)
			r.Jobs = append(r.Jobs, JobRecord{jobReport: jobReportOf(c.Phases[k], j, st), Result: j.Result, Inputs: planner.InputDigests(j), Notes: st.Notes[f.Address]})
			reports = append(reports, r.Jobs[i].jobReport)
		}
		if rel, err := filepath.Rel(p.To, f.File); err == nil {
			f.File = filepath.ToSlash(rel)
		}
		r.Jobs[i].Files = append(r.Jobs[i].Files, f)
	}
	r.Runs = runsOf(st, reports)
	return r
}

// With adds the jobs of an earlier record that this one does not have.
func (r Record) With(earlier Record) Record {
	if earlier.Type != recordType || earlier.Lineage != r.Lineage {
		return r
	}
	for _, j := range earlier.Jobs {
		if !slices.ContainsFunc(r.Jobs, func(k JobRecord) bool { return k.Address == j.Address }) {
			r.Jobs = append(r.Jobs, j)
		}
	}
	for _, run := range earlier.Runs {
		if !slices.ContainsFunc(r.Runs, func(k CodeOfPlan) bool { return k.Plan == run.Plan }) {
			r.Runs = append(r.Runs, run)
		}
	}
	slices.SortFunc(r.Jobs, func(a, b JobRecord) int { return strings.Compare(a.Address, b.Address) })
	slices.SortFunc(r.Runs, func(a, b CodeOfPlan) int { return a.Begun.Compare(b.Begun) })
	return r
}
