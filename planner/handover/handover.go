// Package handover decides what goes on while muster is off: which jobs the queue
// of a backend starts after others by itself, and why the rest waits for muster.
// The plan asks it about phases before anything starts, the engine about jobs as
// it hands them over; so both say the same.
package handover

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

// A Link is what a job, or all jobs of a phase, come after.
type Link struct {
	Kind    Kind
	Phase   string // whose jobs wait
	From    string // the phase that they come after; "" = their own
	Backend string // whose queue would start them
	Done    bool   // what they come after is done
	Moves   bool   // Input: files move between backends before they start
	Glob    bool   // Input: a set of files that is not known yet
	Expect  bool   // Smoke: muster judges its metrics
	Queued  bool   // what they come after is handed over to the same queue
}

// A Reason is why jobs are not handed over. The zero value says that they are.
type Reason struct {
	Text string // names what waits for what
	// Short is Text where several phases wait for the same.
	Short string
	// Elsewhere says that what they come after is not in their queue: how it goes
	// there may say more.
	Elsewhere bool
}

// Waits says why a job is not handed over to come after another. can is what the
// backend can that would start it.
func Waits(can offer.Capabilities, l Link) Reason {
	why := func(format string, args ...any) Reason {
		text := fmt.Sprintf(format, args...)
		return Reason{Text: text, Short: text}
	}
	smoke := Reason{Text: fmt.Sprintf("phase.%s waits for its smoke", l.Phase), Short: "a gate"}
	switch {
	case l.Moves:
		return Reason{Text: fmt.Sprintf("files of phase.%s move between backends", l.From), Short: "files that move between backends"}
	case l.Done:
		return Reason{}
	case l.Kind == Smoke && l.Expect:
		smoke.Short = "a gate on expect"
		return smoke
	case l.Kind == Smoke && (!can.Dependencies || !l.Queued):
		return smoke
	case !can.Dependencies:
		return why("backend.%s does not order jobs by itself", l.Backend)
	case l.Glob:
		return why("phase.%s reads phase.%s's glob, which is expanded only when phase.%s is done", l.Phase, l.From, l.From)
	case l.Queued:
		return Reason{}
	case l.Kind == Pilot:
		return why("phase.%s waits for its pilots", l.Phase)
	}
	r := why("phase.%s waits for phase.%s", l.Phase, l.From)
	r.Elsewhere = true
	return r
}

// A Cap is a limit on jobs at once, and what a hand-over comes to under it.
type Cap struct {
	Most  int  // 0 = no limit
	Jobs  int  // that may run at once, if all of them are handed over
	Kept  bool // the queue keeps the limit by itself, for all of its jobs
	Alone bool // no other queue has jobs under the limit
}

// Exceeded reports whether jobs have to wait for muster so that a limit holds: a
// queue that keeps it takes all, unless another queue has some of them, too.
func (c Cap) Exceeded() bool { return c.Most > 0 && c.Jobs > c.Most && !(c.Kept && c.Alone) }

// OfCampaign says that max_parallel of the campaign is reached.
func OfCampaign(most int) string {
	return fmt.Sprintf("max_parallel = %d of the campaign is reached", most)
}

// OfPhase says that max_parallel of a phase is reached.
func OfPhase(most int, phase string) string {
	return fmt.Sprintf("max_parallel = %d of phase.%s is reached", most, phase)
}
