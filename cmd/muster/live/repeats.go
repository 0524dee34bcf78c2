package live

import (
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/apply/progress"
)

const (
	// alike is how many notes in a row say the same of jobs of one phase before the rest are
	// counted: a node that dies may have hundreds of them.
	alike = 3
	// countFor is how long they are counted before the number is shown.
	countFor = 2 * time.Second
)

// repeats is a sink for people that counts jobs of a phase where notes say the same of each.
type repeats struct {
	Sink
	phase string    // of the last note
	says  string    // it, without the address of its job
	shown int       // such notes in a row
	more  int       // that were counted since
	since time.Time // the first of them
}

func (r *repeats) Show(p progress.Snapshot) {
	phase, says := aboutJob(p)
	same := says != "" && phase == r.phase && says == r.says
	if r.more > 0 && (p.Final || p.Note != "" && !same || p.At.Sub(r.since) >= countFor) {
		r.flush(p.At)
	}
	switch {
	case p.Note == "":
	case !same:
		r.phase, r.says, r.shown = phase, says, 1
	case r.shown < alike:
		r.shown++
	default:
		if r.more++; r.more == 1 {
			r.since = p.At
		}
		if p.Note = ""; p.Phases == nil {
			return
		}
	}
	r.Sink.Show(p)
}

func (r *repeats) Close() {
	r.flush(r.since)
	r.Sink.Close()
}

// flush shows the number of jobs that were counted.
func (r *repeats) flush(at time.Time) {
	if r.more > 0 {
		r.Sink.Show(progress.Snapshot{At: at, Address: r.phase, Note: "the same for " + units.Count(r.more, "more job")})
	}
	r.more = 0
}

// aboutJob is the phase of the job that a note is about, and the note without the job's address;
// "" where it is about no single job.
func aboutJob(p progress.Snapshot) (phase, says string) {
	name, key, ok := addr.Split(p.Address)
	if !ok || key == "" || p.Note == "" {
		return "", ""
	}
	return "phase." + name, strings.ReplaceAll(p.Note, p.Address, "")
}
