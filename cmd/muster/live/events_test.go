package live

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/progress"
)

// The stream begins with its version and ends with how the run ended and the
// exit code; every line says what it is and when.
func TestEvents(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	e := NewEvents(&out, "1.2.3", func() time.Time { return now })
	e.Show(progress.Snapshot{Note: "phase.a is held", Bad: true, Phases: []progress.Phase{{Phase: "a", Total: 2, Done: 1}}})
	e.Ended(progress.Outcome{Stopped: progress.Hold, Total: 2, Done: 1})
	e.Outcome(3, true)
	type line struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
		At      string `json:"@timestamp"`
		Type    string `json:"type"`
		Muster  string `json:"muster"`
		Stopped string `json:"stopped"`
		Code    int    `json:"exit_code"`
	}
	const at = "2026-11-20T12:00:00Z"
	want := []line{
		{"info", "muster 1.2.3", at, "version", "1.2.3", "", 0},
		{"warn", "phase.a is held", at, "note", "", "", 0},
		{"info", "progress", at, "progress", "", "", 0},
		{"error", "Held", at, "outcome", "", string(progress.Hold), 3},
	}
	dec := json.NewDecoder(&out)
	for _, w := range want {
		var got line
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got != w {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
	if dec.More() {
		t.Errorf("more follows: %s", out.String())
	}
}

// A command that never came to a run says so.
func TestEventsWithoutARun(t *testing.T) {
	var out bytes.Buffer
	e := NewEvents(&out, "1.2.3", time.Now)
	out.Reset()
	e.Outcome(0, false)
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got["@message"] != "Nothing was run" || got["@level"] != "info" || got["exit_code"] != 0.0 {
		t.Errorf("%v", got)
	}
}
