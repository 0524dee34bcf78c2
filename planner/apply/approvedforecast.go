package apply

import (
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/state"
)

// approvedForecast is a plan's forecast as an approval keeps it.
func approvedForecast(f *forecast.Forecast) *state.Forecast {
	out := &state.Forecast{Amounts: estimatesByUnit(f.All()), Phases: map[string]state.PhaseForecast{}}
	for name, w := range f.Work {
		out.Phases[name] = state.PhaseForecast{Jobs: w.Jobs, Amounts: estimatesByUnit(w.Lines)}
	}
	if f.Walltime.Mark != forecast.Unknown {
		out.Median, out.P90 = f.Walltime.P50.Seconds(), f.Walltime.P90.Seconds()
	}
	return out
}

func estimatesByUnit(lines []forecast.CostLine) map[string]state.Estimate {
	out := map[string]state.Estimate{}
	for _, l := range lines {
		out[l.Unit] = state.Estimate{Expected: l.Expected.Text, P90: l.P90.Text, AtMost: l.AtMost.Text}
	}
	return out
}
