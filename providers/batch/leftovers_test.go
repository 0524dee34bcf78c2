package batch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// cancelled hands four jobs over and cancels them, and has Slurm hold them again.
func cancelled(t *testing.T) *bench {
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 4, nil)...)
	if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "a1", "a2", "a3"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		k.f.queued = append(k.f.queued, k.row("1", i, "PENDING", "JobHeldUser"))
	}
	k.f.calls = nil
	return k
}

// pools asks for the pools, as every command does first, by a muster that has
// just begun.
func (k *bench) pools() (notes []string) {
	k.Helper()
	k.s = New(k.s.options)
	if err := k.s.Configure(k.Context(), k.b); err != nil {
		k.Fatal(err)
	}
	k.f.calls = nil
	pools, err := k.s.Pools(k.Context(), k.b.Name)
	if err != nil || len(pools) == 0 {
		k.Fatalf("%v, %v", pools, err)
	}
	return pools[0].Notes
}

// TestCancelForgotten: any command removes a cancelled job that is in the queue
// again, and says so.
func TestCancelForgotten(t *testing.T) {
	t.Parallel()
	taken := func(k *bench) bool {
		return slices.ContainsFunc(k.f.calls, func(c string) bool {
			return strings.HasPrefix(c, "scancel --state=PENDING --name="+k.first()+" -- 1_[0-3]")
		})
	}
	const told = "4 jobs that had ended were still in Slurm's queue"
	t.Run("any command", func(t *testing.T) {
		t.Parallel()
		k := cancelled(t)
		notes := k.pools()
		if !taken(k) || !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, offer.Repaired+told) }) {
			t.Errorf("Slurm is told %q, notes %q", k.f.told(), notes)
		}
		k.f.queued = nil
		if pools, err := k.s.Pools(t.Context(), k.b.Name); err != nil || slices.ContainsFunc(pools[0].Notes, func(n string) bool { return strings.HasPrefix(n, offer.Repaired) }) {
			t.Errorf("told again: %+v, %v", pools, err)
		}
		if notes = k.pools(); slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, offer.Repaired) }) {
			t.Errorf("with nothing there: %q", notes)
		}
	})
	t.Run("a watch", func(t *testing.T) {
		t.Parallel()
		k := cancelled(t)
		k.watch()
		c := k.s.backends[k.b.Name].campaign
		all := c.reports.log.All()
		if last := all[len(all)-1].Note; !taken(k) || last == nil || !strings.HasPrefix(last.Text, told) {
			t.Errorf("Slurm is told %q, and muster %+v", k.f.told(), last)
		}
	})
	t.Run("cleaning up", func(t *testing.T) {
		t.Parallel()
		k := cancelled(t)
		name := k.first()
		k.s.backends[k.b.Name].campaign.queue.rowsAt = time.Time{}
		removed, err := k.s.Clean(t.Context(), k.b.Name)
		if err != nil || len(removed) == 0 || !strings.HasPrefix(removed[0], "from the queue: "+told) || !slices.ContainsFunc(k.f.calls, func(c string) bool { return strings.Contains(c, "--name="+name+" -- 1_[0-3]") }) {
			t.Errorf("removed %q, %v; Slurm is told %q", removed, err, k.f.told())
		}
	})
	t.Run("another's, under the same id", func(t *testing.T) {
		t.Parallel()
		k := cancelled(t)
		for _, r := range k.f.queued {
			r["%j"] = "somebody's"
		}
		if k.pools(); len(k.f.told()) > 0 {
			t.Errorf("Slurm is told %q", k.f.told())
		}
	})
}

// TestRunsNoMore: what ended, and is told to run, is charged until its walltime is
// over. It is taken out when its end is a while ago, unless it began after that.
func TestRunsNoMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ago, began time.Duration
		cancelled  bool
		want       bool
	}{{time.Hour, 2 * time.Hour, false, true}, {time.Second, time.Hour, false, false}, {time.Hour, time.Minute, false, false}, {time.Hour, time.Minute, true, true}} {
		k := cancelled(t)
		ended := time.Now().Add(-c.ago)
		for _, j := range k.s.backends[k.b.Name].campaign.jobs.byToken {
			o := j.last
			o.Ended, j.ended = ended, false
			if !c.cancelled {
				os.Remove(k.s.backends[k.b.Name].campaign.spools.path("cancels", j.token))
			}
			if err := k.s.backends[k.b.Name].campaign.reports.tell(o); err != nil {
				t.Fatal(err)
			}
		}
		row := k.row("1", 2, "RUNNING", "None")
		row["%S"] = time.Now().Add(-c.began).Format("2006-01-02T15:04:05")
		k.f.queued = []values{row}
		k.pools()
		if got := slices.Contains(k.f.told(), "scancel -- 1_[2]"); got != c.want {
			t.Errorf("ended %v ago, began %v ago: Slurm is told %q", c.ago, c.began, k.f.told())
		}
	}
}

// TestEndsNotAtOnce: a scheduler that does not end a job is asked again after a while, not at each
// look, and muster says so.
func TestEndsNotAtOnce(t *testing.T) {
	t.Parallel()
	k := cancelled(t)
	row := k.row("1", 2, "RUNNING", "None")
	row["%S"] = time.Now().Add(-time.Hour).Format("2006-01-02T15:04:05")
	k.f.queued = []values{row}
	c := k.s.backends[k.b.Name].campaign
	look := func() (asked int, notes []string) {
		before := len(c.reports.log.All())
		c.queue.rowsAt = time.Time{}
		k.watch()
		for _, e := range c.reports.log.All()[before:] {
			if e.Note != nil {
				notes = append(notes, e.Note.Text)
			}
		}
		for _, told := range k.f.told() {
			if told == "scancel -- 1_[2]" {
				asked++
			}
		}
		return asked, notes
	}
	later := func(d time.Duration) {
		for at := range c.leftovers.asked {
			c.leftovers.asked[at] = c.leftovers.asked[at].Add(-d)
		}
	}
	for i, want := range []string{"1 1 job that had ended was still in Slurm's queue, which may have forgotten that; it was taken out", "0", "1 Slurm does not end 1 job that has ended: its node may have lost it. It may be charged until an administrator removes it", "0"} {
		if i == 2 {
			later(endsWithin)
		}
		asked, notes := look()
		if got := strings.TrimSpace(fmt.Sprint(asked, " ", strings.Join(notes, " "))); got != want {
			t.Errorf("look %d: %q, want %q", i+1, got, want)
		}
	}
}

// TestQuiet: a campaign whose last end Slurm has saved, and of which its queue
// had nothing since, costs no question.
func TestQuiet(t *testing.T) {
	t.Parallel()
	k := cancelled(t)
	asked := func() bool {
		k.pools()
		return slices.ContainsFunc(k.f.calls, func(c string) bool { return strings.HasPrefix(c, "squeue") })
	}
	mark := k.s.backends[k.b.Name].campaign.spools.path("tidy")
	if !asked() || exists(mark) {
		t.Errorf("nothing was asked, or it is over with jobs in the queue")
	}
	k.f.queued = nil
	for range 2 {
		if !asked() {
			t.Error("right after the cancel nothing is asked")
		}
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(mark, later, later); err != nil {
		t.Fatal(err)
	}
	if asked() {
		t.Error("an hour later it is asked again")
	}
}
