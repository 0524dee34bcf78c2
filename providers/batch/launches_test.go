package batch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// starts writes the record of a start as a node would.
func (k *bench) starts(b node.Begin) {
	k.Helper()
	text, err := json.Marshal(b)
	if err == nil {
		err = os.WriteFile(filepath.Join(k.spool(), "starts", node.RecordName(b.Token, b.Restart)), text, 0o600)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(k.spool(), "claims", b.Token), 0o700)
	}
	if err != nil {
		k.Fatal(err)
	}
}

// TestPutBack: a launch that Slurm put back is told as accounting has it, before
// what follows it; of one that accounting does not have, what is not known is
// unknown, and waited for a while.
func TestPutBack(t *testing.T) {
	// Requirement: WT-05
	t.Parallel()
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }
	stamp := func(t time.Time) string { return fmt.Sprint(t.Unix()) }
	for name, c := range map[string]struct {
		state, class string
		elapsed      time.Duration // as accounting has it; 0 = it has nothing
		word         time.Duration // as the wrapper wrote it down before Slurm killed it; 0 = it did not
		since        time.Duration // the second start
		unsaid       bool
		want         time.Duration // -1: unknown
	}{
		"its node died":                     {state: "NODE_FAIL", class: failure.NodeFailure, elapsed: 20 * time.Minute, since: 30 * time.Minute, want: 20 * time.Minute},
		"preempted":                         {state: "PREEMPTED", class: failure.Preempted, elapsed: 20 * time.Minute, word: 19 * time.Minute, since: 30 * time.Minute, want: 19 * time.Minute},
		"accounting is away":                {class: failure.Preempted, since: 30 * time.Minute, want: -1},
		"accounting is away, the word not":  {class: failure.Preempted, word: 19 * time.Minute, since: 30 * time.Minute, want: 19 * time.Minute},
		"accounting is late":                {since: 10 * time.Second, unsaid: true},
		"requeued by hand, without a word":  {state: "REQUEUED", class: failure.Preempted, elapsed: 20 * time.Minute, since: 30 * time.Minute, want: 20 * time.Minute},
		"the row of the launch is not over": {state: "RUNNING", since: 10 * time.Second, unsaid: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			jobs := k.jobs("a", 1, nil)
			jobs[0].Retry = providers.Retry{On: []string{failure.Preempted}, Max: 3}
			k.submit("batch0123456789", jobs...)
			job := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"]
			job.batch.tried = ago(2 * time.Hour)
			first, second := ago(time.Hour), ago(c.since)
			k.starts(node.Begin{Token: "a0", ID: "1", At: first, Node: "cpu1"})
			k.starts(node.Begin{Token: "a0", ID: "1", Restart: 1, At: second, Node: "cpu2"})
			if c.word > 0 {
				k.record("a0", node.End{Begin: node.Begin{Token: "a0", ID: "1", At: first}, Outside: true, Seen: offer.Observation{Token: "a0", Status: offer.Failed, Class: failure.Killed,
					Attempt: 1, Started: first, Ended: first.Add(c.word), Usage: &offer.Usage{Elapsed: c.word}}})
			}
			k.record("a0", node.End{Begin: node.Begin{Token: "a0", ID: "1", Restart: 1, At: second}, Final: true,
				Seen: offer.Observation{Token: "a0", Presence: offer.Found, Handle: "1", Status: offer.Completed, Attempt: 2, Started: second, Ended: time.Now(), Usage: &offer.Usage{}}})
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] != "sacct" {
					return nil
				}
				var rows []values
				if c.state != "" {
					row := values{"JobID": "1", "JobName": job.batch.Name, "State": c.state, "ExitCode": "0:0", "Submit": stamp(ago(90 * time.Minute)), "Start": stamp(first),
						"End": stamp(first.Add(c.elapsed)), "ElapsedRaw": fmt.Sprint(int(c.elapsed.Seconds())), "NodeList": "cpu1", "AllocTRES": "billing=4,cpu=4,mem=4G,node=1"}
					if c.state == "RUNNING" {
						row["End"] = "Unknown"
					}
					rows = append(rows, row)
				}
				return &command.Result{Out: printed(argv, append(rows, values{"JobID": "1", "JobName": job.batch.Name, "State": "COMPLETED", "ExitCode": "0:0",
					"Submit": stamp(first.Add(time.Minute)), "Start": stamp(second), "End": stamp(time.Now())})...)}
			}
			o := k.found("a0")
			if c.unsaid {
				if o.Status != offer.Queued || len(o.Earlier) > 0 {
					t.Fatalf("before accounting has it: %+v", o)
				}
				return
			}
			if o.Status != offer.Completed || o.Attempt != 2 || len(o.Earlier) != 1 {
				t.Fatalf("%+v", o)
			}
			e := o.Earlier[0]
			if e.Status != offer.Waiting || e.Attempt != 1 || e.Class != c.class || !e.Started.Equal(first) || e.Node != "cpu1" {
				t.Errorf("the launch before is told as %+v", e)
			}
			if c.want < 0 {
				if e.Usage != nil || !e.Ended.IsZero() {
					t.Errorf("what nobody knows is told: %+v, %v", e.Usage, e.Ended)
				}
			} else if e.Usage == nil || e.Usage.Elapsed != c.want {
				t.Errorf("it used %+v, not %v", e.Usage, c.want)
			} else if c.word == 0 && (e.Got == nil || e.Got.CPUs != 4) {
				t.Errorf("it was given %+v, not the 4 cores that accounting has", e.Got)
			}
		})
	}
}

