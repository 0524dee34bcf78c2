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

// TestNeverBegan: what had its node and never came to claim its token has
// failed for want of a node; nobody cancelled it, unless somebody did.
func TestNeverBegan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state, exit           string
		queued                bool // it never had a node
		start                 bool // and has a start all the same, that of its end
		claimed, cancels, out bool
		boot, end             int // when slurmctld began and when the job ended, in seconds after the submission
		status                offer.Status
		class, says           string
	}{
		"prolog":                                      {state: "CANCELLED by 0", exit: "0:0", status: offer.Failed, class: failure.NodeFailure, says: "node cpu1 could not be prepared"},
		"cancelled by a person":                       {state: "CANCELLED by 1001", exit: "0:0", status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled while it waits":                    {state: "CANCELLED by 0", exit: "0:0", queued: true, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled while it waits, with a start":      {state: "CANCELLED by 0", exit: "0:0", queued: true, start: true, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled as slurmctld forgot its launch":    {state: "CANCELLED by 0", exit: "0:0", queued: true, boot: 10, end: 12, status: offer.Failed, class: failure.NodeFailure, says: "slurmctld ended, forgot its launch"},
		"cancelled as slurmctld launched it again":    {state: "CANCELLED by 0", exit: "0:0", claimed: true, boot: 10, end: 12, status: offer.Failed, class: failure.NodeFailure, says: "slurmctld ended, forgot its launch"},
		"cancelled by a person as slurmctld is back":  {state: "CANCELLED by 1001", exit: "0:0", queued: true, boot: 10, end: 12, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled long after slurmctld is back":      {state: "CANCELLED by 0", exit: "0:0", queued: true, boot: 10, end: 100, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled before slurmctld ended":            {state: "CANCELLED by 0", exit: "0:0", queued: true, boot: 10, end: 8, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"refused as slurmctld launched it again":      {state: "FAILED", exit: "1:0", claimed: true, boot: 10, end: 12, status: offer.Failed, class: failure.NodeFailure, says: "Slurm says FAILED: slurmctld ended, forgot its launch and could not launch it again"},
		"refused, and never began":                    {state: "FAILED", exit: "1:0", boot: 10, end: 12, status: offer.Failed, class: failure.NodeFailure, says: "slurmctld ended, forgot its launch"},
		"failed at once long after slurmctld is back": {state: "FAILED", exit: "1:0", claimed: true, boot: 10, end: 100, status: offer.Failed, class: failure.Unknown, says: "Slurm says FAILED"},
		"failed with another status":                  {state: "FAILED", exit: "3:0", claimed: true, boot: 10, end: 12, status: offer.Failed, class: failure.Unknown, says: "Slurm says FAILED"},
		"submitted to this slurmctld":                 {state: "CANCELLED by 0", exit: "0:0", queued: true, boot: -10, end: 2, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled while it runs":                     {state: "CANCELLED by 0", exit: "0:15", claimed: true, status: offer.Cancelled, class: failure.CancelledOutside, says: "cancelled in Slurm"},
		"cancelled by muster":                         {state: "CANCELLED by 0", exit: "0:0", cancels: true, status: offer.Cancelled},
		"no output file":                              {state: "FAILED", exit: "0:53", status: offer.Failed, class: failure.NodeFailure, says: "could not be started on node cpu1"},
		"no program there":                            {state: "FAILED", exit: "127:0", out: true, status: offer.Failed, class: failure.NodeFailure, says: "ended on node cpu1 before the command was begun"},
		"walltime without a script":                   {state: "TIMEOUT", exit: "0:0", status: offer.Failed, class: failure.NodeFailure, says: "its walltime ended on node cpu1 before the command was begun"},
		"completed without a claim":                   {state: "COMPLETED", exit: "0:0", status: offer.Failed, class: failure.NodeFailure, says: "Slurm says COMPLETED: its script ended on node cpu1 before the command was begun"},
		"completed without an end":                    {state: "COMPLETED", exit: "0:0", claimed: true, status: offer.Failed, class: failure.Unknown, says: "it ended without a word from its wrapper"},
		"walltime":                                    {state: "TIMEOUT", exit: "0:0", claimed: true, status: offer.Failed, class: failure.Walltime, says: "Slurm says TIMEOUT"},
		"refused by its wrapper":                      {state: "FAILED", exit: "71:0", status: offer.Failed, class: failure.Unknown, says: "Slurm says FAILED"},
		"failed":                                      {state: "FAILED", exit: "3:0", claimed: true, status: offer.Failed, class: failure.Unknown, says: "Slurm says FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.submit("batch0123456789", k.jobs("a", 1, nil)...)
			job := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"]
			if c.claimed {
				k.starts(node.Begin{Token: "a0", ID: "1", At: time.Now(), Node: "cpu1"})
			}
			if c.cancels {
				os.WriteFile(filepath.Join(k.spool(), "cancels", "a0"), nil, 0o600)
			}
			if c.out {
				os.WriteFile(filepath.Join(k.spool(), "out", job.batch.Name+"-1.out"), []byte("exec: not found\n"), 0o600)
			}
			ended := fmt.Sprint(time.Now().Unix() - 60)
			if c.boot != 0 {
				job.batch.tried = time.Now().Add(-5 * time.Minute)
				ended = fmt.Sprint(job.batch.tried.Unix() + int64(c.end))
			}
			boot := fmt.Sprintf("ClusterName = test\nBOOT_TIME               = %d\n", job.batch.tried.Unix()+int64(c.boot))
			row := values{"JobID": "1", "State": c.state, "ExitCode": c.exit, "Submit": fmt.Sprint(time.Now().Unix()), "Start": ended, "End": ended, "JobName": job.batch.Name, "NodeList": "cpu1"}
			if c.queued {
				row["NodeList"] = "None assigned"
				if !c.start {
					row["Start"] = "Unknown"
				}
			}
			k.f.answer = func(argv []string) *command.Result {
				switch {
				case argv[0] == "sacct":
					return &command.Result{Out: printed(argv, row)}
				case c.boot != 0 && slices.Equal(argv, []string{"scontrol", "show", "config"}):
					return &command.Result{Out: []byte(boot)}
				}
				return nil
			}
			o := k.found("a0")
			if o.Status != c.status || o.Class != c.class || !strings.Contains(o.Reason, c.says) {
				t.Errorf("%s, class %q: %q; want %s, %q: %q", o.Status, o.Class, o.Reason, c.status, c.class, c.says)
			}
			if c.queued && o.Usage != nil {
				t.Errorf("what never had a node used %+v", *o.Usage)
			}
			if c.out && !slices.Contains(o.Tail, "exec: not found") {
				t.Errorf("its last words are %q", o.Tail)
			}
		})
	}
}

// watch looks once as a watch does.
func (k *bench) watch() {
	k.Helper()
	b := k.s.backends[k.b.Name]
	w := &watch{s: k.s, b: b, c: b.campaign, began: time.Now()}
	if err := w.start(k.Context(), providers.WatchRequest{Backend: k.b.Name}); err != nil {
		k.Fatal(err)
	}
	k.f.calls = nil
	if _, err := w.turn(k.Context()); err != nil {
		k.Fatal(err)
	}
}

// TestLaunchFailed: what Slurm could not launch, and holds, is let go a few
// times; what somebody holds is not.
func TestLaunchFailed(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 3, nil)...)
	name := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"].batch.Name
	now := fmt.Sprint(time.Now().Unix())
	k.f.queued = nil
	for i, why := range []string{"launch failed requeued held", "JobHeldUser", "launch_failed_requeued_held"} {
		k.f.queued = append(k.f.queued, values{"%F": "1", "%K": fmt.Sprint(i), "%T": "PENDING", "%r": why, "%V": now, "%S": "N/A", "%j": name})
	}
	want := []string{"scontrol release 1_[0,2]"}
	for range launchTries {
		k.watch()
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("Slurm was told %q, not %q", got, want)
		}
		k.restart() // nobody restarts the count
	}
	k.watch()
	if got := k.f.told(); len(got) > 0 {
		t.Errorf("and once more: %q", got)
	}
	if o := k.found("a0"); !strings.Contains(o.Reason, "could not be prepared") {
		t.Errorf("it waits since %q", o.Reason)
	}
}

