package live

import (
	"encoding/json"
	"io"
	"time"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// Events prints the machine stream: one object a line, versioned.
type Events struct {
	enc *json.Encoder
	now func() time.Time
	end map[string]any // how the run ended, once it has
}

// eventsVersion is the version of the stream's schema
// (docs/reference/events.md): minor versions add, major ones break.
const eventsVersion = "1.1"

// NewEvents begins the stream with the version of muster.
func NewEvents(w io.Writer, version string, now func() time.Time) *Events {
	e := &Events{enc: json.NewEncoder(w), now: now}
	e.write("info", "version", "muster "+version, map[string]any{"muster": version, "ui": eventsVersion})
	return e
}

func (e *Events) write(level, typ, message string, more map[string]any) {
	obj := map[string]any{"@level": level, "@message": message, "@module": "muster", "@timestamp": e.now().Format(time.RFC3339Nano), "type": typ}
	for k, v := range more {
		obj[k] = v
	}
	e.enc.Encode(obj)
}

func (e *Events) Event(ev state.Event) {
	e.write("info", "fact", ev.Kind(), map[string]any{"kind": ev.Kind(), "fact": ev})
}

func (e *Events) Show(p progress.Snapshot) {
	if p.Note != "" {
		level := "info"
		if p.Bad {
			level = "warn"
		}
		e.write(level, "note", p.Note, map[string]any{"address": p.Address})
	}
	phases := make([]PhaseEvent, len(p.Phases))
	for i, ph := range p.Phases {
		phases[i] = PhaseEvent(ph)
	}
	e.write("info", "progress", "progress", map[string]any{"phases": phases, "waits": p.Waits, "final": p.Final})
}

// Diagnostics writes diagnostics, field for field as in other documents.
func (e *Events) Diagnostics(l diag.List, sources diag.Sources) {
	for _, d := range diag.ToJSON(l, sources) {
		level := "error"
		if d.Severity != "error" {
			level = "warn"
		}
		e.write(level, "diagnostic", d.Summary, map[string]any{"diagnostic": d})
	}
}

// Ended notes how a run ended, for the last line.
func (e *Events) Ended(o progress.Outcome) {
	e.end = map[string]any{
		"stopped": string(o.Stopped), "why": o.Why, "total": o.Total, "done": o.Done, "failed": o.Failed, "held": o.Held, "left_out": o.LeftOut, "blocked": o.Blocked, "unknown": o.Unknown,
		"running": o.Running, "queued": o.Queued, "queue_held": o.HeldThere, "unsubmitted": o.Unsent, "left": o.Left, "skipped": o.Skipped, "cancelled": o.Cancelled, "changed_inputs": o.Changed, "deleted": o.Deleted,
		"first": o.First, "next": o.Next, "spent": o.Spent, "message": page.Headline(o),
	}
}

// Outcome is the last line of every stream: how it ended, or that it never
// came to a run, and the exit code, and whether that is a failure.
func (e *Events) Outcome(code int, failed bool) {
	end := e.end
	if end == nil {
		end = map[string]any{"message": "Nothing was run"}
	}
	message, _ := end["message"].(string)
	delete(end, "message")
	end["exit_code"] = code
	level := "info"
	if failed {
		level = "error"
	}
	e.write(level, "outcome", message, end)
}

// A PhaseEvent is how far a phase is, in counts of jobs.
type PhaseEvent struct {
	Phase     string          `json:"phase"`
	Total     int             `json:"total"`
	Done      int             `json:"done"`
	Before    int             `json:"done_before"`
	Running   int             `json:"running"`
	Queued    int             `json:"queued"`
	Verifying int             `json:"verifying"`
	Unknown   int             `json:"unknown"`
	Away      []progress.Away `json:"away,omitempty"` // when each last answered
	Waiting   int             `json:"waiting"`
	RetryAt   time.Time       `json:"retry_at,omitzero"` // when the last of those waiting may start
	Pending   int             `json:"pending"`
	Failed    int             `json:"failed"`
	Held      int             `json:"held"`
	LeftOut   int             `json:"left_out,omitempty"` // of held: their backend cannot be asked
	Blocked   int             `json:"blocked"`
	Cancelled int             `json:"cancelled"`
	Late      int             `json:"late,omitempty"`    // of running: longer than twice the time of completed jobs
	Overdue   int             `json:"overdue,omitempty"` // longer than three times
	// Unsubmitted jobs were given to a backend whose scheduler does not have them, or
	// has not answered; HeldThere are held in its queue.
	Unsubmitted int    `json:"unsubmitted,omitempty"`
	HeldThere   int    `json:"queue_held,omitempty"`
	Unsent      string `json:"unsubmitted_because,omitempty"` // why the first of them waits, as its backend last said
	Smoke       int    `json:"smoke"`
	Gate        string `json:"gate,omitempty"`
	Waits       string `json:"waits,omitempty"` // which ceiling keeps it from starting more
}

func (e *Events) Close() {}
