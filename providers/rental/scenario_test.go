package rental_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/host/offsite/offsitetest"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// kept is a file of the workdir as it is kept here.
func (n *town) kept(name string) string {
	return filepath.Join(n.backend.Dir, ".muster/rentals/abc/vastai.cloud/files", n.backend.Workdir, name)
}

// steps is a job that counts to 40 steps and saves each one, going on from the last that
// it finds.
func (n *town) counts(attempt int) providers.Job {
	j := n.job("a", fmt.Sprintf(`echo $$ > pid
i=$(cat ck 2>/dev/null || echo 0)
echo $i > began.%d
while [ $i -lt 40 ]; do i=$((i + 1)); echo $i > ck.new; mv ck.new ck; sleep 0.1; done
echo "{\"steps\": $i}" > a.json`, attempt))
	j.Attempt = attempt
	j.Checkpoint = providers.Checkpoint{Path: filepath.Join(n.backend.Workdir, "ck"), Interval: time.Second}
	return j
}

// Scenario D3: a spot machine is paused without a signal. Its job is preempted and not
// failed, its disk's rate is shown, and after ten minutes another machine goes on from
// the last whole checkpoint. Then everything is released and the bills agree.
func TestSpotPreemption(t *testing.T) {
	// Requirement: SPT-07
	t.Parallel()
	n := newTown(t, map[string]any{"spot": true, "bid": 0.2})
	n.backend.OnHold = "release"
	n.begin()
	j := n.counts(1)
	n.submit(j)
	seen := n.until("it to run", all(offer.Running, j))
	id := seen[j.Token].Rental.ID
	waitFor(t, "a checkpoint to be here", func() bool { return number(n.kept("ck")) >= 3 })
	n.happen(`{"instance": ` + id + `, "what": "outbid"}`)
	n.mu.Lock()
	n.cut[id] = true
	spool := filepath.Join(n.folders[id], "s")
	n.mu.Unlock()
	hosttest.Kill(t, spool)
	killGroup(t, filepath.Join(n.backend.Workdir, "pid"))
	lost, saved := number(filepath.Join(n.backend.Workdir, "ck")), number(n.kept("ck"))
	if err := os.Remove(filepath.Join(n.backend.Workdir, "ck")); err != nil { // another machine has nothing
		t.Fatal(err)
	}
	before := n.now().Add(-5 * time.Minute) // the cloud's clock is not that of files
	if err := os.Chtimes(n.kept("ck"), before, before); err != nil {
		t.Fatal(err)
	}
	waited := false
	seen = n.until("it to be preempted", func(seen map[string]offer.Observation) bool {
		o := seen[j.Token]
		if o.Status == offer.Running && strings.Contains(o.Reason, "taken away") {
			when := "after 10m"
			if waited {
				when = "by the next `muster apply`"
			}
			if !strings.Contains(o.Reason, "another machine is rented "+when) || !strings.Contains(o.Reason, "its disk costs $0.0041/h") {
				t.Errorf("reason %q", o.Reason)
			}
			n.clock.Advance(11 * time.Minute)
			waited = true
		}
		return o.Status == offer.Failed
	})
	if o := seen[j.Token]; o.Class != "preempted" || !strings.Contains(o.Reason, "goes on from its checkpoint") || !strings.Contains(o.Reason, "of work are lost") {
		t.Errorf("%s: %s", o.Class, o.Reason)
	}
	again := n.counts(2)
	n.submit(again)
	n.until("the next launch", all(offer.Completed, again))
	if began := number(filepath.Join(n.backend.Workdir, "began.2")); began < saved || began == 0 || began > lost {
		t.Errorf("it began at step %d; %d was here and %d was reached", began, saved, lost)
	}
	waitFor(t, "all to be released", func() bool { n.clock.Advance(time.Minute); return len(n.alive()) == 0 })
	n.billed()
}

