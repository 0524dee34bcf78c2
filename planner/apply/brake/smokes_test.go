package brake

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
)

// TestSmokes: words are what smokes that failed said, the latest last.
func TestSmokes(t *testing.T) {
	t.Parallel()
	policy := lang.Breaker{SameError: 3, Share: 0.15}
	for words, c := range map[string]struct {
		policy lang.Breaker
		trip   string
	}{
		"":                         {policy, ""},
		"nan nan":                  {policy, ""},
		"nan nan nan":              {policy, "the smoke failed 3 times in a row with the same error: nan"},
		"loss=7.1 loss=7.2 loss=8": {policy, "the smoke failed 3 times in a row with the same error: loss=8"},
		"nan nan oom nan":          {policy, ""},
		"a b c d":                  {policy, ""},
		"a b c d e":                {policy, "5 smokes have failed and none passed, the last: e"},
		"a b c d e f":              {policy, "6 smokes have failed and none passed, the last: f"},
		"nan nan nan nan":          {lang.Breaker{SameError: 5}, ""},
		"x x x x":                  {lang.Breaker{}, ""},
	} {
		trip := Smokes(strings.Fields(words), c.policy)
		if got := (trip != nil); got != (c.trip != "") || got && trip.Reason != c.trip {
			t.Errorf("%q: %+v, want %q", words, trip, c.trip)
		}
	}
}
