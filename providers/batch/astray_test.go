package batch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// first is the name of the first batch.
func (k *bench) first() string { return k.s.backends[k.b.Name].campaign.jobs.batches[0].Name }

// row is a row of the queue, under the name of the first batch.
func (k *bench) row(id string, index int, state, reason string) values {
	return values{"%F": id, "%K": fmt.Sprint(index), "%T": state, "%r": reason, "%V": fmt.Sprint(time.Now().Unix()), "%j": k.first()}
}

// lost has an sbatch whose answer was lost an hour ago.
func (k *bench) lost(jobs []providers.Job) {
	k.Helper()
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Connection reset by peer")}
	}
	for _, r := range k.submit("batch0123456789", jobs...) {
		if r.Err == nil || r.Err.Class != providers.Unreachable {
			k.Fatalf("an sbatch whose connection was reset is %+v", r)
		}
	}
	failed := filepath.Join(k.spool(), "batches", k.first(), "failed")
	if err := os.WriteFile(failed, []byte(time.Now().Add(-time.Hour).Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		k.Fatal(err)
	}
	k.f.refuse, k.f.calls = nil, nil
	k.restart()
}

// TestNotSubmitted: what Slurm does not have after an sbatch whose answer was
// lost is not absent: it is on the spool and is sent from there. Whoever were
// told otherwise would run it under another token as well.
func TestNotSubmitted(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 3, nil)
	k.lost(jobs)
	seen, err := k.s.Find(t.Context(), k.b.Name, []string{"a0", "a1", "a2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range seen {
		if o.Presence != offer.Found || o.Status != offer.Queued || o.Handle != "" {
			t.Errorf("a job that waits on the spool is %+v", o)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(k.f.calls), func(c string) bool { return !strings.HasPrefix(c, "sacct ") })); n != 1 {
		t.Errorf("accounting was asked %d times of one array: %q", n, k.f.calls)
	}
	k.restart()
	if out := k.submit("batch0123456789", jobs...); out[2].Handle != "1_2" || len(k.f.sent()) != 1 {
		t.Errorf("then it is %+v, sent by %q", out[2], k.f.sent())
	}
}

// TestCancelledUnsubmitted: neither is it left in doubt when it is cancelled.
func TestCancelledUnsubmitted(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.lost(k.jobs("a", 2, nil))
	if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "a1"}}); err != nil {
		t.Fatal(err)
	}
	if o := k.found("a1"); o.Status != offer.Cancelled {
		t.Errorf("%+v", o)
	}
	if k.submit("other0123456789", k.jobs("b", 1, nil)...); len(k.f.sent()) != 1 || strings.Contains(k.f.scripts[0], "phase.a") {
		t.Errorf("sent: %q", k.f.scripts)
	}
}

// TestAfterRefused: what comes after a job that Slurm will not have is not sent.
func TestAfterRefused(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.refuse = func(argv []string) *command.Result {
		if strings.Contains(argv[len(argv)-1], "/a.") {
			return &command.Result{Code: 1, Err: []byte("sbatch: error: invalid account or account/partition combination specified")}
		}
		return nil
	}
	k.submit("batch0123456789", append(k.jobs("a", 2, nil), k.jobs("b", 2, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)...)
	if o := k.found("b1"); o.Status != offer.Cancelled || o.Cause != offer.Blocked || len(k.f.scripts) != 0 {
		t.Errorf("%+v; sent: %q", o, k.f.scripts)
	}
}

// TestIDsGivenOutAgain: the id of what was lost is another's now. That is
// neither cancelled nor held, and ours counts as lost, not as cancelled.
func TestIDsGivenOutAgain(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 2, nil)...)
	theirs := func(i int) values {
		v := k.row("1", i, "PENDING", "Resources")
		v["%j"] = "theirs"
		return v
	}
	k.f.queued = []values{theirs(0), theirs(1)}
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] != "sacct" {
			return nil
		}
		return &command.Result{Out: printed(argv, values{"JobID": "1_[0-1]", "State": "PENDING", "Submit": fmt.Sprint(time.Now().Unix()), "JobName": "theirs"})}
	}
	hold := true
	if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold}); err != nil {
		t.Fatal(err)
	}
	k.claims("1", "a0", "a1")
	k.missing("a0", "a1")
	if o := k.found("a0"); o.Status != offer.Lost {
		t.Errorf("what is gone under another's id is %+v", o)
	}
	if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "a1"}}); err != nil {
		t.Fatal(err)
	}
	if got := k.f.told(); !slices.Equal(got, []string{"sbatch"}) {
		t.Errorf("Slurm was told %q", got)
	}
	for _, c := range k.f.calls {
		if strings.HasPrefix(c, "scontrol hold") {
			t.Errorf("another's job was held: %s", c)
		}
	}
}

