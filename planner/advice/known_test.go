package advice

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// TestBlockOfAFailure: a block matches what was seen, whatever is in the line, and its
// name is none of muster's own.
func TestBlockOfAFailure(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"license server at /srv/l2 port 27182 says no": `license_server_at_port: license server at \S*/\S* port \S+ says no`,
		"killed by 5":         `own_killed: killed by \S+`,
		"Error: x(3) != [4]":  `error_x: Error: x\(\S+\) != \[\S+\]`,
		"12:30 ${HOME} %{if}": `home_if: \S+ \$\{HOME\} %\{if\}`,
	} {
		signature := failure.Signature(line)
		if strings.HasPrefix(want, "own_killed") {
			signature = "killed"
			want = `own_killed: killed`
		}
		re := pattern(signature, line)
		if got := blockName(signature) + ": " + re; got != want || !regexp.MustCompile(re).MatchString(line) {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// TestCameTwice: launches of unknown cause count, also those before a resume; known
// classes and what the catalogue has by now do not.
func TestCameTwice(t *testing.T) {
	t.Parallel()
	// Requirement: LRN-02
	at := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	failed := func(class, line string) state.Attempt {
		return state.Attempt{N: 1, Token: "t", Class: class, Tail: []string{line, ""}, Ended: at}
	}
	st := state.New("c")
	st.Jobs["phase.a"] = &state.Job{Address: "phase.a", Phase: "a", Status: state.Failed, Attempts: []state.Attempt{failed(failure.Unknown, "no route 2")}}
	for _, v := range []struct {
		name     string
		earlier  []state.Attempt
		failures []lang.Failure
		want     int
	}{
		{"once", nil, nil, 0},
		{"twice", []state.Attempt{failed(failure.Unknown, "no route 1")}, nil, 1},
		{"another line", []state.Attempt{failed(failure.Unknown, "no beer")}, nil, 0},
		{"a known class", []state.Attempt{failed(failure.Killed, "no route 1")}, nil, 0},
		{"in the catalogue", []state.Attempt{failed(failure.Unknown, "no route 1")}, []lang.Failure{{Match: "no route"}}, 0},
	} {
		st.Earlier = map[string][]state.Attempt{"phase.a": v.earlier}
		got := Of(Input{Campaign: &lang.Campaign{Failures: v.failures}, State: st}).Proposals
		if len(got) != v.want {
			t.Errorf("%s: %+v", v.name, got)
		}
		if len(got) > 0 && !strings.Contains(got[0].Edit.After, `seen  = "2026-11-23"`) {
			t.Errorf("%s", got[0].Edit.After)
		}
	}
}
