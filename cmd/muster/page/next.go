package page

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// Totals count the outputs of the report's jobs, and how many of them are
// where.
type Totals struct {
	Files      int   `json:"files"` // outputs, each file of a set or folder counted
	Bytes      int64 `json:"bytes"`
	OOMRetried int   `json:"oom_retried"` // completed after a launch that ran out of memory
	Failed     int   `json:"failed"`      // failed or held
	Active     int   `json:"active"`      // may be running or may start by themselves
	Waiting    int   `json:"waiting"`     // never launched, or cancelled
	// Resumes are jobs in queues, by the command that they wait for.
	Resumes map[string]int `json:"resumes,omitempty"`
}

// take counts a job of the report; nil = it has no record. Stuck names a dependency that needs
// a person.
func (t *Totals) take(j *state.Job, stuck string) {
	switch {
	case j != nil && stuck != "" && explain.InQueue(j.Status):
		if t.Resumes == nil {
			t.Resumes = map[string]int{}
		}
		t.Resumes[stuck]++
	case j == nil || j.Status == state.Cancelled || j.Status == state.Forgotten:
		t.Waiting++
		return
	case j.Status.Active():
		t.Active++
	case j.Status == state.Failed || j.Status == state.Held:
		t.Failed++
	case j.Status == state.Completed:
		for _, o := range j.Outputs {
			if !o.Missing {
				t.Files, t.Bytes = t.Files+max(o.Files, 1), t.Bytes+o.Size
			}
		}
		for k := range j.Attempts {
			if failure.Is(j.Attempts[k].Class, failure.OOM) {
				t.OOMRetried++
				break
			}
		}
	}
}

// next is what to type, most urgent first.
func (t Totals) next(jobs int) (steps []string) {
	if t.Failed > 0 {
		steps = append(steps, fmt.Sprintf("%s failed or %s held: `muster status` says why; when the cause is fixed, `muster resume` and `muster apply`", units.Count(t.Failed, "job"), isAre(t.Failed)))
	}
	for _, command := range slices.Sorted(maps.Keys(t.Resumes)) {
		steps = append(steps, resumeStep(command, t.Resumes[command]))
	}
	if t.Active > 0 {
		steps = append(steps, fmt.Sprintf("%s %s running or may start: `muster wait`", units.Count(t.Active, "job"), isAre(t.Active)))
	}
	if t.Waiting > 0 {
		steps = append(steps, fmt.Sprintf("%s %s not run: `muster apply`", units.Count(t.Waiting, "job"), map[bool]string{true: "has", false: "have"}[t.Waiting == 1]))
	}
	if t.Failed+t.Active+t.Waiting+len(t.Resumes) == 0 && jobs > 0 {
		steps = append(steps, "All jobs are done: `muster pull` copies the results here, and `muster advise` says which requests were too large")
	}
	return steps
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// text is the line about what the jobs left.
func (t Totals) text() string {
	text := ""
	if t.Files > 0 {
		text = fmt.Sprintf("Results: %s, %s.", units.Count(t.Files, "file"), units.FormatSize(t.Bytes))
	}
	if t.OOMRetried > 0 {
		text += fmt.Sprintf(" Done after running out of memory: %s.", units.Count(t.OOMRetried, "job"))
	}
	return text
}