// TestTheQueueSaysWhyItRequeued: where accounting has nothing of a launch, its end is the one that
// the queue shows until the next launch.
func TestTheQueueSaysWhyItRequeued(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	ls := k.s.backends[k.b.Name].campaign.launches
	job := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"]
	k.starts(node.Begin{Token: "a0", ID: "1", At: time.Now().Add(-time.Hour), Node: "n1"})
	for said, want := range map[scheduler.End]string{
		{}:                              failure.Preempted,
		{Outcome: scheduler.NodeFailed}: failure.NodeFailure,
	} {
		o, sure := ls.putBack(job, pendingEnd{said: said}, scheduler.History{})
		if o.Class != want || sure != (said.Outcome != "") || o.Node != "n1" {
			t.Errorf("after %q: %s, %v: %+v", said.Outcome, o.Class, sure, o)
		}
	}
}

// TestPutBackAndRefused: what was put back, was seen to wait for its next launch,
// and is not allowed one has ended with that one: whoever follows it has heard of
// the end of the launch before.
func TestPutBackAndRefused(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	job := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"]
	at := time.Now().Add(-time.Hour)
	tell := func(o offer.Observation) {
		t.Helper()
		o.Token = "a0"
		if err := k.s.backends[k.b.Name].campaign.reports.tell(o); err != nil {
			t.Fatal(err)
		}
	}
	tell(offer.Observation{Status: offer.Running, Attempt: 1, Started: at, Node: "cpu1"})
	tell(offer.Observation{Status: offer.Waiting, Attempt: 1, Class: failure.Preempted, Started: at, Ended: at.Add(time.Minute), Usage: &offer.Usage{Elapsed: time.Minute}})
	tell(offer.Observation{Status: offer.Queued, Attempt: 2})
	// The wrapper's word is about the launch that was put back, under both numbers.
	e := node.End{Begin: node.Begin{Token: "a0", ID: "1", At: at}, Final: true, Seen: offer.Observation{Token: "a0", Status: offer.Failed, Class: failure.Preempted, Attempt: 1,
		Started: at, Ended: at.Add(time.Minute), Usage: &offer.Usage{Elapsed: time.Minute}, Reason: "Slurm requeued it, and retry.on has neither"}}
	k.record("a0", e)
	if err := os.Rename(filepath.Join(k.spool(), "ends", "a0.0"), filepath.Join(k.spool(), "ends", "a0.1")); err != nil {
		t.Fatal(err)
	}
	o := k.found("a0")
	if !job.ended || o.Status != offer.Failed || o.Attempt != 2 || o.Class != failure.Preempted || o.Usage != nil || !o.Started.IsZero() || o.Reason == "" {
		t.Errorf("it ended as %+v", o)
	}
	if len(o.Earlier) != 1 || o.Earlier[0].Attempt != 1 || o.Earlier[0].Usage == nil {
		t.Errorf("the launch before it is %+v", o.Earlier)
	}
}

// TestFinalWordOfAnEarlierLaunch: a controller that came back with an older
// state has as pending what runs, and muster counts it as put back. What the
// job then ends with is its end all the same: no other start may run.
func TestFinalWordOfAnEarlierLaunch(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	k.s.backends[k.b.Name].campaign.jobs.byToken["a0"].batch.tried = time.Now().Add(-2 * time.Hour)
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	state := "RUNNING"
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] != "squeue" {
			return nil
		}
		row := k.row("1", -1, state, "None")
		row["%K"], row["%V"] = "N/A", fmt.Sprint(began.Unix())
		return &command.Result{Out: printed(argv, row)}
	}
	k.starts(node.Begin{Token: "a0", ID: "1", At: began, Node: "cpu1"})
	if o := k.found("a0"); o.Status != offer.Running || o.Attempt != 1 {
		t.Fatalf("while it runs it is %+v", o)
	}
	state = "PENDING"
	k.s.backends[k.b.Name].campaign.queue.looked = time.Time{}
	k.found("a0")
	if o := k.found("a0"); o.Status != offer.Queued || o.Attempt != 2 {
		t.Fatalf("what the controller shows as pending again is %+v", o)
	}
	k.record("a0", node.End{Begin: node.Begin{Token: "a0", ID: "1", At: began}, Final: true,
		Seen: offer.Observation{Token: "a0", Presence: offer.Found, Handle: "1", Status: offer.Completed, Attempt: 1, Started: began, Ended: time.Now(), Usage: &offer.Usage{}}})
	if o := k.found("a0"); o.Status != offer.Completed || o.Attempt != 2 || o.Usage == nil || !o.Started.Equal(began) {
		t.Errorf("what has completed is %+v", o)
	}
}
