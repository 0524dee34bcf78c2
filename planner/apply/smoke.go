package apply

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

// smokesDisagree names the metric in which the last of several runs differs from the
// first by more than a share of the larger one, "" if there is none.
func smokesDisagree(runs []state.SmokeRun, tolerance float64) string {
	if len(runs) < 2 {
		return ""
	}
	first, last := runs[0], runs[len(runs)-1]
	if math.Abs(first.Elapsed-last.Elapsed) > leastDifference && differBy(first.Elapsed, last.Elapsed, tolerance) {
		return fmt.Sprintf("its repeats took %s and %s, and may differ by %.3g %%", secondsText(first.Elapsed), secondsText(last.Elapsed), 100*tolerance)
	}
	for _, name := range slices.Sorted(maps.Keys(first.Metrics)) {
		a, b := first.Metrics[name], last.Metrics[name]
		x, errX := metricNumber(a)
		y, errY := metricNumber(b)
		switch {
		case a == b:
		case errX != nil || errY != nil:
			return fmt.Sprintf("metric.%s was %s in one repeat and %s in another", name, a, orNone(b))
		case differBy(x, y, tolerance):
			return fmt.Sprintf("metric.%s was %s in one repeat and %s in another, and may differ by %.3g %%", name, a, b, 100*tolerance)
		}
	}
	return ""
}

// differBy reports whether two values differ by more than a share of the larger.
func differBy(a, b, share float64) bool {
	const rounding = 1 + 1e-9 // 1 and 0.95 differ by 5 %
	return !(math.Abs(a-b) <= share*max(math.Abs(a), math.Abs(b))*rounding)
}

// metricNumber is a metric's JSON text as a number.
func metricNumber(text string) (v float64, err error) {
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

func orNone(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// smokeTooSlow says by how much a smoke missed its least throughput, "" if it did not: a share
// of the throughput that fits the expected time.
func smokeTooSlow(took, expected time.Duration, least float64) string {
	if least <= 0 || expected <= 0 || took.Seconds()*least <= expected.Seconds() {
		return ""
	}
	return fmt.Sprintf("it took %s, and %s was expected from earlier smokes: %.2g of the expected throughput, where min_throughput asks for %.3g",
		secondsText(took.Seconds()), secondsText(expected.Seconds()), expected.Seconds()/took.Seconds(), least)
}

func secondsText(s float64) string {
	return units.FormatDuration(time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond))
}
