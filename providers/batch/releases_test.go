package batch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// fanned submits two jobs and four that come after them; the four are held, too, until each
// knows which it waits for.
func fanned(t *testing.T) *bench {
	k := newBench(t)
	k.submit("batch0123456789", append(k.jobs("a", 2, nil), k.jobs("b", 4, func(i int) []string { return []string{"a" + string(rune('0'+i/2))} })...)...)
	return k
}

// releaseAll are the commands that let them go in Slurm.
var releaseAll = []string{"scontrol update JobId=2_[0-1] Dependency=afterok:1_0", "scontrol update JobId=2_[2-3] Dependency=afterok:1_1", "scontrol release 1,2"}

// holds has Slurm hold both arrays, with a comment.
func (k *bench) holds(comment string) {
	k.f.queued = nil
	for i, name := range []string{"a", "b"} {
		for n := range 2 + 2*i {
			row := k.row(string(rune('1'+i)), n, "PENDING", "JobHeldUser")
			row["%j"], row["%k"] = k.s.backends[k.b.Name].campaign.jobs.byToken[name+"0"].batch.Name, comment
			k.f.queued = append(k.f.queued, row)
		}
	}
	k.obeys()
}

// obeys lets Slurm carry out the commands for waiting jobs and answer the next question
// accordingly.
func (k *bench) obeys() {
	k.f.calls = nil
	k.s.backends[k.b.Name].campaign.queue.rowsAt = time.Time{}
	k.f.answer = func(argv []string) *command.Result {
		last := argv[len(argv)-1]
		for _, row := range k.f.queued {
			switch {
			case argv[0] != "scontrol":
			case argv[1] == "release" && slices.Contains(strings.Split(last, ","), row["%F"]):
				row["%r"] = "Priority"
			case strings.HasPrefix(last, "Comment=") && slices.Contains(strings.Split(argv[2][len("JobId="):], ","), row["%F"]):
				row["%k"] = strings.TrimPrefix(last, "Comment=")
			}
		}
		return nil
	}
}

// proceed drives a campaign for one pass.
func (k *bench) proceed() {
	k.Helper()
	hold := false
	if err := k.s.Control(k.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold}); err != nil {
		k.Fatal(err)
	}
}

// TestMark: a batch that is submitted held has the label, and after its release the
// comment of its script.
func TestMark(t *testing.T) {
	t.Parallel()
	k := fanned(t)
	for i, c := range k.f.sent() {
		if !strings.Contains(c, "--hold --comment="+string(scheduler.Held)) {
			t.Errorf("array %d is sent with %q", i+1, c)
		}
	}
	want := []string{releaseAll[2], "scontrol update JobId=1 Comment=muster test phase.a", "scontrol update JobId=2 Comment=muster test phase.b"}
	n := len(k.f.calls) - 4
	if got := k.f.calls[n : n+3]; !slices.Equal(got, want) || !strings.HasPrefix(k.f.calls[n+3], "squeue") {
		t.Errorf("at last Slurm is told %q, want %q, and asked", k.f.calls[n:], want)
	}
	for i, phase := range []string{"a", "b"} {
		if got := directive(k.f.scripts[i], "comment"); got != "'muster test phase."+phase+"'" && got != `"muster test phase.`+phase+`"` {
			t.Errorf("the script has comment %s", got)
		}
	}
}

// TestReleaseForgotten: a released job that has the label again is reported by
// any look, and released again, with what each waits for, by whoever drives the
// campaign. What bears none is held by somebody, and stays held.
func TestReleaseForgotten(t *testing.T) {
	t.Parallel()
	drivers := map[string]func(*bench){"watched": (*bench).watch, "for one pass": (*bench).proceed}
	for name, drive := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := fanned(t)
			k.holds(string(scheduler.Held))
			k.restart()
			if o := k.found("b1"); o.Status != offer.Queued || !strings.Contains(o.Reason, "slurmctld was killed, and has forgotten") || !strings.Contains(o.Reason, "`muster apply` releases it") {
				t.Errorf("it is %s: %q", o.Status, o.Reason)
			}
			if got := k.f.told(); len(got) > 0 {
				t.Errorf("who only looks told Slurm %q", got)
			}
			k.restart()
			k.f.calls = nil
			drive(k)
			if got := k.f.told(); !slices.Equal(got, releaseAll) {
				t.Errorf("Slurm is told %q, want %q", got, releaseAll)
			}
			k.holds("muster test phase.a")
			k.restart()
			drive(k)
			if got := k.f.told(); len(got) > 0 {
				t.Errorf("what somebody holds since then: Slurm is told %q", got)
			}
			if o := k.found("b1"); !strings.Contains(o.Reason, "held; `muster resume` releases it") {
				t.Errorf("and it is said %q", o.Reason)
			}
		})
	}
	t.Run("by half", func(t *testing.T) { // an array's release was saved, the next one's was not
		t.Parallel()
		k := fanned(t)
		k.holds(string(scheduler.Held))
		k.f.queued = k.f.queued[2:]
		k.proceed()
		want := []string{releaseAll[0], releaseAll[1], "scontrol release 2"}
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("Slurm is told %q, want %q", got, want)
		}
	})
	t.Run("while the campaign is held", func(t *testing.T) {
		t.Parallel()
		k := fanned(t)
		k.holds(string(scheduler.Held))
		hold := true
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold}); err != nil {
			t.Fatal(err)
		}
		k.watch()
		if got := k.f.told(); len(got) > 0 {
			t.Errorf("Slurm is told %q", got)
		}
		k.proceed()
		if got := k.f.told(); !slices.Equal(got, releaseAll) {
			t.Errorf("on resume Slurm is told %q, want %q", got, releaseAll)
		}
	})
	t.Run("of what was cancelled", func(t *testing.T) {
		t.Parallel()
		k := fanned(t)
		if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "a1", "b0", "b1", "b2", "b3"}}); err != nil {
			t.Fatal(err)
		}
		k.submit("more0123456789", k.jobs("c", 1, nil)...)
		k.holds(string(scheduler.Held))
		k.proceed()
		if got := k.f.told(); len(got) > 0 {
			t.Errorf("Slurm is told %q", got)
		}
		for _, b := range k.s.backends[k.b.Name].campaign.jobs.batches {
			if b.held != "" {
				t.Errorf("%s is to be let go: %s", b.Name, b.held)
			}
		}
	})
	t.Run("of one that stands for another", func(t *testing.T) {
		t.Parallel()
		k := newBench(t)
		k.submit("batch0123456789", append(k.jobs("a", 1, nil), k.jobs("b", 2, func(int) []string { return []string{"a0"} })...)...)
		k.ends("a0", offer.Failed, "")
		again := k.jobs("a", 1, nil)
		again[0].Token = "again0"
		k.f.queued = []values{k.row("2", 0, "PENDING", "Dependency"), k.row("2", 1, "PENDING", "Dependency")}
		for i := range k.f.queued {
			k.f.queued[i]["%j"] = k.s.backends[k.b.Name].campaign.jobs.byToken["b0"].batch.Name
		}
		k.submit("again0123456789", again...)
		c := k.s.backends[k.b.Name].campaign
		row := k.row("3", -1, "PENDING", "JobHeldUser")
		row["%K"], row["%j"], row["%k"] = "N/A", c.jobs.byToken["again0"].batch.Name, string(scheduler.Held)
		k.f.queued = append(k.f.queued, row)
		k.obeys()
		k.watch()
		want := []string{"scontrol update JobId=2 Dependency=afterok:3", "scontrol release 3"}
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("Slurm is told %q, want %q", got, want)
		}
	})
}

