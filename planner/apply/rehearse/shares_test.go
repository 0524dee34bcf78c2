package rehearse_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/rehearse"
)

func TestParseShares(t *testing.T) {
	t.Parallel()
	smokes := func(v float64) *float64 { return &v }
	for text, want := range map[string]rehearse.Shares{
		"":                           {},
		"none=0":                     {Launches: map[string]float64{}},
		"preempted=0.2 walltime=0.1": {Launches: map[string]float64{"preempted": 0.2, "walltime": 0.1}},
		"expect=0.5":                 {Smokes: smokes(0.5)},
		"expect=1 preempted=1":       {Launches: map[string]float64{"preempted": 1}, Smokes: smokes(1)},
		"none=0 expect=0":            {Smokes: smokes(0)},
	} {
		got, err := rehearse.ParseShares(strings.Fields(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !maps.Equal(got.Launches, want.Launches) || (got.Launches == nil) != (want.Launches == nil) {
			t.Errorf("%s: of launches %v, not %v", text, got.Launches, want.Launches)
		}
		if (got.Smokes == nil) != (want.Smokes == nil) || got.Smokes != nil && *got.Smokes != *want.Smokes {
			t.Errorf("%s: of smokes %v", text, got.Smokes)
		}
	}
}

func TestSharesRefused(t *testing.T) {
	t.Parallel()
	own := []lang.Failure{{Name: "diverged"}, {Name: "other", Class: "nan"}}
	for text, want := range map[string]string{
		"preempted":                  "a share from 0 to 1",
		"preempted=1.5":              "a share from 0 to 1",
		"preempted=NaN":              "a share from 0 to 1",
		"oom=0.1":                    "oom is three classes",
		"walltime=0.1 walltime=0.2":  "walltime is stated twice",
		"walltime=0.6 preempted=0.6": "add up to 1.2",
		"preemted=0.1":               "did you mean preempted?",
		"other=0.1":                  `"other" is not a failure class`,
		"diverged=0.1 nan=0.1":       "",
	} {
		s, err := rehearse.ParseShares(strings.Fields(text))
		if err == nil {
			err = s.Check(own)
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s is refused: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s is told as %v", text, err)
		}
	}
}
