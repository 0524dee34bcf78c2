package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
	"github.com/muster-run/muster/state/store/storetest"
)

var at = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

const addr = `phase.p["i=1"]`

func intended(n int, token string) state.Event {
	return state.Intended{Job: state.Job{Address: addr, Phase: "p", Result: "r1"}, Attempt: state.Attempt{N: n, Token: token, Backend: "local", Ceiling: state.Amounts{"usd": "3"}}, At: at}
}

func observed(n int, token string, s state.Status) state.Observed {
	return state.Observed{Address: addr, Token: token, Status: s, Attempt: state.Attempt{N: n}, At: at}
}

func with(o state.Observed, change func(*state.Observed)) state.Event { change(&o); return o }

// Each story says in short what is known of the job afterwards: its status,
// class, and attempts as N:token(over).
func TestFold(t *testing.T) {
	// Requirement: STA-01, STA-04, STA-05
	t.Parallel()
	submitted := state.Submitted{Address: addr, Token: "aa", Handle: "7", At: at}
	for _, c := range []struct {
		name   string
		events []state.Event
		want   string
	}{
		{"nothing", nil, "none"},
		{"intended", []state.Event{intended(1, "aa")}, "submitting 1:aa"},
		{"intended twice", []state.Event{intended(1, "aa"), intended(1, "aa")}, "submitting 1:aa"},
		{"submitted", []state.Event{intended(1, "aa"), submitted}, "queued 1:aa"},
		{"submitted with another handle", []state.Event{intended(1, "aa"), submitted, state.Submitted{Address: addr, Token: "aa", Handle: "8"}}, "queued 1:aa+8"},
		{"submitted, never intended", []state.Event{submitted}, "none"},
		{"withdrawn", []state.Event{intended(1, "aa"), state.NotSubmitted{Address: addr, Token: "aa"}}, "none"},
		{"withdrawn after it ran", []state.Event{intended(1, "aa"), with(observed(1, "aa", state.Running), func(o *state.Observed) { o.Attempt.Started = at }), state.NotSubmitted{Address: addr, Token: "aa"}}, "running 1:aa"},
		{"withdrawn second launch", []state.Event{intended(1, "aa"), with(observed(1, "aa", state.Failed), func(o *state.Observed) { o.Attempt.Class = "oom" }), intended(2, "bb"), state.NotSubmitted{Address: addr, Token: "bb"}}, "failed(oom) 1:aa."},
		{"a report of an unknown token", []state.Event{intended(1, "aa"), observed(1, "zz", state.Completed)}, "submitting 1:aa"},
		{"a report of an unknown job", []state.Event{observed(1, "aa", state.Completed)}, "none"},
		{"completed", []state.Event{intended(1, "aa"), submitted, observed(1, "aa", state.Completed)}, "completed 1:aa."},
		{"running comes after completed", []state.Event{intended(1, "aa"), observed(1, "aa", state.Completed), observed(1, "aa", state.Running)}, "completed 1:aa."},
		{"failed comes after completed", []state.Event{intended(1, "aa"), observed(1, "aa", state.Completed), observed(1, "aa", state.Failed)}, "completed 1:aa."},
		{"queued comes after running", []state.Event{intended(1, "aa"), observed(1, "aa", state.Running), observed(1, "aa", state.Queued)}, "running 1:aa"},
		{"the exit record corrects a cancel", []state.Event{intended(1, "aa"), observed(1, "aa", state.Cancelled), observed(1, "aa", state.Completed)}, "completed 1:aa."},
		{"the queue launches again", []state.Event{intended(1, "aa"), with(observed(1, "aa", state.Waiting), func(o *state.Observed) { o.Attempt.Class = "oom" }), observed(2, "aa/2", state.Running)}, "running 1:aa. 2:aa/2"},
		{"the queue launched again unseen", []state.Event{intended(1, "aa"), observed(2, "aa", state.Running)}, "running 1:aa. 2:aa"},
		{"late news of the first launch", []state.Event{intended(1, "aa"), observed(2, "aa/2", state.Running), observed(1, "aa", state.Failed)}, "running 1:aa. 2:aa/2"},
		{"the first launch was the fourth", []state.Event{intended(4, "aa"), observed(5, "aa/5", state.Running)}, "running 4:aa. 5:aa/5"},
		{"no launch number means the last", []state.Event{intended(1, "aa"), observed(2, "aa/2", state.Running), observed(0, "aa", state.Completed)}, "completed 1:aa. 2:aa/2."},
		{"fresh", []state.Event{intended(1, "aa"), observed(1, "aa", state.Failed), state.Intended{Job: state.Job{Address: addr}, Attempt: state.Attempt{N: 1, Token: "bb"}, Fresh: true}}, "submitting 1:bb"},
		{"a late report of what was before fresh", []state.Event{intended(1, "aa"), observed(1, "aa", state.Failed), state.Intended{Job: state.Job{Address: addr}, Attempt: state.Attempt{N: 1, Token: "bb"}, Fresh: true}, observed(1, "aa", state.Completed)}, "submitting 1:bb"},
		{"held", []state.Event{state.HeldJob{Address: addr, By: "ada"}}, "held"},
		{"held, then it turns out to run", []state.Event{intended(1, "aa"), state.HeldJob{Address: addr}, observed(1, "aa", state.Running)}, "running 1:aa"},
		{"held, and still queued", []state.Event{intended(1, "aa"), submitted, state.HeldJob{Address: addr}, observed(1, "aa", state.Queued)}, "held 1:aa"},
		{"held after it failed", []state.Event{intended(1, "aa"), observed(1, "aa", state.Failed), state.HeldJob{Address: addr}, observed(1, "aa", state.Failed)}, "held 1:aa."},
		{"held when done", []state.Event{intended(1, "aa"), observed(1, "aa", state.Completed), state.HeldJob{Address: addr}}, "completed 1:aa."},
		{"freed", []state.Event{state.HeldJob{Address: addr}, state.Freed{Address: addr}}, "none"},
		{"freed while a backend has it", []state.Event{intended(1, "aa"), submitted, state.HeldJob{Address: addr}, state.Freed{Address: addr}}, "queued 1:aa"},
		{"freed when done", []state.Event{intended(1, "aa"), observed(1, "aa", state.Completed), state.Freed{Address: addr}}, "completed 1:aa."},
		{"forgotten", []state.Event{intended(1, "aa"), state.Forgot{Address: addr}, observed(1, "aa", state.Completed)}, "forgotten 1:aa."},
		{"forgotten for good", []state.Event{intended(1, "aa"), state.Forgot{Address: addr, Hard: true}, observed(1, "aa", state.Completed)}, "none"},
		{"moved away", []state.Event{intended(1, "aa"), state.MovedJob{From: addr, To: "phase.q"}}, "none"},
		{"moved there and back", []state.Event{intended(1, "aa"), state.MovedJob{From: addr, To: "phase.q"}, state.MovedJob{From: "phase.q", To: addr}}, "submitting 1:aa"},
		{"moved onto another", []state.Event{state.HeldJob{Address: "phase.q"}, intended(1, "aa"), state.MovedJob{From: addr, To: "phase.q"}}, "submitting 1:aa"},
		{"a pointer to an event", []state.Event{&state.HeldJob{Address: addr}, (*state.Freed)(nil)}, "held"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := state.New("c")
			for _, e := range c.events {
				s.Apply(e)
			}
			if got := short(s.Job(addr)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func short(j *state.Job) string {
	if j == nil {
		return "none"
	}
	text := string(j.Status)
	if j.Class != "" {
		text += "(" + j.Class + ")"
	}
	for _, a := range j.Attempts {
		text += fmt.Sprintf(" %d:%s", a.N, strings.Join(append([]string{a.Token}, a.Duplicates...), "+"))
		if !a.Ended.IsZero() {
			text += "."
		}
	}
	return text
}

func TestSpent(t *testing.T) {
	t.Parallel()
	entry := func(n int, usd string, unknown bool, after time.Duration) state.Entry {
		e := state.Entry{Address: addr, Attempt: n, Backend: "local", At: at.Add(after), Unknown: unknown}
		if usd != "" {
			e.Spent = state.TextsOf(state.Amounts{"usd": usd})
		}
		return e
	}
	paid := func(n int, usd string, after time.Duration) state.Event {
		return with(observed(n, "aa", state.Running), func(o *state.Observed) { e := entry(n, usd, false, after); e.Token, o.Spent = "aa", &e })
	}
	again := intended(1, "bb").(state.Intended)
	again.Fresh, again.Attempt.Intent = true, at.Add(time.Hour)
	relaunched := with(observed(1, "bb", state.Running), func(o *state.Observed) {
		e := entry(1, "1", false, 2*time.Hour)
		e.Token, o.Spent = "bb", &e
	})
	for _, c := range []struct {
		name   string
		events []state.Event
		want   string
	}{
		{"nothing", nil, "map[] 0"},
		{"exact in decimal", []state.Event{state.Spent{Entry: entry(1, "0.1", false, 0)}, state.Spent{Entry: entry(2, "0.2", false, 0)}}, "map[usd:0.3] 0"},
		{"reported twice", []state.Event{intended(1, "aa"), paid(1, "1", 0), paid(1, "1", 0)}, "map[usd:1] 0"},
		{"reported again, and more", []state.Event{intended(1, "aa"), paid(1, "1", 0), paid(1, "2", time.Second)}, "map[usd:2] 0"},
		{"attempts from 1 again", []state.Event{state.Spent{Entry: entry(1, "1", false, 0)}, state.Spent{Entry: entry(1, "1", false, time.Hour)}}, "map[usd:2] 0"},
		{"attempts from 1 again after the clock was set back", []state.Event{intended(1, "aa"), paid(1, "1", 3*time.Hour), again, relaunched}, "map[usd:2] 0"},
		{"of a job nobody knows", []state.Event{paid(1, "1", 0)}, "map[usd:1] 0"},
		{"unknown counts at its ceiling", []state.Event{intended(1, "aa"), state.Spent{Entry: entry(1, "", true, 0)}}, "map[usd:3] 0"},
		{"unknown without a ceiling", []state.Event{state.Spent{Entry: entry(1, "", true, 0)}}, "map[] 1"},
		{"unknown becomes known", []state.Event{state.Spent{Entry: entry(1, "9", true, 0)}, state.Spent{Entry: entry(1, "1", false, time.Hour)}}, "map[usd:1] 0"},
		{"no number", []state.Event{state.Spent{Entry: entry(1, "much", false, 0)}}, "map[] 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := state.New("c")
			for _, e := range c.events {
				s.Apply(e)
			}
			spent, unknown := s.Spent(nil)
			if got := fmt.Sprintf("%v %d", map[string]string(spent), unknown); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestSmokeIsFoundByItsToken(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	s.Apply(state.Intended{Job: state.Job{Address: "phase.a", Smoke: true}, Attempt: state.Attempt{N: 1, Token: "aa"}})
	s.Apply(state.Intended{Job: state.Job{Address: "phase.a"}, Attempt: state.Attempt{N: 1, Token: "bb"}})
	s.Apply(state.Observed{Address: "phase.a", Token: "aa", Status: state.Completed, Attempt: state.Attempt{N: 1}})
	if a, b := s.Job(state.SmokeAddress("phase.a")).Status, s.Job("phase.a").Status; a != state.Completed || b != state.Submitting {
		t.Errorf("smoke %s, job %s", a, b)
	}
}

func TestBackendsAndProtectionStayWhenTheyLeave(t *testing.T) {
	t.Parallel()
	s := state.New("")
	s.Apply(state.Began{Lineage: "l", Campaign: "c", Backends: map[string]state.Backend{"lab": {Type: "ssh"}}, Protected: []string{"a", "b"}, Variables: map[string]state.Variable{"x": {Digest: "1"}, "y": {}}})
	s.Apply(state.Began{Lineage: "other", Campaign: "c", Backends: map[string]state.Backend{"local": {Type: "local"}}, Unprotected: []string{"b"}, Variables: map[string]state.Variable{"x": {Digest: "2"}}})
	if s.Lineage != "l" || len(s.Backends) != 2 || !cmp.Equal(s.Protected, map[string]bool{"a": true}) || len(s.Variables) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	s.Apply(state.Approved{Approval: state.Approval{Plan: "p", Who: "ada", Begun: at}})
	s.Apply(state.Approved{Approval: state.Approval{Plan: "p", Who: "ada", Begun: at.Add(time.Hour)}})
	s.Apply(state.Finished{Plan: "p", Outcome: "done", At: at.Add(2 * time.Hour)})
	s.Apply(state.Finished{Plan: "q", Outcome: "done", At: at})
	if len(s.Approvals) != 2 || !s.Approvals[0].Begun.Equal(at) || s.Approvals[0].Finished.IsZero() || s.Approvals[1].Plan != "q" {
		t.Errorf("%+v", s.Approvals)
	}
}

// The fold is a function of the events alone: of what was written of them, in
// whatever pieces, and it shares nothing with them.
func TestFoldOfWhatIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := storetest.Events(30).Draw(t, "events")
		a, b := state.New("c"), state.New("c")
		for _, e := range events {
			raw, err := codec.AppendEvent(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			back, err := new(codec.Decoder).Event(e.Kind(), string(raw))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(raw, []byte(`\ufffd`)) {
				back = e
			}
			a.Apply(back)
			again, _ := new(codec.Decoder).Event(e.Kind(), string(raw))
			b.Apply(again)
			spoil(e)
		}
		if a.Digest() != b.Digest() {
			x, _ := json.Marshal(a.Jobs)
			y, _ := json.Marshal(b.Jobs)
			t.Fatalf("%s\n%s", x, y)
		}
		check(t, a)
	})
}

// TestForgottenInFlightIsNotCompleted: files that were seen are not what an
// attempt made that never ended.
func TestForgottenInFlightIsNotCompleted(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	for _, e := range []state.Event{
		state.Intended{Job: state.Job{Address: "phase.a", Phase: "a"}, Attempt: state.Attempt{N: 1, Token: "aa", Backend: "local"}},
		state.Forgot{Address: "phase.a"},
		state.OutputsSeen{Address: "phase.a", Outputs: []state.Output{{Name: "out"}}},
		state.MovedJob{From: "phase.a", To: "phase.a"},
	} {
		s.Apply(e)
	}
	if j := s.Jobs["phase.a"]; j.Status == state.Completed {
		t.Errorf("%+v", j)
	}
}

// spoil changes what an event points to, as a caller that reuses it would.
func spoil(e state.Event) {
	switch e := e.(type) {
	case state.Observed:
		for i := range e.Outputs {
			e.Outputs[i].Name = "spoiled"
		}
		for i := range e.Attempt.Tail {
			e.Attempt.Tail[i] = "spoiled"
		}
	case state.Intended:
		for k := range e.Job.Axes {
			e.Job.Axes[k].Value = "spoiled"
		}
	}
}

// check holds a state against what is always true of one.
func check(t *rapid.T, s *state.State) {
	for key, j := range s.Jobs {
		if j.Key() != key {
			t.Fatalf("the job at %s says that it is %s", key, j.Key())
		}
		if j.Status == "" {
			t.Fatalf("%s has no status", key)
		}
		for i, a := range j.Attempts {
			if i > 0 && a.N <= j.Attempts[i-1].N {
				t.Fatalf("%s: launch %d comes after %d", key, a.N, j.Attempts[i-1].N)
			}
		}
		if j.Status == state.Completed && len(j.Attempts) > 0 && j.Last().Ended.IsZero() {
			t.Fatalf("%s is completed, its attempt is not over", key)
		}
	}
}

// TestSmokeFreed: a smoke that is let run again has no verdict any more, unless
// it passed; other jobs' verdicts stay.
func TestSmokeFreed(t *testing.T) {
	t.Parallel()
	for _, passed := range []bool{false, true} {
		s := &state.State{Jobs: map[string]*state.Job{state.SmokeAddress("phase.a"): {Address: "phase.a", Smoke: true, Status: state.Completed}}}
		s.Apply(state.Validated{Validation: state.Validation{Fingerprint: "f", Address: "phase.a", Passed: passed}})
		s.Apply(state.Validated{Validation: state.Validation{Fingerprint: "g", Address: "phase.b"}})
		s.Apply(state.Freed{Address: state.SmokeAddress("phase.a")})
		_, verdict := s.Validations["f"]
		_, other := s.Validations["g"]
		if record := s.Job(state.SmokeAddress("phase.a")) != nil; record != passed || verdict != passed || !other {
			t.Errorf("passed %t: record %t, verdict %t, another's %t", passed, record, verdict, other)
		}
	}
}

// TestWhatMovesTakesItsCostAlong: the cost of a record is under its new address and phase,
// also the cost that is reported later.
func TestWhatMovesTakesItsCostAlong(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	entry := func(address string, n int, usd string, unknown bool) state.Event {
		return state.Spent{Entry: state.Entry{Address: address, Attempt: n, Token: "aa", Backend: "local", Phase: strings.TrimPrefix(address, "phase.")[:1], At: at, Unknown: unknown, Spent: state.TextsOf(state.Amounts{"usd": usd})}}
	}
	to := `phase.q["i=1"]`
	for _, e := range []state.Event{
		entry("phase.p", 1, "7", false), intended(1, "aa"), entry(addr, 1, "1", false), entry(addr, 2, "3", true),
		state.MovedJob{From: addr, To: to, At: at}, entry(to, 2, "2", false), entry(addr, 1, "5", false),
	} {
		s.Apply(e)
	}
	got := map[string]string{}
	for _, phase := range []string{"p", "q"} {
		spent, _ := s.Spent(func(e state.Entry) bool { return e.Phase == phase })
		got[phase] = spent["usd"]
	}
	// Of p there is another job, and what a later job of the old address cost.
	if want := (map[string]string{"p": "12", "q": "3"}); !maps.Equal(got, want) {
		t.Errorf("%v, not %v: %+v", got, want, s.Ledger)
	}
}

// Records read from one file share the maps that are equal in them. What is learned
// of one of them is not learned of the others.
func TestLateInputsAreOfOneJob(t *testing.T) {
	t.Parallel()
	var d codec.Decoder
	st := state.New("c")
	for _, address := range []string{"phase.a", "phase.b"} {
		j := &state.Job{}
		row := fmt.Sprintf(`{"address":"%s","phase":"p","input_bytes":{"image":"sha256:1"},"status":"running","attempts":[{"n":1,"token":"%s","backend":"local"}]}`, address, address)
		if err := d.Job(row, j); err != nil {
			t.Fatal(err)
		}
		st.Jobs[address] = j
	}
	st.Apply(state.Observed{Address: "phase.a", Token: "phase.a", Status: state.Completed, Attempt: state.Attempt{N: 1}, Inputs: map[string]string{"late": "sha256:2"}, At: at})
	if a, b := st.Jobs["phase.a"].InputBytes.Get("late"), st.Jobs["phase.b"].InputBytes.Get("late"); a != "sha256:2" || b != "" {
		t.Errorf("phase.a read %q, phase.b %q", a, b)
	}
}

// A machine that was ordered has another id once its cloud gives it one.
func TestAnOrderBecomesAMachine(t *testing.T) {
	t.Parallel()
	s := state.New("l")
	for _, e := range []state.Event{
		state.Rented{Rental: state.Rental{ID: "order", Status: state.RentalAsked}},
		state.Rented{Rental: state.Rental{ID: "other", Status: state.RentalRunning}},
		state.Rented{Rental: state.Rental{ID: "9", Status: state.RentalBooting}, Order: "order"},
	} {
		s.Apply(e)
	}
	if len(s.Rentals) != 2 || s.Rentals["9"].Status != state.RentalBooting || s.Rentals["other"].ID == "" {
		t.Errorf("%+v", s.Rentals)
	}
}

// Jobs that share a machine share its bill: where they were charged more, one by one, than
// their machines cost, each is charged less, and nothing costs less than nothing.
func TestSharedLedger(t *testing.T) {
	t.Parallel()
	usd := func(text string) state.Texts { return state.TextsOf(map[string]string{"usd": text, "gpu_hours": "1"}) }
	for name, c := range map[string]struct {
		machines, bill string
		want           []string // of the two jobs and the machines
	}{
		"boot and idle":        {"0.5", "4.5", []string{"1", "2", "0.5"}},
		"they shared one":      {"-1", "3", []string{"0.666666667", "1.333333333"}},
		"one that cost little": {"-2.999999999", "1.000000001", []string{"0", "0.000000001"}},
		"less than nothing":    {"-4", "0", []string{"0", "0", "-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := state.New("l")
			for _, e := range []state.Entry{
				{Address: "phase.a", Attempt: 1, Backend: "vastai.x", Spent: usd("1")},
				{Address: "phase.b", Attempt: 1, Backend: "vastai.x", Spent: usd("2")},
				{Address: "phase.c", Attempt: 1, Backend: "local.x", Spent: usd("1")},
				{Address: "backend.vastai.x", Backend: "vastai.x", Token: "machines", Spent: state.TextsOf(map[string]string{"usd": c.machines})},
			} {
				s.Apply(state.Spent{Entry: e})
			}
			sum, got := state.Amounts{}, []string(nil)
			for _, e := range s.Shared() {
				sum.Add(e.Spent.Map())
				if e.Backend == "vastai.x" {
					got = append(got, e.Spent.Get("usd"))
				}
			}
			if !slices.Equal(got, c.want) || sum["usd"] != c.bill || sum["gpu_hours"] != "3" {
				t.Errorf("%q, and %s in all", got, sum)
			}
		})
	}
}

// TestCancelledWhileItWaits: the class of the failure after which a job waited for another launch is not
// that of its cancel.
func TestCancelledWhileItWaits(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	for _, e := range []state.Event{
		intended(1, "aa"), with(observed(1, "aa", state.Waiting), func(o *state.Observed) { o.Attempt.Class = "unknown" }),
		observed(1, "aa", state.Cancelled),
	} {
		s.Apply(e)
	}
	if j := s.Jobs[addr]; !j.CancelledByPerson() || j.Attempts[0].Class != "unknown" {
		t.Errorf("%+v", j)
	}
}

// TestCancelledAsPlanned: a cancelled job is recorded as the plan had it, whatever its launch was.
func TestCancelledAsPlanned(t *testing.T) {
	t.Parallel()
	s := state.New("c")
	for _, e := range []state.Event{
		intended(1, "aa"), with(observed(1, "aa", state.Cancelled), func(o *state.Observed) { o.Attempt.Class = "blocked" }),
		state.HeldJob{Address: addr, Cancelled: true, By: "ada", Job: &state.Job{Result: "r2", Request: "q2"}},
	} {
		s.Apply(e)
	}
	if j := s.Jobs[addr]; !j.CancelledByPerson() || j.Result != "r2" || j.Request != "q2" || len(j.Attempts) != 1 {
		t.Errorf("%+v", j)
	}
}
