package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

func TestMain(m *testing.M) {
	pbssim.Main()
	os.Exit(m.Run())
}

// A site is a stand-in for a server, and a user of it.
type site struct {
	*pbssim.Server
	*Commands
	t   *testing.T
	dir string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := pbssim.Start(t, pbssim.Config{})
	dir := t.TempDir()
	environ := func() []string {
		return append(os.Environ(), "PATH="+s.Bin+":"+os.Getenv("PATH"), "PBSSIM_USER=alice", "HOME="+dir)
	}
	return &site{s, New(Here{Environ: environ}, "alice"), t, dir}
}

// script is a script with directives that submits itself nowhere.
func (s *site) script(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n#PBS -N "+name+"\n#PBS -j oe\n#PBS -k doe\n#PBS -o "+s.dir+"/\n"+text+"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *site) submit(name, text string, held bool) string {
	s.t.Helper()
	id, _, err := s.Submit(s.t.Context(), s.script(name, text), held)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s *site) happen(args ...string) {
	s.t.Helper()
	if err := s.Happen(args...); err != nil {
		s.t.Fatal(err)
	}
}

// account is accounting's record of ids, by job or element.
func (s *site) account(ids ...string) map[string]scheduler.Record {
	s.t.Helper()
	list, err := s.Account(s.t.Context(), ids)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]scheduler.Record{}
	for _, l := range list {
		out[s.ID(l.ElementID)] = l
	}
	return out
}

// until asks for ids until what they say fits.
func (s *site) until(fits func(map[string]scheduler.Record) bool, ids ...string) map[string]scheduler.Record {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		all := s.account(ids...)
		if fits(all) {
			return all
		}
		if time.Now().After(end) {
			s.t.Fatalf("%+v", all)
		}
	}
}

func ended(ids ...string) func(map[string]scheduler.Record) bool {
	return func(all map[string]scheduler.Record) bool {
		for _, id := range ids {
			if all[id].End.Outcome == "" {
				return false
			}
		}
		return true
	}
}

func index(array, i string) string { return strings.Replace(array, "[]", "["+i+"]", 1) }

// Of several ids, all are answered for; another user's are not in the queue.
func TestSimSeveralJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.submit("a", "exit 0", true), s.submit("b", "exit 0", true)
	array := s.submit("c", "#PBS -J 0-2\nexit 0", true)
	rows, err := s.Queue(t.Context())
	if err != nil || len(rows) != 5 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, r := range rows {
		if r.State != scheduler.Waiting || r.HeldBy != offer.HeldByUser {
			t.Errorf("%+v", r)
		}
	}
	if all := s.account(a, "4711.pbs1", b, array); len(all) != 5 {
		t.Errorf("%+v", all)
	}
}

// An element that is deleted before it runs has not completed, whatever status of
// its array it shows, and a waiting one has not ended.
func TestSimElementDeletedBeforeItRan(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	array := s.submit("e", "#PBS -J 0-3%1\n[ $PBS_ARRAY_INDEX = 0 ] || sleep 600", false)
	s.until(func(all map[string]scheduler.Record) bool {
		return all[index(array, "0")].End.Outcome == scheduler.Completed && !all[index(array, "1")].Start.IsZero()
	}, array)
	if err := s.Cancel(t.Context(), []scheduler.Jobs{{ID: array, Indexes: []int{2}}}); err != nil {
		t.Fatal(err)
	}
	all := s.account(array)
	for i, want := range map[string]scheduler.Outcome{"0": scheduler.Completed, "1": "", "2": scheduler.Cancelled, "3": ""} {
		l := all[index(array, i)]
		if l.End.Outcome != want || l.Start.IsZero() != (i > "1") {
			t.Errorf("element %s: %+v, want %q", i, l, want)
		}
	}
	rows, err := s.Queue(t.Context())
	if err != nil || len(rows) != 4 {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, r := range rows {
		if (r.State == scheduler.Waiting) != (r.Index == 3) {
			t.Errorf("%+v", r)
		}
	}
}

// A job whose dependency cannot be met ends without having run, and is no success.
func TestSimDependentOfAFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bad := s.submit("bad", "exit 3", true)
	after := s.submit("after", "#PBS -W depend=afterok:"+bad+"\nexit 0", false)
	never := s.submit("never", "#PBS -W depend=afterok:4711.pbs1\nexit 0", false)
	if err := s.Release(t.Context(), scheduler.Whole(bad)); err != nil {
		t.Fatal(err)
	}
	all := s.until(ended(bad, after, never), bad, after, never)
	if l := all[bad]; l.End.Outcome != scheduler.Failed || l.End.Exit != 3 {
		t.Errorf("%+v", l)
	}
	for _, id := range []string{after, never} {
		if l := all[id]; l.End.Outcome != scheduler.Cancelled || !l.Start.IsZero() || l.Usage != nil {
			t.Errorf("%s: %+v", id, l)
		}
	}
}

