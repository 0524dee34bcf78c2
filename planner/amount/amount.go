// Package amount parses, adds and formats amounts of money, hours and units of
// an allocation. Sums are exact.
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

// places are the decimal places with which the cost of a launch is kept.
const places = 15

// Counted is the cost of one launch as it is kept.
func Counted(d decimal.Decimal) decimal.Decimal { return d.Round(places) }

// dust is the largest rounding error in sums of launches: a third has no
// finite decimal.
var dust = decimal.New(1, -9)

// Exceeds reports whether an amount is above a limit, by more than rounding.
func Exceeds(a, limit decimal.Decimal) bool { return a.Sub(limit).GreaterThan(dust) }

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

// enough is a limit that covers an amount, as short as people write one: "4.1".
func enough(unit string, need decimal.Decimal) string {
	need = need.Round(9)
	digits := int32(1)
	switch {
	case need.IsZero():
		return "0"
	case need.LessThan(one):
		digits = 2 - int32(need.NumDigits()) - need.Exponent()
	case unit == place.USD:
		digits = 2
	case unit == place.ServiceUnits:
		digits = 0
	}
	return need.RoundCeil(digits).String()
}

// Set says how to write a limit that covers an amount: "Set cpu_hours = 4.1".
func Set(unit string, need decimal.Decimal) string {
	return fmt.Sprintf("Set %s = %s", unit, enough(unit, need))
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

// Apart is an amount and its limit in words, with as many digits as it takes to
// tell them apart.
func Apart(unit string, a, limit decimal.Decimal) (amount, of string) {
	amount, of = Words(unit, a.String()), Words(unit, limit.String())
	if amount != of || !Exceeds(a, limit) && !Exceeds(limit, a) {
		return amount, of
	}
	digits := int32(1)
	for a.Round(digits).Equal(limit.Round(digits)) {
		digits++
	}
	more := func(d decimal.Decimal) string {
		text := units.FormatDigits(d.Round(digits).String())
		if _, name, ok := strings.Cut(of, " "); ok {
			return text + " " + name
		}
		return "$" + text
	}
	return more(a), more(limit)
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

// rateDigits is how many digits behind the point of a rate people read.
const rateDigits = 4

// Hourly is a rate in USD an hour as people read it: "$0.3441/h"; "" is not known.
func Hourly(rate string) string {
	if rate == "" {
		return "$?/h"
	}
	return Rate(rate) + "/h"
}

// Digits is a rate without the digits that nobody reads: 0.3441.
func Digits(rate decimal.Decimal) string {
	if short := rate.Round(rateDigits); !short.IsZero() {
		return short.String()
	}
	return rate.String()
}

// Rate is a rate in USD as people read it, "$0.3441", for any unit of time.
func Rate(rate string) string {
	if d := Of(rate); d.Exponent() < -rateDigits {
		rate = Digits(d)
	}
	if whole, cents, dot := strings.Cut(rate, "."); dot && len(cents) == 1 {
		rate = whole + "." + cents + "0"
	}
	return "$" + rate
}