// claims has elements of an array claim their tokens, in order.
func (k *bench) claims(array string, tokens ...string) {
	k.Helper()
	for i, token := range tokens {
		dir := filepath.Join(k.spool(), "claims", token)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			k.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "id"), fmt.Appendf(nil, "%s_%d\n", array, i), 0o600); err != nil {
			k.Fatal(err)
		}
	}
}

// missing has jobs be found nowhere for an hour.
func (k *bench) missing(tokens ...string) {
	k.Helper()
	if err := os.MkdirAll(filepath.Join(k.spool(), "missing"), 0o700); err != nil {
		k.Fatal(err)
	}
	for _, token := range tokens {
		path, at := filepath.Join(k.spool(), "missing", token), time.Now().Add(-time.Hour)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			k.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			k.Fatal(err)
		}
	}
}

// TestLostBeforeItBegan: what the controller forgot before it came to run has
// lost nothing: it is submitted again, under its token, with what comes after it,
// a few times at most. What had begun counts as lost.
func TestLostBeforeItBegan(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := append(k.jobs("a", 3, nil), k.jobs("b", 3, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)
	k.submit("batch0123456789", jobs...)
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] != "sacct" {
			return nil
		}
		return &command.Result{Out: printed(argv)}
	}
	k.claims("1", "a0")
	for n := range launchTries {
		k.missing("a0", "a1", "a2", "b0", "b1", "b2")
		k.restart()
		if o := k.found("a0"); o.Status != offer.Lost {
			t.Errorf("what had begun is %+v", o)
		}
		if o := k.found("b2"); o.Status != offer.Queued || o.Handle != "" || !strings.Contains(o.Reason, "lost it before it began") {
			t.Errorf("lost for the %d. time it is %+v", n+1, o)
		}
		k.f.scripts = nil
		k.restart()
		id := 3 + 2*n
		if out := k.submit("batch0123456789", jobs[1], jobs[2], jobs[4], jobs[5]); out[1].Handle != fmt.Sprintf("%d_2", id) || out[3].Handle != fmt.Sprintf("%d_2", id+1) {
			t.Errorf("submitted again they are %+v", out)
		}
		if len(k.f.scripts) != 2 || directive(k.f.scripts[0], "array") != "1-2" || directive(k.f.scripts[1], "dependency") != fmt.Sprintf("aftercorr:%d", id) {
			t.Errorf("sent: %q", k.f.scripts)
		}
	}
	k.missing("a1")
	k.restart()
	if o := k.found("a1"); o.Status != offer.Lost {
		t.Errorf("lost once more it is %+v", o)
	}
}

// TestGoneBeforeItBegan: an element that never started and is in the queue no more was
// cancelled by somebody, and is held; or a killed controller forgot it, and it is submitted
// again. The rest of its array tells which.
func TestGoneBeforeItBegan(t *testing.T) {
	t.Parallel()
	type row struct{ id, state string }
	for name, tt := range map[string]struct {
		queue  map[int]string // elements that are there
		acct   []row
		forgot bool
	}{
		"others wait":                       {map[int]string{1: "PENDING", 2: "PENDING"}, []row{{"1_[0-2]", "PENDING"}}, false},
		"others wait, and one runs":         {map[int]string{1: "RUNNING", 2: "PENDING"}, []row{{"1_1", "RUNNING"}, {"1_2", "PENDING"}}, false},
		"others run":                        {map[int]string{1: "RUNNING", 2: "RUNNING"}, []row{{"1_1", "RUNNING"}, {"1_2", "RUNNING"}}, false},
		"others have run":                   {nil, []row{{"1_1", "COMPLETED"}, {"1_2", "FAILED"}}, false},
		"it has a row":                      {nil, []row{{"1_0", "CANCELLED by 4711"}, {"1_1", "RUNNING"}}, false},
		"it has a row with others":          {nil, []row{{"1_[0-2]", "CANCELLED by 4711"}}, false},
		"all are gone":                      {nil, []row{{"1_[0-2]", "PENDING"}}, true},
		"one that ran is gone":              {nil, []row{{"1_1", "RUNNING"}}, true},
		"one that ran is gone, one is over": {nil, []row{{"1_1", "COMPLETED"}, {"1_2", "RUNNING"}}, true},
		"one is gone, as is what waits":     {nil, []row{{"1_1", "RUNNING"}, {"1_[0,2]", "PENDING"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.submit("batch0123456789", k.jobs("a", 3, nil)...)
			for i, state := range tt.queue {
				k.f.queued = append(k.f.queued, k.row("1", i, state, "None"))
			}
			batch, now := k.first(), fmt.Sprint(time.Now().Unix())
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] != "sacct" {
					return nil
				}
				var rows []values
				for _, r := range tt.acct {
					rows = append(rows, values{"JobID": r.id, "JobName": batch, "State": r.state, "ExitCode": "0:0", "Submit": now, "Start": "Unknown", "End": "Unknown"})
				}
				return &command.Result{Out: printed(argv, rows...)}
			}
			k.missing("a0")
			k.restart()
			o := k.found("a0")
			if tt.forgot && (o.Status != offer.Queued || o.Handle != "") {
				t.Errorf("what was forgotten is %+v", o)
			}
			if !tt.forgot && (o.Status != offer.Cancelled || o.Class != failure.CancelledOutside) {
				t.Errorf("what was cancelled is %+v", o)
			}
		})
	}
}

