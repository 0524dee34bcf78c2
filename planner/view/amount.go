package view

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
)

// unitWords are the units as they follow a number.
var unitWords = map[string]string{"service_units": "service units", "gpu_hours": "GPU-hours", "cpu_hours": "CPU-hours", "node_hours": "node-hours"}

// Amount is a quantity in words, "42.7 GPU-hours"; "" when it is zero or not
// stated.
func Amount(unit, text string) string {
	d, err := decimal.NewFromString(text)
	if err != nil || d.IsZero() {
		return ""
	}
	if word := unitWords[unit]; word != "" {
		return quantity(unit, text) + " " + word
	}
	return quantity(unit, text)
}

// Amounts are quantities in words, money first; "" where all are zero. Node-hours are
// among them only where also names them.
func Amounts(amounts map[string]string, also ...string) string {
	var parts []string
	for _, unit := range []string{"usd", "service_units", "gpu_hours", "cpu_hours", "node_hours"} {
		if text := Amount(unit, amounts[unit]); text != "" && (unit != place.NodeHours || slices.Contains(also, unit)) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// Ceiling is the most that a plan may spend, in the units that somebody asks
// for.
func Ceiling(p *planner.Plan) string {
	return Amounts(p.Ceiling, forecast.LineOf(p.Forecast.Lines, place.NodeHours).Unit)
}