// A job fails on a machine that stays: its next launch there goes on from the checkpoint
// that the machine has, which is newer than the last copy; and what it left is copied at its end.
// Its first checkpoint comes after muster first looked for one, and is copied all the same.
func TestAFailedJobKeepsItsNewestCheckpoint(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "sleep 1; echo 1 > new; mv new ck; while [ ! -e go ]; do sleep 0.1; done; echo 2 > new; mv new ck; exit 3")
	j.Checkpoint = providers.Checkpoint{Path: filepath.Join(n.backend.Workdir, "ck"), Interval: time.Hour}
	n.submit(j)
	waitFor(t, "the first checkpoint to be here", func() bool { return number(n.kept("ck")) == 1 })
	if err := os.WriteFile(filepath.Join(n.backend.Workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := n.until("it to fail", all(offer.Failed, j))
	if o := seen[j.Token]; o.Class == "preempted" || number(n.kept("ck")) != 2 {
		t.Errorf("%s; the copy is of step %d", o.Class, number(n.kept("ck")))
	}
	if err := os.WriteFile(filepath.Join(n.backend.Workdir, "ck"), []byte("3\n"), 0o600); err != nil { // it was written as the machine was asked
		t.Fatal(err)
	}
	again := n.job("a", "cp ck a.json")
	again.Attempt, again.Checkpoint = 2, j.Checkpoint
	n.submit(again)
	n.until("the next launch", all(offer.Completed, again))
	if got := number(filepath.Join(n.backend.Workdir, "a.json")); got != 3 {
		t.Errorf("it began at step %d", got)
	}
}

// A spot machine's jobs are killed before the cloud says that it was taken: they are
// preempted, too.
func TestKilledBeforeTheCloudSaysSo(t *testing.T) {
	// Requirement: SPT-07
	t.Parallel()
	n := newTown(t, map[string]any{"spot": true, "bid": 0.2})
	j := n.counts(1)
	n.submit(j)
	id := n.until("it to run", all(offer.Running, j))[j.Token].Rental.ID
	waitFor(t, "a checkpoint to be here", func() bool { return number(n.kept("ck")) >= 1 })
	n.mu.Lock()
	spool := filepath.Join(n.folders[id], "s")
	n.mu.Unlock()
	hosttest.Kill(t, spool)
	killGroup(t, filepath.Join(n.backend.Workdir, "pid"))
	seen := n.until("it to end", all(offer.Failed, j))
	if o := seen[j.Token]; o.Class != "preempted" || !strings.Contains(o.Reason, "every process there; it goes on from its checkpoint") {
		t.Errorf("%s: %s", o.Class, o.Reason)
	}
}

// counted is a platform whose calls are counted.
type counted struct{ platform }

func (p counted) Open(providers.Backend) (rental.Cloud, error) { return p.cloud, nil }

// TestNoSecondMachineBeforeTheDeadline: while a machine that was taken away may come back,
// its job waits for it, and no other machine is rented, although there are offers.
func TestNoSecondMachineBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	n := newTown(t, map[string]any{"spot": true, "bid": 0.25})
	n.cloudOf = func(p platform) rental.Platform { return counted{p} }
	n.begin()
	j := n.job("a", "sleep 600")
	n.submit(j)
	id := n.until("it to run", all(offer.Running, j))[j.Token].Rental.ID
	n.happen(`{"instance": ` + id + `, "what": "outbid"}`)
	n.mu.Lock()
	n.cut[id] = true
	n.mu.Unlock()
	n.until("it to be taken away", func(seen map[string]offer.Observation) bool {
		return strings.Contains(seen[j.Token].Reason, "taken away")
	})
	reader := rental.NewWith(platform{world: n.world, key: n.key}, n, n.now, time.Hour) // as of a plan beside the apply
	if err := reader.Configure(t.Context(), n.backend); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	found := func(says string) {
		t.Helper()
		got, err := reader.Find(t.Context(), n.backend.Name, []string{j.Token})
		if err != nil || got[0].Cause != offer.MachineAway || got[0].Rental == nil || got[0].Rental.ID != id || got[0].Rental.Status != offer.RentalStopped || !strings.Contains(got[0].Reason, says) {
			t.Errorf("another process finds %+v, %v, without %q", got, err, says)
		}
	}
	found("another machine is rented after 10m; its disk costs $0.0041/h")
	lists := func() int {
		n.cloud.mu.Lock()
		defer n.cloud.mu.Unlock()
		return n.cloud.calls["list"]
	}
	for range 3 {
		n.clock.Advance(time.Minute)
		seen := lists()
		waitFor(t, "two looks at the cloud", func() bool { return lists() >= seen+2 })
	}
	if all := n.truth(); len(all) != 1 {
		t.Errorf("%d machines were rented, %+v", len(all), all)
	}
}

