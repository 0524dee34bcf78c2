package planner

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// pastOfQueues is the evidence of this campaign's jobs about queues. It needs the
// decision which record is whose.
func pastOfQueues(fs *facts, ps phases, smokes map[string]*state.Job) *history.Queues {
	out := &history.Queues{Smokes: smokes, Approvals: fs.st.Approvals, Rents: fs.rents}
	for _, w := range ps.drafts {
		out.Phases = append(out.Phases, history.PhaseRecords{Phase: w.p, Records: w.rec})
	}
	return out
}

// noteWait says where a wait comes from that nobody has quoted.
func noteWait(d *place.Decision) []string {
	switch {
	case d.Backend == "":
	case d.Wait < 0:
		return []string{fmt.Sprintf("The queue wait on %s is not known and counted as none.", d.Where())}
	case d.Waited:
		return []string{fmt.Sprintf("The queue wait on %s is not quoted; %s is counted, as this campaign's jobs waited there.",
			d.Where(), units.FormatDuration(d.Wait.Round(time.Second)))}
	}
	return nil
}

// A turn is worth a word from so long on, and from this share of a runtime.
const (
	leastTurn = 100 * time.Millisecond
	shownTurn = 0.05
)

// noteTurn notes the time counted between jobs, where it makes a difference.
func noteTurn(past *history.Queues, w *draft, d *place.Decision) []string {
	t := past.Turn(d.Backend, d.Pool)
	if t.Each < leastTurn || t.Each.Seconds() < shownTurn*w.past.measurements().OnPool(*d).Expected.Seconds() {
		return nil
	}
	seen := "as long as this campaign's jobs waited for an idle place"
	if t.Times > 0 {
		seen = fmt.Sprintf("the median of %d of this campaign", t.Times)
	}
	return []string{fmt.Sprintf("On %s, %s is counted between the end of a job and the start of the next: %s.",
		d.Where(), units.FormatDuration(t.Each.Round(100*time.Millisecond)), seen)}
}
