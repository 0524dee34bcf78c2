package rehearse_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/rehearse"
	"github.com/muster-run/muster/state"
)

// attended plays with somebody who comes after a time, several at once.
func (y *yard) attended(after time.Duration, n int, fails map[string]float64, unexpected *float64) ([]rehearse.Result, string) {
	y.t.Helper()
	c, p, in := y.plan()
	stage, err := rehearse.New(rehearse.Input{Campaign: c, State: y.state, Plan: p, Pools: in.Pools, Can: in.Can, Seed: 7, Fails: fails, Unexpected: unexpected, ResumeAfter: after, Again: in})
	if err != nil {
		y.t.Fatal(err)
	}
	runs := make([]rehearse.Result, n)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := w; i < n; i += 3 {
				r, err := stage.Play(context.Background(), i)
				if err != nil {
					y.t.Error(err)
				}
				runs[i] = r
			}
		})
	}
	wg.Wait()
	return runs, stage.Attended(runs)
}

// TestSomebodyResumesAHold that was set before: a stated time later the campaign
// goes on; else it stays where it is.
func TestSomebodyResumesAHold(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 4\nusd_per_hour = 1", "runtime = \"1h\"", phase("a", 8, "")))
	y.state.Apply(state.HoldSet{Hold: state.Hold{Who: "ada", At: start}})
	runs, text := y.attended(0, 1, noFailures(), nil)
	if r := runs[0]; r.Done != 0 || r.Visits != 0 || !strings.Contains(text, "nobody resumes") || !strings.Contains(text, "the hold of ada") {
		t.Errorf("%+v\n%s", r, text)
	}
	runs, text = y.attended(12*time.Hour, 1, noFailures(), nil)
	if r := runs[0]; r.Done != 8 || r.Visits != 1 || r.Took != 14*time.Hour || r.Spent["usd"] != "8" || !strings.Contains(text, "resumes all held jobs 12h after everything has stopped") {
		t.Errorf("%+v\n%s", r, text)
	}
	if len(y.state.Holds) != 1 || len(y.state.Jobs) != 0 {
		t.Error("the state changed")
	}
}

// TestSomebodyResumesWhatFailed: breakers, jobs whose launches are used up, and
// smokes; the launches that follow are others, and all of them are paid for.
func TestSomebodyResumesWhatFailed(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 4\nusd_per_hour = 1", "runtime = \"1h\"", phase("a", 12, "")))
	unattended, _ := y.attended(0, 12, map[string]float64{"nan": 0.3}, nil)
	runs, _ := y.attended(24*time.Hour, 12, map[string]float64{"nan": 0.3}, nil)
	done, came := 0, 0
	for i, r := range runs {
		if u := unattended[i]; r.Done < u.Done || r.Took < time.Duration(r.Visits)*24*time.Hour || rehearse.Spent("usd")(r) < rehearse.Spent("usd")(u) {
			t.Errorf("attended %+v, else %+v", r, u)
		}
		if r.Done == 12 {
			done++
		}
		came += r.Visits
	}
	if done < 9 || came == 0 { // a job fails five times in a row in one of 400
		t.Errorf("%d of 12 were done, after %d visits", done, came)
	}

	half := 0.5
	y = newYard(t, campaign("slots = 4", "runtime = \"20m\"", measured(4)))
	runs, _ = y.attended(time.Hour, 20, noFailures(), &half)
	done, came = 0, 0
	for _, r := range runs {
		if r.Done == 4 {
			done++
		}
		came += r.Visits
	}
	if done < 16 || came == 0 { // one in 32 fails five times
		t.Errorf("%d of 20 were done, after %d visits", done, came)
	}
}

// TestNobodyComesForEver: where resuming helps nothing, it ends.
func TestNobodyComesForEver(t *testing.T) {
	t.Parallel()
	y := newYard(t, campaign("slots = 4", "runtime = \"1h\"", phase("a", 4, "")))
	runs, _ := y.attended(time.Hour, 2, map[string]float64{"nan": 1}, nil)
	if r := runs[0]; r.Done != 0 || r.Failed == 0 || r.Visits != 3 {
		t.Errorf("%+v", r)
	}
}
