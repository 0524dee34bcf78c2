package page

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/advice"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestWhatStandsOnAGuessIsMarked: an amount by rates that a provider guesses is told as an
// estimate on every page that shows it, and one by rates of who bills is not.
func TestWhatStandsOnAGuessIsMarked(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, guessed := range []bool{true, false} {
		cost := CostOf(&lang.Campaign{Name: "c"}, &state.State{Ledger: []state.Entry{
			{Phase: "train", Backend: "slurm.x", At: now, Spent: state.TextsOf(state.Amounts{"service_units": "120", "gpu_hours": "2"}), Estimated: guessed},
			{Phase: "train", Backend: "slurm.x", At: now, Spent: state.TextsOf(state.Amounts{"service_units": "5"})},
		}}, now)
		x := explain.Job{Decision: place.Decision{Backend: "slurm.x", Shape: offer.Shape{Walltime: time.Hour}, Candidates: []place.Candidate{
			{Backend: "slurm.x", Fits: true, Won: true, Cost: map[string]string{"service_units": "120", "gpu_hours": "2"}, Price: offer.Price{Known: true, Estimated: guessed, SUPerGPUHour: "60"}},
		}}, Ceiling: state.Amounts{"service_units": "240", "gpu_hours": "4"}, Priced: place.Known{USD: true, ServiceUnits: true}}
		saving := []advice.Saving{{Unit: "service_units", Amount: "8", Of: "of the 2 jobs left", Estimated: guessed}}
		for name, p := range map[string]struct {
			text, says string
			data       any
			marked     string
		}{
			"cost":    {cost.Text(100, 0), "125 service units *", cost, `"estimated":1`},
			"explain": {ExplanationText(x, "", 100), "120 service units (estimated), 2.0 GPU-hours", ExplanationOf(x), `"estimated":["service_units"]`},
			"ceiling": {ExplanationText(x, "", 100), "1 launch; estimated, by a guessed price", ExplanationOf(x), `"priced":true,"estimated":["service_units"]`},
			"advise":  {AdviceText(advice.Report{Proposals: []advice.Proposal{{Saves: saving}}}, 100, 0), "8.0 service units (estimated, by a guessed price) of the 2 jobs left", AdviceOf("c", advice.Report{Proposals: []advice.Proposal{{Saves: saving}}}), `"estimated":true`},
		} {
			data, err := json.Marshal(p.data)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(p.text, p.says) != guessed || strings.Contains(string(data), p.marked) != guessed {
				t.Errorf("%s, estimated %v:\n%s\n%s", name, guessed, p.text, data)
			}
		}
	}
}
