package units

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// An Amount is an exact decimal quantity: money, hours, service units.
type Amount = decimal.Decimal

// ParseAmount reads a plain decimal number, "1234.50".
func ParseAmount(s string) (Amount, error) {
	const longest = 64 // bytes; an exponent of a billion digits is not an amount
	d, err := decimal.NewFromString(s)
	if err != nil || len(s) > longest || d.Exponent() > longest || d.Exponent() < -longest {
		return Amount{}, fmt.Errorf("%q is not an amount: write a plain number such as 40 or 1234.50", clip(s))
	}
	return d, nil
}

// FormatMoney is "$1,234.50", rounded to cents.
func FormatMoney(a Amount) string {
	text := a.Abs().StringFixed(2)
	whole, cents, _ := strings.Cut(text, ".")
	sign := ""
	if a.Sign() < 0 && text != "0.00" {
		sign = "-"
	}
	return sign + "$" + FormatDigits(whole) + "." + cents
}

// FormatCount is a whole number with its thousands apart, "2,669".
func FormatCount(n int64) string { return FormatDigits(strconv.FormatInt(n, 10)) }

// Count is "1 job" or "2,400 jobs".
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return FormatCount(int64(n)) + " " + word + "s"
}

// FormatDigits sets the thousands of a decimal number's digits apart.
func FormatDigits(digits string) string {
	digits, fraction, has := strings.Cut(digits, ".")
	if has {
		fraction = "." + fraction
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String() + fraction
}

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 60 // characters shown of a foreign text
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
