// Package smoke judges what a smoke measured: whether its repeats agree, and
// whether it was as fast as expected.
package smoke

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/state"
)

// leastDifference is how far run times may always differ, in seconds: starting a
// job is no more regular than that.
const leastDifference = 1

// Disagree says in what the last of several runs differs from the first by more
// than a share of the larger one, "" if it does not.
func Disagree(runs []state.SmokeRun, tolerance float64) string {
	if len(runs) < 2 {
		return ""
	}
	first, last := runs[0], runs[len(runs)-1]
	if math.Abs(first.Elapsed-last.Elapsed) > leastDifference && apart(first.Elapsed, last.Elapsed, tolerance) {
		return fmt.Sprintf("its repeats took %s and %s, and may differ by %.3g %%", seconds(first.Elapsed), seconds(last.Elapsed), 100*tolerance)
	}
	for _, name := range slices.Sorted(maps.Keys(first.Metrics)) {
		a, b := first.Metrics[name], last.Metrics[name]
		x, errX := number(a)
		y, errY := number(b)
		switch {
		case a == b:
		case errX != nil || errY != nil:
			return fmt.Sprintf("metric.%s was %s in one repeat and %s in another", name, a, orNone(b))
		case apart(x, y, tolerance):
			return fmt.Sprintf("metric.%s was %s in one repeat and %s in another, and may differ by %.3g %%", name, a, b, 100*tolerance)
		}
	}
	return ""
}

// apart reports whether two values differ by more than a share of the larger.
func apart(a, b, share float64) bool {
	const rounding = 1 + 1e-9 // 1 and 0.95 differ by 5 %
	return !(math.Abs(a-b) <= share*max(math.Abs(a), math.Abs(b))*rounding)
}

// number is a metric's JSON text as a number.
func number(text string) (v float64, err error) {
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

func orNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// TooSlow says by how much a smoke missed its least throughput, "" if it did not:
// a share of what would have let it take the expected time.
func TooSlow(took, expected time.Duration, least float64) string {
	if least <= 0 || expected <= 0 || took.Seconds()*least <= expected.Seconds() {
		return ""
	}
	return fmt.Sprintf("it took %s, and %s was expected from earlier smokes: %.2g of the expected throughput, where min_throughput asks for %.3g",
		seconds(took.Seconds()), seconds(expected.Seconds()), expected.Seconds()/took.Seconds(), least)
}

func seconds(s float64) string {
	return units.FormatDuration(time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond))
}