// number is the number in a file, 0 where there is none.
func number(path string) int {
	text, _ := os.ReadFile(path)
	v, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return v
}

// billed waits until no machine is orphaned or alive and each is on record with what the
// cloud billed.
func (n *town) billed() {
	n.Helper()
	waitFor(n.T, "the bills", func() bool {
		n.clock.Advance(30 * time.Second)
		bills := map[string]string{}
		for _, a := range n.truth() {
			if a.Gone {
				bills[strconv.Itoa(a.ID)] = a.USD.Round(3).String()
			}
		}
		got, err := n.provider.Rentals(n.Context(), n.backend.Name)
		if err != nil {
			return false
		}
		for _, r := range got {
			if r.Orphan {
				n.Fatalf("orphan %+v", r)
			}
			if r.Status != offer.RentalReleased || r.Billed != bills[r.ID] {
				return false
			}
		}
		return len(got) > 0
	})
}

// garbled spoils the first copy of a file: as many bytes, and others.
type garbled struct {
	*folder
	name string
	done *bool
}

func (g garbled) Pull(ctx context.Context, name, path string, offset int64, w io.Writer) error {
	g.mu.Lock()
	spoil := !*g.done && filepath.Base(path) == g.name
	*g.done = *g.done || spoil
	g.mu.Unlock()
	if !spoil {
		return g.folder.Pull(ctx, name, path, offset, w)
	}
	fi, err := os.Stat(path)
	if err == nil {
		_, err = w.Write(make([]byte, fi.Size()))
	}
	return err
}

