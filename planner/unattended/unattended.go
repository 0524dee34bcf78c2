// Package unattended decides which jobs continue while muster is off, because a
// backend's queue starts them after others, and why the others wait for muster.
// The plan asks it about phases, the engine about jobs at submission, so both
// agree.
package unattended

import (
	"fmt"

	"github.com/muster-run/muster/providers/offer"
)

// A Kind is how a job comes after another.
type Kind uint8

// The kinds.
const (
	Input Kind = iota // it reads what the other makes
	Order             // its phase depends_on the other's
	Smoke             // the other is a smoke of its phase
	Pilot             // the other is a pilot of its phase
)

// A Link says that a job, or all jobs of a phase, come after other jobs.
type Link struct {
	Kind    Kind
	Phase   string // whose jobs wait
	From    string // the phase that they come after; "" = their own
	Backend string // whose queue would start them
	Done    bool   // the jobs before them are done
	Moves   bool   // Input: files move between backends before they start
	Glob    bool   // Input: a set of files that is not known yet
	Partial bool   // Input: the job may go on with some of the jobs before it
	Expect  bool   // Smoke: muster judges its results
	Again   bool   // Smoke: muster launches it again after it passed
	Queued  bool   // the jobs before them are in the same queue
}

// A Wait is why jobs wait for muster. The zero value: muster submits them ahead.
type Wait struct {
	Text string // names who waits for whom
	// Short is Text where several phases wait for the same.
	Short string
	// Elsewhere: the jobs before them are in another queue.
	Elsewhere bool
}

// Waits is why muster must start a job that comes after another: its backend, with
// capabilities can, would not start it in order.
func Waits(can offer.Capabilities, l Link) Wait {
	why := func(format string, args ...any) Wait {
		text := fmt.Sprintf(format, args...)
		return Wait{Text: text, Short: text}
	}
	smoke := Wait{Text: fmt.Sprintf("phase.%s waits for its smoke", l.Phase), Short: "a gate"}
	switch {
	case l.Moves:
		return Wait{Text: fmt.Sprintf("files of phase.%s move between backends", l.From), Short: "files that move between backends"}
	case l.Done:
		return Wait{}
	case l.Kind == Smoke && l.Again:
		smoke.Short = "a smoke that muster launches again after it passed"
		return smoke
	case l.Kind == Smoke && l.Expect:
		smoke.Short = "a smoke whose expect muster checks"
		return smoke
	case l.Kind == Smoke && (!can.Dependencies || !l.Queued):
		return smoke
	case can.Rents:
		return why("%s", Rents(l.Backend))
	case !can.Dependencies:
		return why("backend.%s does not order jobs by itself", l.Backend)
	case l.Partial:
		return why("phase.%s needs only some of phase.%s, which muster decides when all of them have ended", l.Phase, l.From)
	case l.Glob:
		return why("phase.%s reads phase.%s's glob, which is expanded only when phase.%s is done", l.Phase, l.From, l.From)
	case l.Queued:
		return Wait{}
	case l.Kind == Pilot:
		return why("phase.%s waits for its pilots", l.Phase)
	}
	r := why("phase.%s waits for phase.%s", l.Phase, l.From)
	r.Elsewhere = true
	return r
}

// Rents says that a backend rents machines only while muster runs.
func Rents(backend string) string {
	return fmt.Sprintf("backend.%s rents machines only while muster runs", backend)
}

// A Cap is a limit on the jobs that run at once, and the jobs to submit under it.
type Cap struct {
	Most     int  // 0 = no limit
	Jobs     int  // that may run at once if muster submits all of them
	ByQueue  bool // the queue enforces the limit on all of its jobs
	OneQueue bool // no other queue has jobs under the limit
}

// Exceeded reports whether jobs must wait for muster to keep a limit. A queue that
// enforces the limit takes all jobs, unless another queue has some of them.
func (c Cap) Exceeded() bool { return c.Most > 0 && c.Jobs > c.Most && !(c.ByQueue && c.OneQueue) }

// CampaignCapReached says that max_parallel of the campaign is reached.
func CampaignCapReached(most int) string {
	return fmt.Sprintf("max_parallel = %d of the campaign is reached", most)
}

// PhaseCapReached says that max_parallel of a phase is reached.
func PhaseCapReached(most int, phase string) string {
	return fmt.Sprintf("max_parallel = %d of phase.%s is reached", most, phase)
}
