package batch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// enters puts the array of an sbatch call into the queue, n jobs that wait for a
// reason.
func (f *fakeSlurm) enters(argv []string, n int, reason string) {
	f.last++
	comment := "(null)"
	if slices.Contains(argv, "--hold") {
		comment = string(scheduler.Held)
	}
	for i := range n {
		f.queued = append(f.queued, values{"%F": fmt.Sprint(f.last), "%K": fmt.Sprint(i), "%T": "PENDING", "%r": reason,
			"%V": fmt.Sprint(time.Now().Unix()), "%j": filepath.Base(filepath.Dir(argv[len(argv)-1])), "%k": comment})
	}
}

// TestSubmittedWithoutAWord: each sbatch submits and says something else than the
// id. Every array is found by its name, and all are submitted and released.
func TestSubmittedWithoutAWord(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]command.Result{
		"a time-out":              {Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")},
		"noise, exit 0":           {Out: []byte("*** maintenance on Sunday ***\n")},
		"nothing, exit 0":         {},
		"killed":                  {Code: 137},
		"another id among others": {Out: []byte("account ok\n999 core-hours left\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.refuse = func(argv []string) *command.Result {
				k.f.enters(argv, 2, "None")
				return &said
			}
			k.f.answer = func(argv []string) *command.Result {
				if strings.Join(argv[:min(2, len(argv))], " ") == "scontrol release" {
					for _, v := range k.f.queued {
						v["%k"] = "(null)"
					}
				}
				return nil
			}
			jobs := append(k.jobs("a", 2, nil), k.jobs("b", 2, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)
			for i, r := range k.submit("batch0123456789", jobs...) {
				if want := fmt.Sprintf("%d_%d", 1+i/2, i%2); r.Err != nil || r.Handle != want || r.Stage != offer.Released {
					t.Errorf("%s: %+v, want %s, released", jobs[i].Address, r, want)
				}
			}
			if n := len(k.f.sent()); n != 2 {
				t.Errorf("sbatch ran %d times: %q", n, k.f.sent())
			}
		})
	}
}

// TestStages: accepted is not submitted, and submitted is not released.
func TestStages(t *testing.T) {
	// Requirement: STA-09
	t.Parallel()
	k := newBench(t)
	fails := "b"
	k.f.refuse = func(argv []string) *command.Result {
		if strings.Contains(argv[len(argv)-1], "/"+fails+".") {
			return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")}
		}
		return nil
	}
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] == "scontrol" && argv[1] == "release" {
			return &command.Result{Code: 1, Err: []byte("scontrol: error: Unable to contact slurm controller (connect failure)")}
		}
		return nil
	}
	after := func(phase string) func(int) []string {
		return func(i int) []string { return []string{fmt.Sprintf("%s%d", phase, i)} }
	}
	jobs := slices.Concat(k.jobs("a", 2, nil), k.jobs("b", 2, after("a")), k.jobs("c", 2, after("b")))
	for i, r := range k.submit("batch0123456789", jobs...) {
		if r.Err == nil || r.Err.Class != providers.Unreachable {
			t.Errorf("%s: %+v", jobs[i].Address, r)
		}
	}
	if a, c := k.found("a0"), k.found("c0"); a.Stage != offer.Submitted || a.Handle != "1_0" || c.Stage != offer.Accepted || c.Handle != "" {
		t.Errorf("the first is %s (%s), the last %s (%s)", a.Stage, a.Handle, c.Stage, c.Handle)
	}
	if b := k.found("b0"); b.Presence != offer.Unknown {
		t.Errorf("the one of which nothing is known is %+v", b)
	}
}

// TestHeldBySomebody: who holds a job is told where it is submitted, where it is
// asked after, and to whoever watches; and what an administrator holds does not
// keep muster from its own.
func TestHeldBySomebody(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]offer.Holder{"JobHeldUser": offer.HeldByUser, "JobHeldAdmin": offer.HeldByAdmin, "JobHoldMaxRequeue": offer.HeldByScheduler,
		"launch failed requeued held": "", "Priority": ""} {
		k := newBench(t)
		k.f.refuse = func(argv []string) *command.Result {
			k.f.enters(argv, 2, reason)
			return &command.Result{Out: []byte("1\n")}
		}
		for _, r := range k.submit("batch0123456789", k.jobs("a", 2, nil)...) {
			if r.Err != nil || r.HeldBy != want || r.Stage != offer.Released {
				t.Errorf("%s: submitted: %+v", reason, r)
			}
		}
		if o := k.found("a1"); o.HeldBy != want || o.Status != offer.Queued {
			t.Errorf("%s: found: %+v", reason, o)
		}
		for _, v := range k.f.queued {
			v["%r"] = "Priority"
		}
		k.restart()
		if o := k.found("a1"); o.HeldBy != "" {
			t.Errorf("%s: let go, and told as held by %s", reason, o.HeldBy)
		}
	}
}

