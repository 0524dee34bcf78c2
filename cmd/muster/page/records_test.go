package page

import (
	"testing"

	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestReportNamesDrivers: an observed driver is in the job's report and beside its node in the
// text.
func TestReportNamesDrivers(t *testing.T) {
	// Requirement: FP-07
	t.Parallel()
	const src = `
campaign "test" {}
phase "train" {
  grid { axes = { i = range(3) } }
  job { command = "train" }
}`
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	st := state.New("test")
	st.Approvals = []state.Approval{{Plan: "p", Programs: map[string]state.Program{"train": {}}}}
	for i, o := range []offer.Observation{
		{Status: offer.Completed, Node: "gpu1", GPUs: []string{"0"}, Driver: "570.124.06"},
		{Status: offer.Completed, Node: "gpu1", GPUs: []string{"1"}, Driver: "570.124.06"},
		{Status: offer.Completed, Node: "cpu1"},
	} {
		address := c.Phases[0].Address(i)
		a := jobspec.Attempt("local.local", "t", &o, 1)
		a.Plan = "p"
		st.Jobs[address] = &state.Job{Address: address, Phase: "train", Status: state.Completed, Attempts: []state.Attempt{a}}
	}
	r := ReportOf(c, st, selection.Jobs{})
	for i, want := range []string{"570.124.06", "570.124.06", ""} {
		if r.Jobs[i].Driver != want {
			t.Errorf("%s: driver %q, not %q", r.Jobs[i].Address, r.Jobs[i].Driver, want)
		}
	}
	if rows := r.ranRows(); len(rows) != 2 || rows[1][6] != "cpu1, gpu1 (driver 570.124.06)" {
		t.Errorf("%q", rows)
	}
}