// TestReleaseInVain: a controller that is killed right after the release comes
// back without it, and takes the mark off all the same.
func TestReleaseInVain(t *testing.T) {
	t.Parallel()
	for kills := range releaseTries + 1 {
		k := fanned(t)
		k.holds(string(scheduler.Held))
		usual, n := k.f.answer, 0
		k.f.answer = func(argv []string) *command.Result {
			if argv[0] == "scontrol" && argv[1] == "release" {
				if n++; n <= kills {
					return nil
				}
			}
			return usual(argv)
		}
		k.proceed()
		held := slices.ContainsFunc(k.s.backends[k.b.Name].campaign.jobs.batches, func(b *batch) bool { return b.held != "" })
		if want := min(kills+1, releaseTries); n != want || held != (kills == releaseTries) {
			t.Errorf("forgotten %d times: released %d times, want %d; it is held: %v", kills, n, want, held)
		}
	}
}

// TestMarkStays: where the mark cannot be taken off it says nothing; where the
// controller was not there to hear it all is done again.
func TestMarkStays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		says  string
		again bool
	}{
		"refused":                 {"slurm_update error: Access/permission denied", false},
		"by a rule of the site's": {"slurm_update error: Unspecified error", false},
		"it has ended":            {"Job has already finished for job 1", false},
		"not heard":               {"slurm_update error: Unable to contact slurm controller (connect failure)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			k.f.answer = func(argv []string) *command.Result {
				if len(argv) > 3 && strings.HasPrefix(argv[3], "Comment=") {
					return &command.Result{Code: 1, Err: []byte(tt.says)}
				}
				return nil
			}
			jobs := append(k.jobs("a", 2, nil), k.jobs("b", 4, func(i int) []string { return []string{"a" + string(rune('0'+i/2))} })...)
			k.submit("batch0123456789", jobs...)
			k.f.answer = nil
			k.holds(string(scheduler.Held))
			k.restart()
			if name == "it has ended" { // the others have lost the mark
				k.f.queued = nil
			}
			k.watch()
			if got := k.f.told(); slices.Contains(got, releaseAll[2]) != tt.again {
				t.Errorf("Slurm is told %q; released again should be %v", got, tt.again)
			}
		})
	}
}

// TestLostUnwatched: a job that Slurm has lost, and that waits on the spool again, is
// submitted by whoever drives the campaign for one pass, too; not while it is held.
func TestLostUnwatched(t *testing.T) {
	t.Parallel()
	for _, left := range []int{0, 1} { // with Slurm
		k := newBench(t)
		k.submit("batch0123456789", k.jobs("a", 3, nil)...)
		c := k.s.backends[k.b.Name].campaign
		var lost []*job
		for _, token := range []string{"a0", "a1", "a2"}[left:] {
			lost = append(lost, c.jobs.byToken[token])
		}
		list, err := c.poll.returnToSpool(lost)
		if err == nil {
			err = c.reports.tell(list...)
		}
		if err != nil {
			t.Fatal(err)
		}
		k.restart()
		hold := true
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Hold: &hold}); err != nil {
			t.Fatal(err)
		}
		if n := len(k.f.sent()); n != 1 {
			t.Errorf("%d left: while it is held it was sent %d times", left, n-1)
		}
		k.s.backends[k.b.Name].campaign.holds.holdAll(false)
		k.proceed()
		if n := len(k.f.scripts); n != 2 || directive(k.f.scripts[1], "array") != []string{"0-2", "1-2"}[left] {
			t.Errorf("%d left: sent %q", left, k.f.sent())
		}
	}
}
