// Package amount reads, adds and words what a campaign takes: money, hours and
// units of an allocation. Sums are exact.
package amount

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/place"
)

// Of reads decimal text; nothing counts as zero.
func Of(s string) decimal.Decimal {
	d, err := decimal.NewFromString(strings.TrimSpace(s))
	if err != nil {
		return decimal.Zero
	}
	return d
}

// billionths is how many decimal places launches are counted with.
const billionths = 9

// Counted is what one launch takes as the ledger counts it: what is charged is
// rounded up, and hours, which are measured, down.
func Counted(unit string, d decimal.Decimal) decimal.Decimal {
	if unit == place.USD || unit == place.ServiceUnits {
		return d.RoundCeil(billionths)
	}
	return d.RoundFloor(billionths)
}

// Unit is a unit as people call it.
func Unit(unit string) string {
	switch unit {
	case place.USD:
		return "money"
	case place.GPUHours:
		return "GPU-hours"
	case place.CPUHours:
		return "CPU-hours"
	case place.NodeHours:
		return "node-hours"
	}
	return strings.ReplaceAll(unit, "_", " ")
}

// Short says which limit would do where an amount passes one by less than Words
// show, "" where they show it: each launch counts rounded up, so that three at a
// third of a dollar are no dollar.
func Short(unit string, need, limit decimal.Decimal) string {
	if !need.GreaterThan(limit) || Words(unit, need.String()) != Words(unit, limit.String()) {
		return ""
	}
	return fmt.Sprintf("; short by %s, for each launch counts rounded up: write a limit of %s", need.Sub(limit), need)
}

// Words is an amount as people write it: $40, 60 GPU-hours.
func Words(unit, text string) string {
	switch unit {
	case "usd":
		switch d, cents := Of(text), Of(text).Round(2); {
		case d.Abs().LessThan(cent) && !d.IsZero():
			return "$" + digits(d)
		case cents.IsInteger():
			return "$" + units.FormatDigits(cents.String())
		default:
			return "$" + units.FormatDigits(cents.StringFixed(2))
		}
	case "gpu_hours":
		return units.FormatDigits(hours(text)) + " GPU-hours"
	case "cpu_hours":
		return units.FormatDigits(hours(text)) + " CPU-hours"
	case "node_hours":
		return units.FormatDigits(hours(text)) + " node-hours"
	case "service_units":
		if d := Of(text); d.Abs().Cmp(one) >= 0 {
			return units.FormatDigits(d.Round(0).String()) + " service units"
		}
		return hours(text) + " service units"
	}
	return text + " " + unit
}

// hours has one decimal, and below 1 two digits that count, as nothing is above
// a limit that reads the same.
func hours(text string) string {
	d := Of(text)
	if d.IsZero() || d.Abs().Round(6).Cmp(one) >= 0 { // three thirds are one
		return d.Round(1).String()
	}
	return digits(d)
}

var one, cent = decimal.NewFromInt(1), decimal.New(1, -2)

// digits are the two of an amount that count most.
func digits(d decimal.Decimal) string {
	return d.Round(2 - int32(d.NumDigits()) - d.Exponent()).String()
}

// Texts are sums as they are kept, by unit.
func Texts(sums map[string]decimal.Decimal) map[string]string {
	out := make(map[string]string, len(sums))
	for unit, a := range sums {
		out[unit] = a.String()
	}
	return out
}

// Jobs is "1 job" or "24 jobs".
func Jobs(n int) string {
	return units.Count(n, "job")
}
