package planner

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// TestOutdated: a metric is read again where its definition is another one than that of its
// value; where no definition is recorded, only a metric without a value is.
func TestOutdated(t *testing.T) {
	t.Parallel()
	m, wrong := lang.Metric{Name: "loss", Output: "log", JSON: "/loss"}, lang.Metric{Name: "loss", Output: "log", JSON: "/los"}
	def := func(m lang.Metric) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"policy":{"metrics":{"loss":%q}}}`, m.Print()))
	}
	rs := NewReadings(map[string]json.RawMessage{"now": def(m), "wrong": def(wrong), "old": json.RawMessage(`{"policy":{}}`)})
	value := map[string]string{"loss": "1"}
	log := []state.Output{{Name: "log", Digest: "sha256:1"}}
	for name, v := range map[string]struct {
		job  state.Job
		want bool
	}{
		"read as it is defined":            {state.Job{Definition: "now", Metrics: value, Outputs: log}, false},
		"no value, as it is defined":       {state.Job{Definition: "now", Outputs: log}, false},
		"read otherwise":                   {state.Job{Definition: "wrong", Metrics: value, Outputs: log}, true},
		"read again since":                 {state.Job{Definition: "wrong", Read: state.Texts{{Name: "loss", Value: m.Print()}}, Outputs: log}, false},
		"read again, and corrected again":  {state.Job{Definition: "now", Read: state.Texts{{Name: "loss", Value: wrong.Print()}}, Metrics: value, Outputs: log}, true},
		"an older version's, with a value": {state.Job{Definition: "old", Metrics: value, Outputs: log}, false},
		"an older version's, without":      {state.Job{Definition: "old", Outputs: log}, true},
		"its output is missing":            {state.Job{Definition: "wrong", Outputs: []state.Output{{Name: "log", Digest: "sha256:1", Missing: true}}}, false},
		"it has no such output":            {state.Job{Definition: "wrong"}, false},
		"it runs":                          {state.Job{Definition: "wrong", Status: state.Running, Outputs: log}, false},
	} {
		if v.job.Status == "" {
			v.job.Status = state.Completed
		}
		if got := rs.Outdated(&lang.Phase{Metrics: []lang.Metric{m}}, &v.job); len(got) > 0 != v.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
