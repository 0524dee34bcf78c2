package kept

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestStandsStill: only a plan that leaves each job as its record says, and has
// nothing more to tell than the records hold, is made of a glance.
func TestStandsStill(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte("campaign \"c\" {}\nphase \"a\" {\n  job { command = \"true\" }\n}\n")},
		lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	done, failed := &state.Job{Status: state.Completed}, &state.Job{Status: state.Failed}
	for name, c := range map[string]struct {
		plan planner.PhasePlan
		want bool
	}{
		"done":                    {planner.PhasePlan{Kind: []planner.Kind{planner.None}, Records: []*state.Job{done}}, true},
		"failed, and held":        {planner.PhasePlan{Kind: []planner.Kind{planner.HeldKind}, Records: []*state.Job{failed}}, true},
		"failed, and to be run":   {planner.PhasePlan{Kind: []planner.Kind{planner.Run}, Records: []*state.Job{failed}}, false},
		"done, and held":          {planner.PhasePlan{Kind: []planner.Kind{planner.HeldKind}, Records: []*state.Job{done}}, false},
		"never run":               {planner.PhasePlan{Kind: []planner.Kind{planner.HeldKind}, Records: []*state.Job{nil}}, false},
		"done, in a phase held":   {planner.PhasePlan{Kind: []planner.Kind{planner.None}, Records: []*state.Job{done}, Hold: "by ada"}, false},
		"done, in a phase smoked": {planner.PhasePlan{Kind: []planner.Kind{planner.None}, Records: []*state.Job{done}, Smoke: &planner.Gate{}}, false},
	} {
		p := &planner.Plan{Phases: []*planner.PhasePlan{&c.plan}}
		p.Counts.Total = 1
		if got := standsStill(p); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if standsStill(&planner.Plan{}) {
		t.Error("a plan of nothing stands still")
	}
	if !closed(c) {
		t.Error("built-in backends are open")
	}
}

// TestDamageIsSeen: what is kept is not shown when a byte of it changed, or when
// there was no early look at a state.
func TestDamageIsSeen(t *testing.T) {
	t.Parallel()
	q := Asked{Key: func(bool) []byte { return []byte("mine") }, Load: lang.LoadOptions{Dir: t.TempDir()}, Cache: t.TempDir(), Now: time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)}
	s := screen{Campaign: "c", State: "s", Text: "Nothing to do."}
	s.Sum = s.sum([]byte("mine"))
	whole, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again screen
	if err := json.Unmarshal(whole, &again); err != nil || again.Sum != again.sum([]byte("mine")) {
		t.Errorf("what was kept is not whole: %v", err)
	}
	again.Text += "!"
	if again.Sum == again.sum([]byte("mine")) {
		t.Error("a changed text has the same sum")
	}
	if again.Text = s.Text; again.sum([]byte("another user's")) == s.Sum {
		t.Error("another user's key has the same sum")
	}
	if err := os.WriteFile(filepath.Join(q.Cache, "unchanged.json"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if shown, _ := q.Again(context.Background(), Early{}, true, false); shown != nil {
		t.Error("shown without a state")
	}
}