// Scenario D7: 24 jobs on three machines. One machine dies under job 19, job 7 leaves an
// empty file, and the copy of job 11 is spoiled. Nothing is released before all 24 are
// here; then a release that hangs and one that lingers are waited for, and a stranger's
// machine is left alone.
func TestTeardown(t *testing.T) {
	// Requirement: TDN-03
	// Requirement: TDN-04
	// Requirement: TDN-12, E5
	t.Parallel()
	n := newTown(t, map[string]any{"max_boxes": 3})
	spoiled := false
	n.hostOf = func(f *folder) rental.Host { return garbled{f, "c11.json", &spoiled} }
	n.begin()
	n.api("PUT", "/api/v0/asks/30100026/", `{"client_id":"me","image":"i","disk":20,"label":"mine","runtype":"ssh_direct"}`)
	n.clock.Advance(10 * time.Second)
	var jobs []providers.Job
	for i := range 24 {
		command := fmt.Sprintf(`echo '{"cell": %d}' > c%d.json`, i+1, i+1)
		switch i + 1 {
		case 7:
			command = "[ -e tried ] || { touch tried; : > c7.json; exit 0; }; " + command
		case 19:
			command = "echo $$ > pid19; [ -e died ] || while :; do sleep 0.05; done; " + command
		}
		j := n.job(fmt.Sprintf("c%d", i+1), command)
		j.Outputs[0].MinSize = 1
		jobs = append(jobs, j)
	}
	n.submit(jobs...)
	seen := n.until("all but two to be done", func(seen map[string]offer.Observation) bool {
		done := 0
		for _, o := range seen {
			if o.Status == offer.Completed {
				done++
			}
		}
		return done == 22 && seen[jobs[18].Token].Status == offer.Running && seen[jobs[6].Token].Status == offer.Failed
	})
	box := seen[jobs[18].Token].Rental.ID
	out, err := n.provider.Release(t.Context(), n.backend.Name, []string{box})
	if err != nil || out[0].Err == nil || !strings.Contains(out[0].Err.Summary, "phase.c19 has no result here yet") {
		t.Errorf("the machine of job 19 is released: %+v, %v", out, err)
	}
	n.mu.Lock()
	n.cut[box] = true
	spool := filepath.Join(n.folders[box], "s")
	n.mu.Unlock()
	hosttest.Kill(t, spool) // with the machine; else it may still tell of the kill below
	n.clock.Advance(10 * time.Second)
	n.api("DELETE", "/api/v0/instances/"+box+"/", "{}") // its host ends it
	killGroup(t, filepath.Join(n.backend.Workdir, "pid19"))
	n.until("job 19 to be lost", func(seen map[string]offer.Observation) bool {
		n.clock.Advance(10 * time.Second)
		return seen[jobs[18].Token].Status == offer.Failed && seen[jobs[18].Token].Class == "node_failure"
	})
	if err := os.WriteFile(filepath.Join(n.backend.Workdir, "died"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{6, 18} {
		jobs[i].Token, jobs[i].Attempt = token(), 2
		n.submit(jobs[i])
	}
	n.until("all to be done", all(offer.Completed, jobs...))
	for i := range 24 {
		text, err := os.ReadFile(n.kept(fmt.Sprintf("c%d.json", i+1)))
		if want := fmt.Sprintf("{\"cell\": %d}\n", i+1); err != nil || string(text) != want {
			t.Errorf("cell %d is %q here, %v", i+1, text, err)
		}
	}
	if !spoiled {
		t.Error("no copy was spoiled")
	}
	n.fault(`{"on":"destroy","do":"lost"}`)
	n.fault(`{"on":"destroy","do":"linger","for":"90s"}`)
	var ids []string
	for _, a := range n.truth() {
		if !a.Gone {
			ids = append(ids, strconv.Itoa(a.ID))
		}
	}
	out, err = n.provider.Release(t.Context(), n.backend.Name, ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		stranger := strings.Contains(n.labelOf(o.ID), "mine")
		if o.Err != nil || stranger != (o.What == "not found") {
			t.Errorf("%+v", o)
		}
	}
	if got := n.alive(); len(got) != 1 || n.labelOf(strconv.Itoa(got[0])) != "mine" {
		t.Errorf("machines %v are there", got)
	}
	n.billed()
}

func (n *town) labelOf(id string) string {
	for _, a := range n.truth() {
		if strconv.Itoa(a.ID) == id {
			return a.Label
		}
	}
	return ""
}

// lateAnswers is a machine whose answers to submissions are late.
type lateAnswers struct {
	*folder
	answer chan struct{}
}

func (l lateAnswers) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	out, err := l.folder.Submit(ctx, r)
	<-l.answer
	return out, err
}

// TestALogBeforeTheAnswer: a job that runs has a log, though its machine has not answered the
// submission yet.
func TestALogBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	answer := make(chan struct{})
	n.hostOf = func(f *folder) rental.Host { return lateAnswers{f, answer} }
	defer sync.OnceFunc(func() { close(answer) })()
	gate := filepath.Join(t.TempDir(), "gate")
	j := n.job("a", "echo begun; until [ -e "+gate+" ]; do sleep 0.1; done; echo 1 > a.json")
	n.submit(j)
	n.until("it to run", all(offer.Running, j))
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var log bytes.Buffer
		if err := n.provider.Logs(t.Context(), providers.LogRequest{Backend: n.backend.Name, Token: j.Token}, &log); err != nil {
			t.Fatal(err)
		}
		if log.String() == "begun\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the log is %q", log.String())
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.until("it to be done", all(offer.Completed, j))
}

