package units

import (
	"fmt"
	"math/big"
	"strings"
)

// sizeUnits are the units of sizes, in bytes.
var sizeUnits = []struct {
	name string
	len  int64
}{
	{"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// ParseSize reads "500MiB", "24GB", "1.5TiB" and returns bytes. A bare number
// and "24G" are errors that say what to write, since programs disagree about
// what G means.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	n := 0
	for n < len(text) && (text[n] == '.' || text[n] >= '0' && text[n] <= '9') {
		n++
	}
	num, unit := text[:n], strings.TrimSpace(text[n:])
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%q is negative: a size is at least 0B", clip(s))
	case len(text) > 64 || !isNumber(num):
		return 0, fmt.Errorf("%q is not a size: write 500MiB, 16GiB or 24GB", clip(s))
	case unit == "":
		return 0, fmt.Errorf("%q has no unit: write %sMiB, %sGiB or %sB for bytes", s, num, num, num)
	}
	for _, u := range sizeUnits {
		if u.name == unit {
			return sizeOf(s, num, u.len)
		}
	}
	if letter := strings.ToUpper(unit[:1]); len(unit) <= 3 && strings.Contains("KMGTP", letter) {
		return 0, fmt.Errorf("%q is not exact: write %s%siB (powers of 1024) or %s%sB (powers of 1000)", s, num, letter, num, kilo(letter))
	}
	return 0, fmt.Errorf("%q is not a size: the units are B, kB, MB, GB, TB, PB and KiB, MiB, GiB, TiB, PiB", clip(s))
}

func kilo(letter string) string {
	if letter == "K" {
		return "k"
	}
	return letter
}

func sizeOf(s, num string, unit int64) (int64, error) {
	r, ok := new(big.Rat).SetString(num)
	if !ok {
		return 0, fmt.Errorf("%q is not a size: write 500MiB, 16GiB or 24GB", clip(s))
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%q is too large: a size is at most 8191PiB", clip(s))
	}
	return n.Int64(), nil
}

// FormatSize is the shortest exact form if there is one of few digits
// ("16GiB", "24GB"), else one decimal of the binary unit ("1.4GiB").
// Negative sizes, which are differences, keep their sign.
func FormatSize(n int64) string {
	if n < 0 {
		if n == -n { // the least int64
			return "-8192PiB"
		}
		return "-" + FormatSize(-n)
	}
	for _, u := range sizeUnits {
		if n >= u.len && n%u.len == 0 && n/u.len < 10_000 && u.name != "KB" {
			return fmt.Sprintf("%d%s", n/u.len, u.name)
		}
	}
	for _, u := range sizeUnits[:5] {
		if n >= u.len {
			return fmt.Sprintf("%.1f%s", float64(n)/float64(u.len), u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
