package advice

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

const smoked = `phase "train" {
  params = { steps = 1000 }
  place { candidates = [backend.slurm.x] }
  job {
    command = "train ${param.steps}"
    options "slurm" { partition = "gpu" }
    resources {
      walltime = "WALL"
    }
  }
  MORE
  smoke {
    params = { steps = 10 }
    CANARY
  }
}
`

// smoke enters a smoke that passed, as the campaign was written then.
func (w *world) smoke(took, canary time.Duration) {
	p := w.c.Phases[0]
	d := p.Definition()
	w.st.Definitions = map[string]json.RawMessage{d.Digest: d.JSON}
	w.st.Jobs[state.SmokeAddress("phase.train")] = &state.Job{Address: "phase.train", Phase: "train", Smoke: true, Status: state.Completed, Result: "print", Definition: d.Digest}
	v := state.Validation{Fingerprint: "print", Address: "phase.train", Passed: true, At: began, Elapsed: took.Seconds()}
	if canary > 0 {
		v.Canary = &state.SmokeRun{Elapsed: canary.Seconds()}
	}
	w.st.Validations = map[string]state.Validation{"print": v}
}

// TestWalltimeFromASmoke: before the first job, its smoke shows that a walltime is far
// from what a run takes.
func TestWalltimeFromASmoke(t *testing.T) {
	// Requirement: WT-06
	for name, c := range map[string]struct {
		wall, more, canary string
		smoke, longer      time.Duration
		title, value       string // "" = it proposes nothing
	}{
		"too short":                   {wall: "1h", smoke: 2 * time.Minute, title: "Ask for more time, or add a checkpoint", value: `"4h30m"`},
		"too short, and it goes on":   {wall: "1h", smoke: 2 * time.Minute, more: `checkpoint { path = "ck" }`},
		"far too long":                {wall: "48h", smoke: 2 * time.Minute, title: "Ask for less time", value: `"4h30m"`},
		"about right":                 {wall: "5h", smoke: 2 * time.Minute},
		"long enough to be short":     {wall: "10m", smoke: time.Second},
		"a start that is no work":     {wall: "48h", smoke: 2 * time.Minute, canary: "canary { params = { steps = 40 } }", longer: 150 * time.Second, title: "Ask for less time", value: `"25m"`},
		"a smoke that was not passed": {wall: "1h"},
	} {
		t.Run(name, func(t *testing.T) {
			w := load(t, strings.NewReplacer("WALL", c.wall, "MORE", c.more, "CANARY", c.canary).Replace(smoked))
			if c.smoke > 0 {
				w.smoke(c.smoke, c.longer)
			}
			got := w.advice().Proposals
			if c.title == "" {
				if len(got) > 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Kind != "walltime" || got[0].Title != c.title || got[0].Edit.Value != c.value {
				t.Fatalf("%+v", got)
			}
			if hint := strings.Contains(got[0].Why, "a canary"); hint == (c.canary != "") {
				t.Errorf("why: %s", got[0].Why)
			}
		})
	}
}

// TestWalltimeOfAJobThatRunsAgain: what a done job took says nothing of it once its
// params are others; the smoke of the new ones does.
func TestWalltimeOfAJobThatRunsAgain(t *testing.T) {
	campaign := strings.NewReplacer("WALL", "1h", "MORE", "", "CANARY", "").Replace(smoked)
	w := load(t, campaign)
	w.did("train", 0, deed{run: time.Minute})
	old := w.c.Phases[0].Definition()
	w.st.Definitions = map[string]json.RawMessage{old.Digest: old.JSON}
	w.st.Jobs["phase.train"].Definition = old.Digest
	if got := w.advice().Proposals; len(got) > 0 {
		t.Fatalf("before the change: %+v", got)
	}
	now := load(t, strings.Replace(campaign, "steps = 1000", "steps = 3000", 1))
	now.st = w.st
	now.smoke(2*time.Minute, 0)
	now.st.Definitions[old.Digest] = old.JSON
	got := now.advice().Proposals
	if len(got) != 1 || got[0].Title != "Ask for more time, or add a checkpoint" || !strings.Contains(got[0].Why, "about 10h") {
		t.Errorf("%+v", got)
	}
	// A smoke of other params is no measure of these.
	now.c = load(t, strings.Replace(strings.Replace(campaign, "steps = 1000", "steps = 3000", 1), "{ steps = 10 }", "{ steps = 30 }", 1)).c
	if got := now.advice().Proposals; len(got) > 0 {
		t.Errorf("by an older smoke: %+v", got)
	}
}
