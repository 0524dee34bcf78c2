package units

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "4h": 4 * time.Hour, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "1-12:00:00": 36 * time.Hour,
		"04:00:00": 4 * time.Hour, "100:00:00": 100 * time.Hour, "1-12:00": 36 * time.Hour, "1.5h": 90 * time.Minute, "0s": 0, "180d": 180 * 24 * time.Hour,
		"250ms": 250 * time.Millisecond, "1w": 168 * time.Hour, " 4h ": 4 * time.Hour,
	} {
		t.Run(in, func(t *testing.T) {
			if got, err := ParseDuration(in); got != want || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	for in, want := range map[string]string{
		"": "write 90s", "90": "write 90s", "1.5": "1.5h", "-4h": "negative", "4 h": "write", "h": "write", "4x": "write 90s", "30m1h": "large to small",
		"1h1h": "each once", "10min": "m for minutes", "999999999999h": "292 years", "99999999999999999999-00:00:00": "not a number", "04:00": "04:00:00",
		"1-24:00:00": "hours to 23", "0:60:00": "59", "NaN": "write", "1e9h": "write", "+1h": "write", "1-2-3:4:5": "not a number", "inf": "write",
		"9999999999999999-00:00:00": "292 years", "٣h": "write",
	} {
		t.Run("bad "+in, func(t *testing.T) {
			if got, err := ParseDuration(in); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		5*time.Hour + 58*time.Minute: "5h 58m", 25 * time.Minute: "25m", 90 * time.Second: "1m 30s", 11*time.Hour + 5*time.Minute: "11h 05m", 0: "0s",
		time.Millisecond: "<1s", time.Hour: "1h", 59*time.Minute + 59*time.Second + 600*time.Millisecond: "1h", 100 * time.Hour: "4d 4h", -time.Minute: "-1m",
		math.MaxInt64: "106752d", math.MinInt64: "-106752d",
	} {
		if got := FormatDuration(in); got != want {
			t.Errorf("%d: got %s, want %s", in, got, want)
		}
	}
	for in, want := range map[time.Duration]string{4 * time.Hour: "4h", 45 * time.Minute: "45m", 90 * time.Minute: "1h30m", 90 * time.Second: "90s", 36 * time.Hour: "36h", 48 * time.Hour: "2d", 0: "0s"} {
		if got := ShortDuration(in); got != want {
			t.Errorf("%v: got %s, want %s", in, got, want)
		}
	}
}

func TestShortDurationReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64/int64(time.Millisecond)).Draw(rt, "ms")) * time.Millisecond
		if got, err := ParseDuration(ShortDuration(d)); got != d || err != nil {
			rt.Fatalf("%v: %s is %v, %v", d, ShortDuration(d), got, err)
		}
	})
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"500MiB": 500 << 20, "24GB": 24e9, "1.5TiB": 3 << 39, "0B": 0, "1 GiB": 1 << 30, "10kB": 10000, "7B": 7} {
		t.Run(in, func(t *testing.T) {
			if got, err := ParseSize(in); got != want || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	for in, want := range map[string]string{"24G": "24GiB", "24": "24GiB", "24g": "24GB", "": "write", "-1GB": "negative", "9999999PiB": "too large", "1e3GB": "units are", "NaN": "write", "5Q": "units are", "K": "write", "24gb": "24GiB"} {
		t.Run("bad "+in, func(t *testing.T) {
			if got, err := ParseSize(in); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	for n, want := range map[int64]string{500 << 20: "500MiB", 24e9: "24GB", 0: "0B", 1536: "1536B", 1234567890: "1.1GiB", -1 << 30: "-1GiB", math.MinInt64: "-8192PiB", math.MaxInt64: "8192.0PiB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestNumberText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0.011": "0.011", "1.1e-2": "0.011", "384": "384", "1e21": "1000000000000000000000", "123456789012345678901234567890": "123456789012345678901234567890",
		"-0.0": "0", "1e-6": "0.000001", "2.5e-7": "2.5e-7", "1e-10": "1e-10", "9007199254740993": "9007199254740993", "0.1": "0.1", "-1.50": "-1.5", "3.0": "3",
		"0.30000000000000004": "0.30000000000000004", "0.300000000000000001": "0.3", "1e400": "error", "1e-400": "error",
	} {
		t.Run(in, func(t *testing.T) {
			text, c, err := NumberText(cty.MustParseNumberVal(in))
			if err != nil {
				text = "error"
			} else if again, _, _ := NumberText(c); again != text {
				t.Errorf("the canonical value prints as %s", again)
			}
			if text != want {
				t.Errorf("got %s, %v", text, err)
			}
		})
	}
}

func FuzzNumber(f *testing.F) {
	for _, x := range []float64{0, 0.011, 1e-7, 1e21, -1.5, 5e-324, math.MaxFloat64} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		back, err := strconv.ParseFloat(Number(x), 64)
		if err != nil || back != x {
			t.Errorf("%v prints as %s, which is %v", x, Number(x), back)
		}
		text, c, err := NumberText(cty.NumberFloatVal(x))
		if err != nil {
			if new(big.Float).SetFloat64(x).MantExp(nil) <= maxIntegerBits {
				t.Errorf("%v: %v", x, err)
			}
			return
		}
		if want := Number(x); text != want && !new(big.Float).SetFloat64(x).IsInt() {
			t.Errorf("%v: %s and %s", x, text, want)
		}
		if again, _, err := NumberText(c); again != text || err != nil {
			t.Errorf("%v: %s, then %s", x, text, again)
		}
	})
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"1234.5": "$1,234.50", "0": "$0.00", "-40": "-$40.00", "1000000": "$1,000,000.00", "-0.001": "$0.00", "999.995": "$1,000.00"} {
		a, err := ParseAmount(in)
		if got := FormatMoney(a); got != want || err != nil {
			t.Errorf("%s: got %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "x", "1e999999999", "$5", "NaN"} {
		if _, err := ParseAmount(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if got := FormatCount(-1234567); got != "-1,234,567" {
		t.Error(got)
	}
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90s", "1-12:00:00", "1h30m", "9999999999999d", "-1s", "::", "1.5.5h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err == nil && d < 0 {
			t.Errorf("%q is %v", s, d)
		}
		FormatDuration(d)
	})
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"500MiB", "24G", "1.5TB", "99999999999999999999PB", "..B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err == nil && n < 0 {
			t.Errorf("%q is %d", s, n)
		}
		FormatSize(n)
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 jobs", 1: "1 job", 24: "24 jobs"} {
		if got := Count(n, "job"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