// TestEachLookGoesOnFromTheLast: a job that neither the queue nor accounting has
// is not lost at the first look. Who only looks in now and then, as a scheduled
// `apply -once` does, concludes from what an earlier look noted: a minute later
// it is, however many processes that took.
func TestEachLookGoesOnFromTheLast(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 2, nil)...)
	k.claims("1", "a0", "a1")
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] != "sacct" {
			return nil
		}
		return &command.Result{Out: printed(argv)}
	}
	noted := func(token string, ago time.Duration) {
		at := time.Now().Add(-ago)
		if err := os.Chtimes(filepath.Join(k.spool(), "missing", token), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		k.restart()
		if o := k.found("a0"); o.Presence != offer.Found || o.Status == offer.Lost {
			t.Fatalf("just after it was gone it is %+v", o)
		}
		noted("a0", -time.Hour) // how long this takes is no matter
		noted("a1", -time.Hour)
	}
	noted("a0", 2*lostAfter)
	k.restart()
	if o := k.found("a0"); o.Status != offer.Lost {
		t.Errorf("two minutes later it is %+v", o)
	}
	if o := k.found("a1"); o.Status == offer.Lost {
		t.Errorf("the other, noted just now, is %+v", o)
	}
}

// TestDropped: what Slurm itself cancels of a job that comes after others is not
// somebody's cancelling, though all that it comes after did well: see dropped.
func TestDropped(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{"CANCELLED": offer.Blocked, "CANCELLED by 4711": failure.CancelledOutside} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.submit("batch0123456789", append(k.jobs("a", 2, nil), k.jobs("b", 2, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)...)
			at := time.Now().Add(time.Second)
			k.record("a1", node.End{Begin: node.Begin{Token: "a1", ID: "1_1", At: at}, Final: true, Seen: offer.Observation{Token: "a1", Presence: offer.Found, Handle: "1_1",
				Status: offer.Completed, Attempt: 1, Started: at, Ended: at}})
			name := k.s.backends[k.b.Name].campaign.jobs.batches[1].Name
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] != "sacct" {
					return nil
				}
				return &command.Result{Out: printed(argv, values{"JobID": "2_1", "State": state, "ExitCode": "0:0", "Submit": fmt.Sprint(at.Unix()), "End": fmt.Sprint(at.Unix() - 60), "JobName": name})}
			}
			if o := k.found("b1"); o.Status != offer.Cancelled || o.Reason != want && o.Class != want {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestSweep: what Slurm holds in the queue of a job that has ended is cancelled
// by whoever looks; what runs, or waits for its first start, is not.
func TestSweep(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 3, nil)...)
	at := time.Now()
	for _, token := range []string{"a0", "a1"} {
		k.record(token, node.End{Begin: node.Begin{Token: token, ID: "1_" + token[1:], At: at}, Final: true, Seen: offer.Observation{Token: token, Presence: offer.Found, Handle: "1_" + token[1:],
			Status: offer.Completed, Attempt: 1, Started: at, Ended: at}})
	}
	k.f.queued = []values{k.row("1", 0, "COMPLETING", "None"), k.row("1", 1, "PENDING", "launch failed requeued held"), k.row("1", 2, "PENDING", "Resources")}
	k.found("a2")
	if got := k.f.told(); !slices.Equal(got, []string{"sbatch", "scontrol hold 1_[1]", "scancel --state=PENDING --name=" + k.first() + " -- 1_[1]"}) {
		t.Errorf("Slurm was told %q", got)
	}
}

