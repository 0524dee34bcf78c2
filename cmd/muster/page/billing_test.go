package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestBilledNow: what runs is billed by the hour since it started, beside
// rented machines; what waits or is over is not.
func TestBilledNow(t *testing.T) {
	t.Parallel()
	src := `campaign "c" {}
backend "local" "local" { price = { usd_per_gpu_hour = 1.5 } }
budget "gpus" {
  limits     = { usd = 40 }
  applies_to = [phase.train]
}
phase "train" {
  grid { axes = { i = range(5) } }
  job {
    command = "true ${cell.i}"
    resources {
      gpus     = 2
      walltime = "4h"
    }
  }
}
`
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	job := func(i string, s state.Status, a state.Attempt) *state.Job {
		a.N, a.Backend, a.Token = 1, "local.local", i
		a.Ceiling = state.Amounts{"usd": "12", "gpu_hours": "8"}
		return &state.Job{Address: `phase.train["i=` + i + `"]`, Phase: "train", Status: s, Attempts: []state.Attempt{a}}
	}
	st := &state.State{Jobs: map[string]*state.Job{}, Rentals: map[string]state.Rental{
		"r1": {ID: "r1", Backend: "vastai.x", Status: "stopped", Since: now.Add(-24 * time.Hour), PerHour: "0.02"},
		"r2": {ID: "r2", Backend: "vastai.x", Status: "running", Since: now},
		"r3": {ID: "r3", Backend: "vastai.x", Status: "released", PerHour: "9"},
	}, Approvals: []state.Approval{{Plan: "p", Who: "ada", Begun: now, Ceiling: state.Amounts{"usd": "60"}, Outcome: "done"}},
		Ledger: []state.Entry{{Phase: "train", Backend: "local.local", Spent: state.TextsOf(state.Amounts{"usd": "3"})}, {Phase: "other", Backend: "local.local", Spent: state.TextsOf(state.Amounts{"usd": "5"})}}}
	st.Rentals["r4"] = state.Rental{ID: "r4", Backend: "vastai.x", Status: "running", Since: now.Add(-time.Hour), Began: now.Add(-time.Hour), PerHour: "0.4"}
	for _, j := range []*state.Job{
		job("0", state.Running, state.Attempt{Started: now.Add(-2 * time.Hour)}),
		job("1", state.Running, state.Attempt{Started: now.Add(-time.Hour)}),
		job("2", state.Queued, state.Attempt{}),
		job("4", state.Running, state.Attempt{Started: now.Add(-time.Hour), Pool: "rented"}),
		job("3", state.Completed, state.Attempt{Started: now.Add(-9 * time.Hour), Ended: now}),
	} {
		st.Jobs[j.Address] = j
	}
	st.Jobs[`phase.train["i=4"]`].Attempts[0].Backend = "vastai.x"
	r := CostOf(c, st, now)
	if len(r.Billed) != 2 || r.Billed[1].PerHour["usd"] != "" || r.Billed[1].SoFar["usd"] != "" || r.Billed[0].Jobs != 2 || r.Billed[0].PerHour["usd"] != "6" || r.Billed[0].SoFar["usd"] != "9" || r.Billed[0].AtMost["usd"] != "24" || !r.Billed[0].Since.Equal(now.Add(-2*time.Hour)) {
		t.Errorf("%+v", r.Billed)
	}
	text := r.Text(term.MaxWidth, 0)
	for _, want := range []string{"2 jobs", "$6/h, 4 GPUs", "about $9.00, 6.0 GPU-hours so far, at most $24.00", "$9.60 a day, about $0.40 so far", "about 2.0 GPU-hours so far, at most $12.00", "r1 on vastai.x", "$0.02/h", "$0.48 a day", "r2 on vastai.x", "at an unknown price",
		`budget "gpus": $3.00 of $40.00`, "Approved by ada on 2026-11-20", "at most $60.00; done"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "r3") {
		t.Errorf("a released machine is listed:\n%s", text)
	}
}
