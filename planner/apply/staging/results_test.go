package staging

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestOnlyWhatIsDoneCounts: a job that failed keeps neither metrics nor
// outputs of an earlier success in the results.
func TestOnlyWhatIsDoneCounts(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
phase "a" {
  grid { axes = { n = [1, 2, 3] } }
  job {
    command = ["true"]
    output "o" { path = "out/${cell.n}" }
    metric "m" {
      output = "o"
      json   = "/m"
    }
  }
}
result "best" { value = max(values(phase.a.metric.m)...) }
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	p := c.Phases[0]
	st := &state.State{Jobs: map[string]*state.Job{}}
	for i, s := range []state.Status{state.Completed, state.Failed, state.Completed} {
		st.Jobs[p.Address(i)] = &state.Job{Status: s, Metrics: map[string]string{"m": []string{"0.5", "0.9", "0.7"}[i]},
			Outputs: []state.Output{{Name: "o", Workdir: "/w", Path: "out"}, {Name: "of an earlier version", Path: "x"}}}
	}
	done := Completed(c, st)["a"]
	if done.Done != 2 || done.Total != 3 || len(done.Metrics["m"]) != 2 || len(done.Outputs) != 1 || done.Outputs["o"][p.Key(0)] != "/w/out" {
		t.Errorf("%+v", done)
	}
	if got := Results(c, st); len(got) != 1 || got[0].Known || got[0].Done != 2 {
		t.Errorf("known before all is done: %+v", got)
	}
	st.Jobs[p.Address(1)].Status = state.Completed
	if got := Results(c, st); !got[0].Known || got[0].JSON != "0.9" {
		t.Errorf("%+v", got)
	}
}