// A node that dies requeues its jobs, or ends those that may not be.
func TestSimNodeDies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	yes, no := s.submit("yes", "#PBS -r y\nsleep 600", false), s.submit("no", "#PBS -r n\nsleep 600", false)
	s.happen("node-down", "pbs1")
	if l := s.account(no)[no]; l.End.Outcome != "" {
		t.Errorf("at once: %+v", l)
	}
	all := s.until(ended(no), yes, no)
	if all[no].End.Outcome != scheduler.NodeFailed || all[yes].End.Outcome != "" {
		t.Errorf("%+v", all)
	}
	s.happen("node-up", "pbs1")
	s.until(func(all map[string]scheduler.Record) bool { return !all[yes].Start.IsZero() }, yes)
	if err := s.Cancel(t.Context(), scheduler.Whole(yes)); err != nil {
		t.Fatal(err)
	}
	if l := s.until(ended(yes), yes)[yes]; l.End.Outcome != scheduler.Cancelled || l.End.By != " by alice@pbs1" {
		t.Errorf("%+v", l)
	}
}

// A history that is purged is no failure: the job is just not there.
func TestSimPurged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id, held := s.submit("a", "exit 0", false), s.submit("b", "exit 0", true)
	s.until(ended(id), id)
	s.happen("purge")
	if all := s.account(id, held); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// A qsub whose answer is lost leaves it open whether there is a job; a search by
// name finds it. One that was refused a connection has none.
func TestSimLostSubmission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for do, there := range map[string]bool{"lost": true, "drop": false, "down": false} {
		s.happen("fault", `{"on": "qsub", "do": "`+do+`"}`)
		_, unclear, err := s.Submit(t.Context(), s.script(do, "exit 0"), true)
		if err == nil || !unclear {
			t.Errorf("%s: unclear %v, %v", do, unclear, err)
		}
		id, where, err := s.Search(t.Context(), scheduler.Submission{Name: do, Tried: time.Now().Add(-time.Hour)})
		if err != nil || (where == offer.Found) != there || (id != "") != there {
			t.Errorf("%s: %s, %v, %v", do, id, where, err)
		}
	}
}

// What a site's hook prints does not hide the id, and what is cut or silent is no
// answer.
func TestSimNoise(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.happen("fault", `{"on": "qsub", "do": "noise", "text": "Welcome. Your allocation ends soon."}`)
	id := s.submit("a", "exit 0", true)
	other := s.submit("b", "exit 0", true)
	for _, do := range []string{"broken", "drop", "down"} {
		s.happen("fault", `{"on": "qstat", "do": "`+do+`"}`)
		_, err := s.Account(t.Context(), []string{id, other})
		var e *providers.Error
		if !errors.As(err, &e) || e.Class != providers.Unreachable {
			t.Errorf("%s: %v", do, err)
		}
	}
}

// A site without a history forgets a job when it ends. That is no failure either.
func TestSimNoHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	held := s.submit("held", "exit 0", true)
	if out, err := s.qmgr("set server job_history_enable = False"); err != nil {
		t.Fatal(err, out)
	}
	id := s.submit("short", "exit 3", false)
	s.until(func(all map[string]scheduler.Record) bool { _, there := all[id]; return !there }, id, held)
	rows, err := s.Queue(t.Context())
	if err != nil || len(rows) != 1 || s.ID(rows[0].ElementID) != held {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := s.Cancel(t.Context(), scheduler.Whole(id)); err != nil {
		t.Errorf("a job that is gone: %v", err)
	}
}

