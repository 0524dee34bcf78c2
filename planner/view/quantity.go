package view

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
)

// quantity prints an amount as its unit is read: money to the cent, service units whole from
// ten on, hours to a tenth; a small amount keeps digits enough not to look like zero.
func quantity(unit, text string) string {
	d, err := decimal.NewFromString(text)
	if err != nil {
		return text
	}
	if unit == "usd" {
		return units.FormatMoney(d)
	}
	places := int32(1)
	if unit == "service_units" {
		places = 0
	}
	switch abs := d.Abs(); {
	case abs.IsZero():
	case abs.LessThan(decimal.New(1, -3)):
		return "<0.001"
	case abs.LessThan(decimal.New(1, -1)):
		places = 3
	case abs.LessThan(decimal.New(1, 0)):
		places = 2
	case abs.LessThan(decimal.New(1, 1)):
		places = 1
	}
	return units.FormatDigits(d.StringFixed(places))
}
