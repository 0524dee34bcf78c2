package storetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
)

var epoch = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// Events draws events about a few jobs: those that an engine would record,
// late and repeated reports, and unknown ones.
func Events(most int) *rapid.Generator[[]state.Event] {
	return rapid.Custom(func(t *rapid.T) []state.Event {
		events := []state.Event{state.Began{Lineage: "5e1f", Campaign: "c", Muster: "0.1.0", At: epoch}}
		for i := range rapid.IntRange(1, most).Draw(t, "events") {
			events = append(events, event(t, epoch.Add(time.Duration(i)*time.Second)))
		}
		return events
	})
}

var (
	address  = rapid.SampledFrom([]string{"phase.a", `phase.b["seed=1"]`, `phase.b["seed=2"]`, "phase.c", "smoke.phase.a", "phase.nowhere"})
	token    = rapid.SampledFrom([]string{"aa", "bb", "cc", "aa/2", "bb/2", "unknown"})
	reported = rapid.SampledFrom([]state.Status{state.Queued, state.Running, state.Verifying, state.Waiting, state.Completed, state.Failed, state.Cancelled})
	word     = rapid.SampledFrom([]string{"", "x", "two\nlines \"quoted\"", "not \xff UTF-8", "ünïcode"})
)

func event(t *rapid.T, at time.Time) state.Event {
	a, k, w := address.Draw(t, "address"), token.Draw(t, "token"), word.Draw(t, "word")
	n := rapid.IntRange(0, 3).Draw(t, "n")
	switch rapid.IntRange(0, 19).Draw(t, "kind") {
	case 0, 1, 2:
		return state.Intended{
			Job:     state.Job{Address: a, Phase: "p", Axes: state.TextsOf(map[string]string{"seed": w}), Result: w, Inputs: state.TextsOf(map[string]string{})},
			Attempt: state.Attempt{N: n, Token: k, Backend: "local", Ceiling: state.Amounts{"usd": "1"}}, Fresh: n == 1, At: at,
		}
	case 3, 4:
		return state.Submitted{Address: a, Token: k, Handle: fmt.Sprint("h", n), At: at}
	case 5:
		return state.NotSubmitted{Address: a, Token: k, Reason: w, At: at}
	case 6, 7, 8, 9:
		o := state.Observed{Address: a, Token: k, Status: reported.Draw(t, "status"), Attempt: state.Attempt{N: n, Token: k, Node: w, Started: at, Tail: []string{w}}, Reason: w, Cause: w, At: at}
		if n == 2 {
			o.Spent = &state.Entry{Address: a, Attempt: n, Backend: "local", At: at, Spent: state.TextsOf(state.Amounts{"usd": "0.5"})}
			o.Outputs = []state.Output{{Name: "out", Path: w, Size: 1, Digest: w}}
			o.Metrics = map[string]string{"loss": "0.1"}
		}
		return o
	case 10:
		return state.HeldJob{Address: a, Reason: w, By: "ada", At: at}
	case 11:
		return state.Freed{Address: a, By: "ada", At: at}
	case 12:
		return state.MovedJob{From: a, To: address.Draw(t, "to"), At: at}
	case 13:
		return state.Forgot{Address: a, Hard: n == 0, At: at}
	case 14:
		return state.OutputsSeen{Address: a, Outputs: []state.Output{{Name: "out", Path: w, Missing: true}}, At: at}
	case 18:
		return state.MetricsRead{Address: a, Metrics: map[string]string{"loss": w}, Read: map[string]string{"loss": w}, At: at}
	case 17:
		return state.Reused{Job: state.Job{Address: a, Result: w}, From: address.Draw(t, "from"), Token: k, Outputs: []state.Output{{Name: "out", Path: w, Digest: w}}, By: "ada", At: at}
	case 15:
		return state.HoldSet{Hold: state.Hold{Address: a, Who: "ada", Reason: w, At: at}}
	case 19:
		return state.Renamed{Renames: state.Renames{{From: a, To: address.Draw(t, "to")}}, At: at}
	case 16:
		return state.HoldClear{Address: a, By: "ada", At: at}
	}
	return state.Spent{Entry: state.Entry{Address: a, Attempt: n, Backend: "local", At: at, Unknown: n == 0, Spent: state.TextsOf(state.Amounts{"usd": "2"})}}
}
