package rental_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// Prices that rise after the plan was shown: nothing is rented, and the job says why.
func TestAPriceThatRises(t *testing.T) {
	// Requirement: SPT-08
	t.Parallel()
	n := newTown(t, nil)
	if _, err := n.provider.Pools(t.Context(), n.backend.Name); err != nil {
		t.Fatal(err)
	}
	n.clock.Advance(time.Minute)
	for _, machine := range []int{41001, 41002, 41008} {
		n.happen(fmt.Sprintf(`{"machine": %d, "what": "price", "value": "0.41"}`, machine))
	}
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to say why", func(seen map[string]offer.Observation) bool {
		return strings.Contains(seen[j.Token].Reason, "none of") && strings.Contains(seen[j.Token].Reason, "fits within $0.3785")
	})
	if got := n.alive(); len(got) != 0 {
		t.Errorf("machines %v were rented", got)
	}
}

// A create that works and says that it failed, and one without an answer: one machine
// each time.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"failed", "lost"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			n := newTown(t, nil)
			n.fault(`{"on":"create","do":"` + fault + `"}`)
			n.fault(`{"on":"list","do":"lag","for":"1m","times":20}`)
			j := n.job("a", "echo '{}' > a.json")
			n.submit(j)
			n.until("it to be done", all(offer.Completed, j))
			if got := n.truth(); len(got) != 1 {
				t.Errorf("machines %v: one was wanted", got)
			}
		})
	}
}

// A machine with the campaign's label that no record knows is shown with its price and
// released by request; one of somebody else is neither.
func TestOrphansOfACampaign(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	for offer, label := range map[string]string{"30100013": "muster-abc-0123", "30100026": "muster-xyz-0123", "30100039": "mine"} {
		n.clock.Advance(20 * time.Second)
		n.api("PUT", "/api/v0/asks/"+offer+"/", `{"client_id":"me","image":"i","disk":20,"label":"`+label+`","runtype":"ssh_direct"}`)
	}
	n.clock.Advance(20 * time.Second)
	got, err := n.provider.Rentals(t.Context(), n.backend.Name)
	if err != nil || len(got) != 1 || got[0].Rate == "" || !got[0].Orphan || got[0].Began.IsZero() {
		t.Fatalf("rentals %+v, %v", got, err)
	}
	var strangers []string
	for _, a := range n.truth() {
		if id := strconv.Itoa(a.ID); id != got[0].ID {
			strangers = append(strangers, id)
		}
	}
	out, err := n.provider.Release(t.Context(), n.backend.Name, append(strangers, got[0].ID))
	if err != nil || out[0].What != "not found" || out[1].What != "not found" || out[2].Err != nil {
		t.Fatal(out, err)
	}
	if got := n.alive(); len(got) != 2 {
		t.Errorf("machines %v: those of others were not ours to release", got)
	}
}

// A state is lost while a machine runs: the next one shows the machine, as long as its
// records are in the campaign's folder.
func TestAMachineOfALostState(t *testing.T) {
	// Requirement: TDN-13
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	id := n.until("it to be done", all(offer.Completed, j))[j.Token].Rental.ID
	for _, lineage := range []string{"def", ""} { // "" belongs to a plan without a state
		n.backend.Lineage = lineage
		n.begin()
		got, err := n.provider.Rentals(t.Context(), n.backend.Name)
		if err != nil || len(got) != 1 || got[0].ID != id || !got[0].Orphan || got[0].Rate == "" {
			t.Errorf("lineage %q: rentals %+v, %v", lineage, got, err)
		}
	}
}

