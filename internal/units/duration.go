package units

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// durationUnits are the letters a duration may have, largest first.
var durationUnits = []struct {
	name string
	len  time.Duration
}{
	{"w", 7 * 24 * time.Hour},
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
}

// ParseDuration reads "90s", "4h", "1h30m", "2d", "1.5h", and Slurm's
// "[D-]HH:MM:SS". Units go from large to small, each once. A bare number, a
// negative one and anything beyond 292 years is an error that says what to
// write. Durations are exact to the nanosecond.
func ParseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	switch {
	case text == "":
		return 0, fmt.Errorf("the duration is empty: write 90s, 45m, 4h, 1h30m or 2d")
	case len(text) > 64:
		return 0, fmt.Errorf("%q is not a duration: write 90s, 45m, 4h, 1h30m or 2d", clip(s))
	case text[0] == '-':
		return 0, fmt.Errorf("%q is negative: a duration is at least 0s", s)
	case isNumber(text):
		return 0, fmt.Errorf("%q has no unit: write %ss for seconds, %sm for minutes or %sh for hours", s, text, text, text)
	case strings.Contains(text, ":"):
		return parseClock(s, text)
	}
	total := new(big.Rat)
	last := -1
	for rest := text; rest != ""; {
		n := 0
		for n < len(rest) && (rest[n] == '.' || rest[n] >= '0' && rest[n] <= '9') {
			n++
		}
		m := n
		for m < len(rest) && (rest[m] >= 'a' && rest[m] <= 'z' || rest[m] >= 'A' && rest[m] <= 'Z') {
			m++
		}
		unit := unitIndex(rest[n:m])
		num, ok := new(big.Rat).SetString(rest[:n])
		if !ok || unit < 0 || !isNumber(rest[:n]) {
			return 0, notDuration(s, rest[n:m])
		}
		if unit <= last {
			return 0, fmt.Errorf("%q is not a duration: units go from large to small, each once, as in 1h30m", s)
		}
		last = unit
		total.Add(total, num.Mul(num, new(big.Rat).SetInt64(int64(durationUnits[unit].len))))
		rest = rest[m:]
	}
	return fromRat(s, total)
}

func notDuration(s, unit string) error {
	switch strings.ToLower(unit) {
	case "min", "mins", "minute", "minutes":
		unit = "m for minutes"
	case "hr", "hrs", "hour", "hours":
		unit = "h for hours"
	case "sec", "secs", "second", "seconds":
		unit = "s for seconds"
	case "day", "days":
		unit = "d for days"
	default:
		return fmt.Errorf("%q is not a duration: write 90s, 45m, 4h, 1h30m, 2d or 1-12:00:00", clip(s))
	}
	return fmt.Errorf("%q is not a duration: write %s", clip(s), unit)
}

// isNumber reports digits with at most one point among them.
func isNumber(s string) bool {
	whole, frac, _ := strings.Cut(s, ".")
	return whole != "" && digits(whole) && digits(frac)
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func unitIndex(name string) int {
	for i, u := range durationUnits {
		if u.name == name {
			return i
		}
	}
	return -1
}

// parseClock reads Slurm's forms with colons, sbatch(1) --time:
// HH:MM:SS, D-HH:MM:SS and D-HH:MM. MM:SS alone is refused, since people mean
// hours and minutes by it as often.
func parseClock(s, text string) (time.Duration, error) {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) == 2 && hasDays {
		parts = append(parts, "00")
	}
	if len(parts) != 3 || days == "" || !digits(days) {
		return 0, fmt.Errorf("%q is not a duration: write hours, minutes and seconds (04:00:00), with days 1-12:00:00, or use units as in 4h", clip(s))
	}
	nums := make([]uint64, 4)
	for i, p := range append([]string{days}, parts...) {
		n, err := strconv.ParseUint(p, 10, 63)
		if err != nil || !digits(p) {
			return 0, fmt.Errorf("%q is not a duration: %q is not a number of it", clip(s), clip(p))
		}
		nums[i] = n
	}
	if nums[2] > 59 || nums[3] > 59 || hasDays && nums[1] > 23 {
		return 0, fmt.Errorf("%q is not a duration: minutes and seconds go to 59, and hours to 23 after days", clip(s))
	}
	sec := new(big.Int)
	for i, unit := range []int64{86400, 3600, 60, 1} {
		sec.Add(sec, new(big.Int).Mul(new(big.Int).SetUint64(nums[i]), big.NewInt(unit)))
	}
	return fromRat(s, new(big.Rat).SetInt(sec.Mul(sec, big.NewInt(int64(time.Second)))))
}

func fromRat(s string, r *big.Rat) (time.Duration, error) {
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%q is too long: a duration is at most 292 years", clip(s))
	}
	return time.Duration(n.Int64()), nil
}

// FormatDuration is for people to read: "5h 58m", "25m", "1m 30s", "2d 4h".
// Two units at most, rounded to the smaller; half an instant is "<1s".
func FormatDuration(d time.Duration) string {
	if d < 0 {
		if d == math.MinInt64 {
			d++
		}
		return "-" + FormatDuration(-d)
	}
	switch {
	case d == 0:
		return "0s"
	case d < time.Second:
		return "<1s"
	case d < time.Hour-500*time.Millisecond:
		s := int64((d + time.Second/2) / time.Second)
		return two(s/60, "m", s%60, "s")
	case d < 100*time.Hour:
		m := int64((d + time.Minute/2) / time.Minute)
		return two(m/60, "h", m%60, "m")
	default:
		h := int64(d / time.Hour)
		if d%time.Hour >= time.Hour/2 {
			h++
		}
		return two(h/24, "d", h%24, "h")
	}
}

func two(big int64, bigUnit string, small int64, smallUnit string) string {
	switch {
	case big == 0:
		return fmt.Sprintf("%d%s", small, smallUnit)
	case small == 0:
		return fmt.Sprintf("%d%s", big, bigUnit)
	case smallUnit == "m":
		return fmt.Sprintf("%d%s %02d%s", big, bigUnit, small, smallUnit)
	}
	return fmt.Sprintf("%d%s %d%s", big, bigUnit, small, smallUnit)
}

// ShortDuration is a duration as a user would write it, "4h", "1h30m",
// "90s"; ParseDuration reads it back, to the millisecond.
func ShortDuration(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	if d < 2*time.Minute && d != time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	var b strings.Builder
	rest := d.Truncate(time.Millisecond)
	if rest == 0 {
		return "0s"
	}
	for _, u := range durationUnits[1:] {
		if u.name == "d" && (d%u.len != 0 || d < 2*u.len) {
			continue // 36h reads better than 1d12h
		}
		if n := rest / u.len; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			rest -= n * u.len
		}
	}
	return b.String()
}