// TestLaunchedTwice: the exit of a second launch of what had begun, which its
// claim refused, is not that of the job: the first one tells its own, unless it
// has had all of its time.
func TestLaunchedTwice(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 3, nil)...)
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] != "sacct" {
			return nil
		}
		var rows []values
		for _, id := range []string{"1_0", "1_1", "1_2"} {
			rows = append(rows, values{"JobID": id, "JobName": k.first(), "State": "FAILED", "ExitCode": fmt.Sprintf("%d:0", node.ExitRefused), "Submit": fmt.Sprint(time.Now().Unix()),
				"Start": fmt.Sprint(time.Now().Unix()), "End": fmt.Sprint(time.Now().Unix())})
		}
		return &command.Result{Out: printed(argv, rows...)}
	}
	k.claims("1", "a0", "a1")
	k.starts(node.Begin{Token: "a0", ID: "1_0", At: time.Now(), Node: "cpu1"})
	k.starts(node.Begin{Token: "a1", ID: "1_1", At: time.Now().Add(-2 * time.Hour), Node: "cpu1"})
	k.record("a2", node.End{Begin: node.Begin{Token: "a2", ID: "1_2"}, Growth: &node.Growth{Walltime: 3 * time.Hour, Granted: true}, Seen: offer.Observation{Token: "a2", Presence: offer.Found,
		Handle: "1_2", Status: offer.Waiting, Attempt: 1}})
	k.starts(node.Begin{Token: "a2", ID: "1_2", Restart: 1, At: time.Now().Add(-2 * time.Hour), Node: "cpu1"})
	k.missing("a0", "a1", "a2")
	k.restart()
	if o := k.found("a0"); o.Status != offer.Running {
		t.Errorf("what may go on is %+v", o)
	}
	if o := k.found("a2"); o.Status != offer.Running {
		t.Errorf("what was given more time is %+v", o)
	}
	if o := k.found("a1"); o.Status != offer.Lost {
		t.Errorf("what has had all of its time is %+v", o)
	}
	k.record("a0", node.End{Begin: node.Begin{Token: "a0", ID: "1_0"}, Final: true, Seen: offer.Observation{Token: "a0", Presence: offer.Found, Handle: "1_0", Status: offer.Completed, Attempt: 1}})
	k.restart()
	if o := k.found("a0"); o.Status != offer.Completed {
		t.Errorf("what has told its end is %+v", o)
	}
}

// TestTakenAway: what Slurm takes away since what it comes after has failed is
// blocked, in all its steps, before accounting has it; where how that ended is not
// known yet, it waits for that. Neither is told as lost.
func TestTakenAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record  bool // the teacher wrote down that it failed
		account bool // or accounting has it
		want    offer.Status
		says    string
	}{
		"it wrote that down":   {true, false, offer.Cancelled, offer.Blocked},
		"accounting has it":    {false, true, offer.Cancelled, offer.Blocked},
		"nothing is known yet": {false, false, offer.Queued, "its accounting has yet to say"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			after := func(phase string) func(int) []string { return func(int) []string { return []string{phase + "0"} } }
			jobs := append(k.jobs("a", 1, nil), append(k.jobs("b", 3, after("a")), k.jobs("c", 2, after("b"))...)...)
			k.submit("batch0123456789", jobs...)
			teacher, now, ended := k.first(), fmt.Sprint(time.Now().Unix()), fmt.Sprint(time.Now().Unix()-60)
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] != "sacct" {
					return nil
				}
				var rows []values
				if c.account {
					rows = append(rows, values{"JobID": "1", "JobName": teacher, "State": "FAILED", "ExitCode": "1:0", "Submit": now, "Start": ended, "End": ended, "NodeList": "cpu1"})
				}
				return &command.Result{Out: printed(argv, rows...)}
			}
			k.starts(node.Begin{Token: "a0", ID: "1", At: time.Now(), Node: "cpu1"})
			if c.record {
				k.ends("a0", offer.Failed, failure.Unknown)
			}
			k.restart()
			for _, token := range []string{"b0", "b1", "b2", "c0", "c1"} {
				if o := k.found(token); o.Status != c.want || !strings.Contains(o.Reason, c.says) || o.Class != "" {
					t.Errorf("%s is %s, class %q: %q", token, o.Status, o.Class, o.Reason)
				}
			}
		})
	}
}