// A campaign's folder is deleted, or cleaned by git, while its machine runs. The machine is shown
// in each later campaign of the user at that cloud and released by request; one whose records
// exist in another folder is not.
func TestAMachineOfADeletedFolder(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	trace := filepath.Join(n.traces, "abc", "vastai.cloud.json")
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	id := n.until("it to be done", all(offer.Completed, j))[j.Token].Rental.ID
	if _, err := os.Stat(trace); err != nil {
		t.Fatal(err)
	}
	folder := n.backend.Dir
	n.backend.Lineage, n.backend.Dir = "def", t.TempDir()
	n.begin()
	if got, err := n.provider.Rentals(t.Context(), n.backend.Name); err != nil || len(got) != 0 {
		t.Errorf("beside the campaign that has the machine: %+v, %v", got, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if got, err := n.provider.Rentals(t.Context(), n.backend.Name); err != nil || len(got) != 1 || got[0].ID != id || !got[0].Orphan || got[0].Rate == "" {
		t.Errorf("after its folder: %+v, %v", got, err)
	}
	out, err := n.provider.Release(t.Context(), n.backend.Name, []string{id})
	if err != nil || out[0].Err != nil || out[0].What != "released" || len(n.alive()) != 0 {
		t.Errorf("%+v, %v, %v", out, err, n.alive())
	}
}

// A trace of a campaign ends with its last machine.
func TestTraceEnds(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	id := n.until("it to be done", all(offer.Completed, j))[j.Token].Rental.ID
	if out, err := n.provider.Release(t.Context(), n.backend.Name, []string{id}); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	if left, err := os.ReadDir(n.traces); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if text, err := os.ReadFile(filepath.Join(n.backend.Dir, ".muster", ".gitignore")); string(text) != "*\n" {
		t.Errorf("git would see keys of machines: %q, %v", text, err)
	}
}

// A spot machine is outbid: its job is preempted and no failure of its own, and the
// next launch finds the last checkpoint on another machine.
func TestPreemption(t *testing.T) {
	t.Parallel()
	text := preempted(t, providers.Checkpoint{Path: "ck"}, "echo step7 > ck", "ck", "cp ck a.json")
	if text != "step7\n" {
		t.Errorf("it began at %q", text)
	}
}

// Of several checkpoints the newest is torn. The copies on the next machine keep their order, so
// that it is opened, and the one before it is used.
//
// Requirement: WT-08
func TestPreemptionTorn(t *testing.T) {
	t.Parallel()
	text := preempted(t, providers.Checkpoint{Path: "ck/s-*", Glob: true, Verify: []providers.VerifyCheck{{Kind: "json"}}},
		`mkdir -p ck; echo '{"step":9}' > ck/s-9; sleep 0.1; printf '{"st' > ck/s-10`, "ck/s-10", "cat ck/* > a.json")
	if text != "{\"step\":9}\n" {
		t.Errorf("it began at %q", text)
	}
}

// preempted takes the machine of a job away when a file that it saves is here, and returns what
// the next launch made of its checkpoint on another machine.
func preempted(t *testing.T, c providers.Checkpoint, save, saved, resume string) string {
	n := newTown(t, map[string]any{"spot": true, "bid": 0.2})
	n.backend.OnHold = "release"
	n.begin()
	work := n.backend.Workdir
	j := n.job("a", "echo $$ > pid; "+save+"; while :; do sleep 0.05; done")
	c.Path, c.Interval = filepath.Join(work, c.Path), time.Second
	j.Checkpoint = c
	n.submit(j)
	seen := n.until("it to run", all(offer.Running, j))
	here := filepath.Join(n.backend.Dir, ".muster/rentals/abc/vastai.cloud/files", work, saved)
	waitFor(t, "the checkpoint to be here", func() bool { text, _ := os.ReadFile(here); return len(text) > 0 })
	id := seen[j.Token].Rental.ID
	n.happen(`{"instance": ` + id + `, "what": "outbid"}`)
	n.mu.Lock()
	n.cut[id] = true
	spool := filepath.Join(n.folders[id], "s")
	n.mu.Unlock()
	hosttest.Kill(t, spool)
	killGroup(t, filepath.Join(work, "pid"))
	if err := os.RemoveAll(filepath.Join(work, "ck")); err != nil { // another machine has nothing
		t.Fatal(err)
	}
	n.until("it to be preempted", func(seen map[string]offer.Observation) bool {
		o := seen[j.Token]
		if o.Status == offer.Running && strings.Contains(o.Reason, "taken away") {
			n.clock.Advance(11 * time.Minute)
		}
		return o.Status == offer.Failed && o.Class == "preempted" && strings.Contains(o.Reason, "goes on from its checkpoint")
	})
	again := n.job("a", resume)
	again.Attempt, again.Checkpoint = 2, j.Checkpoint
	n.submit(again)
	n.until("the next launch", all(offer.Completed, again))
	text, err := os.ReadFile(filepath.Join(work, "a.json"))
	if got := n.alive(); err != nil || len(got) != 1 || strconv.Itoa(got[0]) == id {
		t.Errorf("machines %v: the lost one, %s, is given up; %v", got, id, err)
	}
	return string(text)
}

// This machine's clock is off by an hour, or by minutes: the time of a rental and its bill are
// right, of a short one, too.
func TestAClockThatIsOff(t *testing.T) {
	t.Parallel()
	for off, lives := range map[time.Duration]time.Duration{-time.Hour: 3 * time.Hour, time.Hour: 3 * time.Hour, -9 * time.Minute: 2 * time.Minute, 9 * time.Minute: 2 * time.Minute} {
		w := newWorld(t)
		w.off = off
		w.open()
		token := w.wants()
		w.turns(3 * time.Minute)
		w.are("ready")
		w.clock.Advance(lives)
		w.release(token)
		w.turns(5 * time.Minute)
		w.settled(1)
		if r := w.Rentals()[0]; r.Ended.Sub(r.Since) < lives || r.Ended.Sub(r.Since) > lives+10*time.Minute {
			t.Errorf("off by %s: from %s to %s", off, r.Since, r.Ended)
		}
	}
}

// Two machines with one label: one is the rental's, the other an orphan, and neither is
// released by itself.
func TestTwoMachinesWithOneLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wants()
	w.turns(2 * time.Minute)
	w.are("ready")
	r := w.Rentals()[0]
	w.clock.Advance(20 * time.Second)
	w.api("PUT", "/api/v0/asks/30100013/", `{"client_id":"me","image":"i","disk":20,"label":"`+r.Machine.Label+`","runtype":"ssh_direct"}`)
	turned := w.turns(2 * time.Minute)
	if len(turned.Orphans) != 1 || turned.Orphans[0].ID == r.ID || w.cloud.calls["release"] != 0 {
		t.Errorf("%+v, %v", turned, w.cloud.calls)
	}
	w.are("ready")
}

// killGroup kills the group of the process that a file names, as the end of its machine does.
func killGroup(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	group, err := unix.Getpgid(pid)
	if err == nil {
		err = unix.Kill(-group, unix.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// A cloud that rents nothing to the account is asked again every two minutes, and the
// job says why it waits.
func TestACloudThatRefuses(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	n.provider.Close()
	n.provider = rental.NewWith(platform{world: n.world, key: "broke"}, n, n.now, 20*time.Millisecond)
	if err := n.provider.Configure(t.Context(), n.backend); err != nil {
		t.Fatal(err)
	}
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to say why", func(seen map[string]offer.Observation) bool {
		return strings.Contains(seen[j.Token].Reason, "the account has no credit")
	})
	asked := func() int {
		files, err := filepath.Glob(filepath.Join(n.backend.Dir, ".muster/rentals/abc/vastai.cloud/machines/*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if got := asked(); got != 1 {
		t.Errorf("it was asked %d times", got)
	}
	waitFor(t, "the next try", func() bool { n.clock.Advance(10 * time.Second); return asked() > 1 })
	if d := n.now().Sub(start); d < 2*time.Minute {
		t.Errorf("it was asked again after %s", d)
	}
}

// Where no job could run on a machine, a plan says so, and none is rented.
func TestNothingIsRentedInVain(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	n.unable = &providers.Error{Class: providers.Invalid, Summary: "no program for hosts", Hint: "build it"}
	found, err := n.provider.Preflight(t.Context(), n.backend.Name, nil)
	if err != nil || len(found) != 1 || found[0].Warning || !strings.Contains(found[0].Detail, "no program for hosts; build it") {
		t.Errorf("%+v, %v", found, err)
	}
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to say why", func(seen map[string]offer.Observation) bool {
		return strings.Contains(seen[j.Token].Reason, "no program for hosts")
	})
	if got := n.truth(); len(got) != 0 {
		t.Errorf("machines %+v were rented", got)
	}
}

// A plan cannot look for a required file before a machine is there: each launch does.
func TestRequiredFileOfAMachine(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	j.Require = []providers.Require{{Path: "/data/not/there", Message: "fetch it"}}
	found, err := n.provider.Preflight(t.Context(), n.backend.Name, []providers.Check{{Workdir: j.Workdir, Require: j.Require}})
	if err != nil || len(found) != 1 || !found[0].Warning || !strings.Contains(found[0].Detail, "fetch it: muster sends no file /data/not/there") {
		t.Errorf("%+v, %v", found, err)
	}
	n.submit(j)
	seen := n.until("it to fail", func(seen map[string]offer.Observation) bool { return seen[j.Token].Status == offer.Failed })
	if o := seen[j.Token]; o.Class != failure.MissingFile || !strings.Contains(o.Reason, "fetch it: /data/not/there") {
		t.Errorf("%s: %s", o.Class, o.Reason)
	}
}

// A machine's bill that no process was there to ask for is asked for by whoever looks next,
// without leading the machines.
func TestABillThatCameLater(t *testing.T) {
	// Requirement: CST-08
	t.Parallel()
	n := newTown(t, nil)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	id := n.until("it to be done", all(offer.Completed, j))[j.Token].Rental.ID
	n.clock.Advance(time.Hour)
	if out, err := n.provider.Release(t.Context(), n.backend.Name, []string{id}); err != nil || out[0].Err != nil {
		t.Fatal(out, err)
	}
	n.begin()
	billed := func() string {
		t.Helper()
		got, err := n.provider.Rentals(t.Context(), n.backend.Name)
		if err != nil || len(got) != 1 || got[0].Status != offer.RentalReleased {
			t.Fatalf("%+v, %v", got, err)
		}
		return got[0].Billed
	}
	if got := billed(); got != "" {
		t.Errorf("$%s is billed before the bill is complete", got)
	}
	n.clock.Advance(2 * time.Minute)
	if got, want := billed(), n.truth()[0].USD.Round(3).String(); got != want {
		t.Errorf("the bill is $%s, and the cloud's own is $%s", got, want)
	}
}