// TestHeldByAnAdministrator: an administrator holds one of two arrays before
// muster has released them. The other one runs, and nothing is refused.
func TestHeldByAnAdministrator(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.refuse = func(argv []string) *command.Result {
		reason := "JobHeldUser"
		if k.f.last == 0 {
			reason = "JobHeldAdmin"
		}
		k.f.enters(argv, 2, reason)
		return &command.Result{Out: fmt.Appendf(nil, "%d\n", k.f.last)}
	}
	k.f.answer = func(argv []string) *command.Result {
		switch strings.Join(argv[:min(2, len(argv))], " ") {
		case "scontrol release":
			for _, v := range k.f.queued {
				if v["%r"] == "JobHeldUser" {
					v["%r"] = "None"
				}
			}
			return &command.Result{Code: 1, Err: []byte("1_0-1: Access/permission denied")}
		case "scontrol update":
			for _, v := range k.f.queued {
				v["%k"] = "(null)"
			}
		}
		return nil
	}
	jobs := append(k.jobs("a", 2, nil), k.jobs("b", 2, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)
	for i, r := range k.submit("batch0123456789", jobs...) {
		by := offer.Holder("")
		if i < 2 {
			by = offer.HeldByAdmin
		}
		if r.Err != nil || r.Stage != offer.Released || r.HeldBy != by {
			t.Errorf("%s: %+v", jobs[i].Address, r)
		}
	}
}

// TestLostOnItsNode: a job that the queue shows as running long past its walltime, and whose
// script has not begun, is cancelled there and submitted again under its token, a few times at
// most. One that has begun, or may still begin, is left alone.
func TestLostOnItsNode(t *testing.T) {
	t.Parallel()
	const over = time.Hour + 6*time.Minute // its walltime is an hour
	for name, c := range map[string]struct {
		runs                        time.Duration // since it began by the queue
		claimed, cancelled, retried bool
		unread                      string // folder of the spool that cannot be read
		status                      offer.Status
		class, says                 string
		told                        bool // that the scheduler is to end it
	}{
		"it may still begin":    {runs: time.Hour + 2*time.Minute, status: offer.Running},
		"it has begun":          {runs: over, claimed: true, status: offer.Running},
		"its node has lost it":  {runs: over, status: offer.Queued, says: "Slurm has lost it before it began; it is submitted again", told: true},
		"claims cannot be read": {runs: over, unread: "claims", status: offer.Running},
		"the spool is gone":     {runs: over, unread: "batches", status: offer.Running},
		"it was cancelled":      {runs: over, cancelled: true, status: offer.Cancelled, told: true},
		"lost again and again":  {runs: over, retried: true, status: offer.Failed, class: failure.NodeFailure, says: "its script did not begin on node cpu1", told: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.submit("batch0123456789", k.jobs("a", 2, nil)...)
			mark := func(folder, text string) {
				dir := filepath.Join(k.spool(), folder)
				if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "a0"), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			row := func(i int, runs time.Duration) values {
				r := k.row("1", i, "RUNNING", "None")
				r["%S"], r["%N"] = time.Now().Add(-runs).Format("2006-01-02T15:04:05"), "cpu1"
				return r
			}
			if c.claimed {
				k.claims("1", "a0")
			}
			if c.cancelled {
				mark("cancels", "")
			}
			if c.retried {
				mark("relaunched", strings.Repeat(".", launchTries))
			}
			k.f.queued = []values{row(0, time.Minute), row(1, time.Minute)}
			k.watch()
			if dir := filepath.Join(k.spool(), c.unread); c.unread != "" {
				if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			k.f.queued = []values{row(0, c.runs), row(1, time.Minute)}
			k.s.backends[k.b.Name].campaign.queue.rowsAt = time.Time{}
			k.watch()
			o := k.found("a0")
			if o.Status != c.status || o.Class != c.class || !strings.Contains(o.Reason, c.says) {
				t.Errorf("%+v", o)
			}
			if o.Status == offer.Queued && (!o.Started.IsZero() || o.Node != "") {
				t.Errorf("it is queued, and began: %+v", o)
			}
			if got := slices.Contains(k.f.told(), "scancel -- 1_[0]"); got != c.told {
				t.Errorf("Slurm is told %q", k.f.told())
			}
			if o := k.found("a1"); o.Status != offer.Running {
				t.Errorf("its neighbour is %+v", o)
			}
		})
	}
}