// TestLaunchFailedUnwatched: whoever drives the campaign for one pass lets go
// what Slurm could not launch, too; who holds it, does not.
func TestLaunchFailedUnwatched(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{false, true} {
		k := newBench(t)
		k.submit("batch0123456789", k.jobs("a", 2, nil)...)
		k.f.queued = []values{k.row("1", 0, "PENDING", "launch failed requeued held"), k.row("1", 1, "PENDING", "Resources")}
		k.f.calls = nil
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold}); err != nil {
			t.Fatal(err)
		}
		want := []string{"scontrol hold 1"}
		if !hold {
			want = []string{"scontrol release 1_[0]"}
		}
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("hold %t: Slurm was told %q, not %q", hold, got, want)
		}
	}
}

// TestCopies: a batch that Slurm has twice is cancelled in both places, and what
// waits twice waits once.
func TestCopies(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *bench {
		k := newBench(t)
		k.submit("batch0123456789", k.jobs("a", 3, nil)...)
		name := k.s.backends[k.b.Name].campaign.jobs.byToken["a0"].batch.Name
		now := fmt.Sprint(time.Now().Unix())
		row := func(id string, index int, state, name string) {
			k.f.queued = append(k.f.queued, values{"%F": id, "%K": fmt.Sprint(index), "%T": state, "%V": now, "%S": now, "%j": name})
		}
		for i := range 3 {
			row("1", i, "PENDING", name)
			row("7", i, "PENDING", name)
			row("8", i, "PENDING", "another."+name)
		}
		k.f.queued[4]["%T"] = "RUNNING" // 7_1, which has the claim
		k.starts(node.Begin{Token: "a1", ID: "7_1", At: time.Now(), Node: "cpu1"})
		for _, claim := range []string{"a1", "a2"} { // and 7_2 had it, and was put back
			os.MkdirAll(filepath.Join(k.spool(), "claims", claim), 0o700)
			os.WriteFile(filepath.Join(k.spool(), "claims", claim, "id"), []byte("7_"+claim[1:]+"\n"), 0o600)
		}
		k.f.calls = nil
		return k
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		k := start(t)
		if _, err := k.s.Cancel(k.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "a1"}}); err != nil {
			t.Fatal(err)
		}
		if got, want := k.f.told(), []string{"scancel -- 1_[0-1]", "scancel -- 7_[0-1]"}; !slices.Equal(got, want) {
			t.Errorf("Slurm was told %q, not %q", got, want)
		}
	})
	t.Run("watched", func(t *testing.T) {
		t.Parallel()
		k := start(t)
		k.watch()
		want := "scancel --state=PENDING --name=" + k.s.backends[k.b.Name].campaign.jobs.byToken["a0"].batch.Name + " -- 7_[0]"
		if got := k.f.told(); !slices.Equal(got, []string{"scontrol hold 7_[0]", want}) {
			t.Errorf("Slurm was told %q, not %q", got, want)
		}
	})
}