// TestCopiesWithMusterOff: the machine of a spot offer copies its checkpoints to copy_to by itself.
// muster is off when the cloud takes the machine away, and the next one goes on from the copy.
func TestCopiesWithMusterOff(t *testing.T) {
	// Requirement: SPT-07
	t.Parallel()
	n := newTown(t, map[string]any{"spot": true, "bid": 0.2})
	backup, folder := offsitetest.Start(t), t.TempDir()
	counts := func(attempt int) providers.Job {
		j := n.counts(attempt)
		j.Shell = strings.Replace(j.Shell, "sleep 0.1", "sleep 0.3", 1)
		j.Phase, j.ResultHash, j.Checkpoint.CopyTo = "a", "hash", backup.Address+folder
		j.Env = append(j.Env, providers.EnvVar{Name: offer.CopyHostKey, Value: backup.HostKey})
		j.Secrets = []providers.EnvVar{{Name: offer.CopyKey, Value: backup.Key}}
		return j
	}
	copied := func() int {
		names, _ := filepath.Glob(filepath.Join(folder, "muster-abc/a-*/*.tar"))
		return len(names)
	}
	j := counts(1)
	j.Shell = strings.Replace(j.Shell, "-lt 40", "-lt 100000", 1) // it runs until it is killed
	n.submit(j)
	seen := n.until("it to run", all(offer.Running, j))
	id := seen[j.Token].Rental.ID
	n.provider.Close()
	waitFor(t, "copies", func() bool { return copied() == 2 })
	n.mu.Lock()
	spool := filepath.Join(n.folders[id], "s")
	n.mu.Unlock()
	hosttest.Kill(t, spool)
	killGroup(t, filepath.Join(n.backend.Workdir, "pid"))
	n.api("DELETE", "/api/v0/instances/"+id+"/", "{}") // its host ends it
	n.clock.Advance(time.Minute)
	lost := number(filepath.Join(n.backend.Workdir, "ck"))
	if err := os.Remove(filepath.Join(n.backend.Workdir, "ck")); err != nil { // another machine has nothing
		t.Fatal(err)
	}
	if _, err := os.Stat(n.kept("ck")); err == nil {
		t.Error("muster copied the checkpoint, too")
	}
	n.begin()
	seen = n.until("it to be lost", func(seen map[string]offer.Observation) bool {
		n.clock.Advance(10 * time.Second)
		return seen[j.Token].Status == offer.Failed
	})
	if o := seen[j.Token]; !strings.Contains(o.Reason, "it goes on from the last whole checkpoint that its machine copied to ssh://copies@") {
		t.Errorf("%s: %s", o.Class, o.Reason)
	}
	again := counts(2)
	n.submit(again)
	n.until("the next launch", all(offer.Completed, again))
	if began := number(filepath.Join(n.backend.Workdir, "began.2")); began == 0 || began > lost {
		t.Errorf("it began at step %d; %d was reached", began, lost)
	}

	// A launch that begins from the start leaves no copy to the launches after it, wherever they run.
	fresh := counts(3)
	fresh.Shell, fresh.Checkpoint.Fresh = "echo '{}' > a.json", true
	n.submit(fresh)
	n.until("the run from the start", all(offer.Completed, fresh))
	if err := os.RemoveAll(filepath.Join(n.backend.Workdir, "ck")); err != nil {
		t.Fatal(err)
	}
	last := counts(4)
	n.submit(last)
	n.until("the last one", all(offer.Completed, last))
	if began := number(filepath.Join(n.backend.Workdir, "began.4")); began != 0 {
		t.Errorf("it began at step %d of the work that was replaced", began)
	}
}

// TestCopiesThatCannotBeMade: a job whose copies cannot be read does not start; while one runs, its
// reason says that they are late.
func TestCopiesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	backup, stranger := offsitetest.Start(t), offsitetest.Start(t)
	j := n.counts(1)
	j.Phase, j.ResultHash, j.Checkpoint.CopyTo = "a", "hash", backup.Address+t.TempDir()
	j.Env = append(j.Env, providers.EnvVar{Name: offer.CopyHostKey, Value: backup.HostKey})
	j.Secrets = []providers.EnvVar{{Name: offer.CopyKey, Value: stranger.Key}}
	n.submit(j)
	seen := n.until("it to fail", all(offer.Failed, j))
	if o := seen[j.Token]; !strings.Contains(o.Reason, "the copies of its checkpoint at "+j.Checkpoint.CopyTo+" cannot be read") || strings.Contains(o.Reason, "PRIVATE") {
		t.Errorf("reason %q", o.Reason)
	}
	gate := filepath.Join(t.TempDir(), "gate")
	j.Token, j.Secrets[0].Value = token(), backup.Key
	j.Shell = strings.Replace(j.Shell, "[ $i -lt 40 ]", "[ ! -e "+gate+" ]", 1)
	n.submit(j)
	n.until("it to run", all(offer.Running, j))
	waitFor(t, "its command, which follows the look for copies", func() bool { return number(filepath.Join(n.backend.Workdir, "ck")) > 0 })
	backup.Away.Store(true)
	n.until("it to say so", func(seen map[string]offer.Observation) bool {
		return strings.Contains(seen[j.Token].Reason, "its checkpoint is not copied to "+backup.Address)
	})
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.until("it to be done", all(offer.Completed, j))
}