// qmgr carries out a statement as root.
func (s *site) qmgr(statement string) (string, error) {
	cmd := exec.Command(filepath.Join(s.Bin, "qmgr"), "-c", statement)
	cmd.Env = append(os.Environ(), "PBSSIM_USER=root")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A job of another user is not in the queue, and cannot be cancelled.
func TestSimAnotherUser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := exec.Command(filepath.Join(s.Bin, "qsub"), "-h", "--", "/bin/true")
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "PBSSIM_USER=bob")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(out))
	if rows, err := s.Queue(t.Context()); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := s.Cancel(t.Context(), scheduler.Whole(id)); err == nil || scheduler.Gone(err) {
		t.Errorf("cancelled another user's job: %v", err)
	}
	if err := s.Release(t.Context(), scheduler.Whole(id)); !scheduler.Unchangeable(err) {
		t.Errorf("released another user's job: %v", err)
	}
}

// TestRestarts: how often a job ran before has no variable, and qstat says it.
func TestRestarts(t *testing.T) {
	s := newSite(t)
	t.Setenv("PBS_O_PATH", s.Bin)
	t.Setenv("PBSSIM_USER", "alice")
	id := s.submit("again", "sleep 1000", false)
	ran := func() int { // -1: it does not run
		rows, err := s.Queue(t.Context())
		if err != nil || len(rows) != 1 || rows[0].State != scheduler.Running {
			return -1
		}
		n, err := Node{}.Restarts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n := range 2 {
		for end := time.Now().Add(time.Minute); ran() != n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("run %d: it ran %d times before", n, ran())
			}
		}
		if n == 0 {
			cmd := exec.Command(filepath.Join(s.Bin, "qrerun"), id)
			cmd.Env = append(os.Environ(), "PBSSIM_USER=root")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("qrerun: %v: %s", err, out)
			}
		}
	}
	if _, err := (Node{}).Restarts(t.Context(), "99999.pbs1"); err == nil {
		t.Error("a job that is not known has a count")
	}
}

// TestSchedulerDown: a job of which the scheduler says nothing waits for that, once it has
// waited for longer than a cycle may take; not one that was queued just now, or is held. Of a
// server whose scheduling is off that is why.
func TestSchedulerDown(t *testing.T) {
	s := newSite(t)
	s.happen("scheduler-down")
	long, fresh, held := s.submit("long", "true", false), s.submit("fresh", "true", false), s.submit("held", "true", true)
	ago := func(id string, d time.Duration) {
		s.happen("set", id, "qtime", strconv.FormatInt(time.Now().Add(-d).Unix(), 10))
	}
	reasons := func() map[string]string {
		t.Helper()
		s.cycle = cycle{} // it is asked again
		rows, err := s.Queue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, r := range rows {
			out[s.ID(r.ElementID)] = r.Reason
		}
		return out
	}
	for _, id := range []string{long, held} {
		ago(id, time.Hour)
	}
	const down = "PBS's scheduler has not looked at it since it was queued at "
	if got := reasons(); !strings.HasPrefix(got[long], down) || got[fresh] != "" || got[held] != "held; `muster resume` releases it" {
		t.Errorf("down: %q", got)
	}
	ago(long, 5*time.Minute)
	if got := reasons(); got[long] != "" {
		t.Errorf("a cycle may take that long: %q", got)
	}
	cmd := exec.Command(filepath.Join(s.Bin, "qmgr"), "-c", "set server scheduling = False")
	cmd.Env = append(os.Environ(), "PBSSIM_USER=root")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("qmgr: %v: %s", err, out)
	}
	if got := reasons(); got[long] != SchedulingOff || got[fresh] != "" {
		t.Errorf("off: %q", got)
	}
	if f, err := s.Facts(t.Context()); err != nil || !f.Stopped {
		t.Errorf("facts %+v, %v", f, err)
	}
}

// A server that is killed has the holds that it was asked for, also of jobs that wait for others.
func TestSimHoldsSurviveTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.submit("first", "exit 0", true)
	held := s.submit("held", "#PBS -W depend=afterok:"+first+"\n#PBS -J 0-1\nexit 0", false)
	released := s.submit("released", "#PBS -W depend=afterok:"+first+"\n#PBS -J 0-1\nexit 0", true)
	if err := s.Hold(t.Context(), []scheduler.Jobs{{ID: held}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), []scheduler.Jobs{{ID: released}}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	again, err := pbssim.Open(s.Dir, pbssim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	rows, err := s.Queue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]offer.Holder{}
	for _, r := range rows {
		by[r.Array] = r.HeldBy
	}
	if by[held] != offer.HeldByUser || by[released] == offer.HeldByUser {
		t.Errorf("held by %q and %q: %+v", by[held], by[released], rows)
	}
}
