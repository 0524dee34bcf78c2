package rental_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/rental"
)

// stops is a town whose idle machines are stopped after ten minutes.
func stops(t *testing.T) *town {
	n := newTown(t, nil)
	n.backend.OnHold = "stop"
	n.begin()
	return n
}

// rented waits until the only machine of a town is as the campaign should see it.
func (n *town) rented(status offer.RentalStatus, tick time.Duration) (r offer.Rental) {
	n.Helper()
	waitFor(n.T, "a machine that is "+string(status), func() bool {
		n.clock.Advance(tick)
		got, err := n.provider.Rentals(n.Context(), n.backend.Name)
		if err != nil {
			return false // a limit of calls
		}
		for _, r = range got {
			if r.Status == status {
				return true
			}
		}
		return false
	})
	return r
}

// A machine without work is stopped when its hold is over, and its disk's rate is told;
// the next job starts it again and finds its files.
func TestIdleMachinesAreStopped(t *testing.T) {
	// Requirement: CLK-05
	t.Parallel()
	n := stops(t)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to be done", all(offer.Completed, j))
	r := n.rented(offer.RentalStopped, time.Minute)
	if rate, err := strconv.ParseFloat(r.Rate, 64); err != nil || rate <= 0 || rate > 0.05 {
		t.Errorf("a stopped machine costs %s an hour", r.Rate)
	}
	for _, m := range n.truth() {
		if m.Gone {
			t.Errorf("machine %d was released", m.ID)
		}
	}
	again := n.job("b", "echo '{}' > b.json")
	n.submit(again)
	n.until("the next job", all(offer.Completed, again))
	if got := n.truth(); len(got) != 1 {
		t.Errorf("machines %+v: the stopped one was there", got)
	}
}

// A stopped machine whose GPU somebody else has: after ten minutes another is rented,
// and the first is not left waiting for a GPU that would be billed.
func TestAStoppedMachineWithoutItsGPU(t *testing.T) {
	t.Parallel()
	n := stops(t)
	j := n.job("a", "echo '{}' > a.json")
	n.submit(j)
	n.until("it to be done", all(offer.Completed, j))
	first := n.rented(offer.RentalStopped, time.Minute)
	n.fault(`{"on":"start","do":"taken","times":-1}`)
	again := n.job("b", "echo '{}' > b.json")
	n.submit(again)
	waitFor(t, "another machine to be wanted", func() bool {
		n.clock.Advance(10 * time.Second)
		got, err := n.provider.Find(t.Context(), n.backend.Name, []string{again.Token})
		return err == nil && strings.Contains(got[0].Reason, "a machine is wanted: none of")
	})
	n.happen(`{"machine": 41001, "what": "rented", "value": "0"}`) // those who had it are gone
	waitFor(t, "another machine", func() bool { n.clock.Advance(10 * time.Second); return len(n.truth()) == 2 })
	n.until("the next job", all(offer.Completed, again))
	if r := n.rented(offer.RentalStopped, time.Second); r.ID != first.ID {
		t.Errorf("machine %s is stopped, not the first", r.ID)
	}
}

// A machine that stopped itself while muster was off, with a result that is nowhere
// else: muster starts it, copies the result here, and goes on.
func TestAResultOnAStoppedMachine(t *testing.T) {
	t.Parallel()
	if n, _ := stoppedWithResult(t, ""); len(n.truth()) != 1 {
		t.Errorf("machines %+v: the stopped one was there", n.truth())
	}
}

// The same machine comes back without its GPU: its result is copied here all the same,
// and only then is it given up. The next job runs on another.
func TestAResultOnAMachineWithoutItsGPU(t *testing.T) {
	t.Parallel()
	n, id := stoppedWithResult(t, report("gpu"))
	next := n.job("b", "echo '{}' > b.json")
	n.submit(next)
	waitFor(t, "another machine", func() bool { n.clock.Advance(10 * time.Second); return len(n.truth()) == 2 })
	seen := n.until("the next job", all(offer.Completed, next))
	if got := seen[next.Token].Rental.ID; got == id {
		t.Error("a job runs where no GPU is")
	}
}

// stoppedWithResult is a town after the end of a job whose only machine stopped itself
// while muster was off, and what that machine says when it runs again; "" = as before.
func stoppedWithResult(t *testing.T, says string) (n *town, id string) {
	n = stops(t)
	end := filepath.Join(n.backend.Workdir, "end")
	j := n.job("a", "while [ ! -e end ]; do sleep 0.1; done; echo '{}' > a.json")
	n.submit(j)
	seen := n.until("it to run", all(offer.Running, j))
	id = seen[j.Token].Rental.ID
	if err := n.provider.Close(); err != nil {
		t.Fatal(err)
	}
	if says != "" {
		n.says = func(of string) string {
			if of == id {
				return says
			}
			return report("gpu NVIDIA GeForce RTX 4090, 24564, 570.124.06")
		}
	}
	waitFor(t, "the workdir", func() bool { _, err := os.Stat(n.backend.Workdir); return err == nil }) // a launch makes it
	if err := os.WriteFile(end, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the result", func() bool { _, err := os.Stat(filepath.Join(n.backend.Workdir, "a.json")); return err == nil })
	n.clock.Advance(20 * time.Second)
	n.api("PUT", "/api/v0/instances/"+id+"/", `{"state":"stopped"}`) // as the machine's own switch does
	n.clock.Advance(20 * time.Second)
	n.mu.Lock()
	n.cut[id] = true
	n.mu.Unlock()
	n.begin()
	go func() { // it answers again when it runs again
		for t.Context().Err() == nil {
			n.clock.Advance(5 * time.Second)
			if starts := n.starts(id); starts {
				n.mu.Lock()
				delete(n.cut, id)
				n.mu.Unlock()
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	n.until("it to be done", all(offer.Completed, j))
	return n, id
}

// starts reports whether an instance runs.
func (n *town) starts(id string) bool {
	for _, a := range n.truth() {
		if strconv.Itoa(a.ID) == id {
			return a.Status == "running"
		}
	}
	return false
}

// volatileDisk is a cloud where a stop erases all but one folder.
type volatileDisk struct{ platform }

func (v volatileDisk) Facts() rental.Facts {
	f := v.platform.Facts()
	f.Tiers = []rental.Tier{{Name: "container disk", Path: "/"}, {Name: "volume", Path: "/keep", Stop: true}}
	return f
}

// Requirement: STO-01
func TestAStopThatErases(t *testing.T) {
	t.Parallel()
	for workdir, says := range map[string]string{"/root/work": "workdir /root/work is on the container disk of Vast.ai, which a stop erases", "/keep/work": "", "/keeper": "erases"} {
		w := newWorld(t)
		p := rental.NewWith(volatileDisk{platform{world: w, key: "key"}}, &town{}, w.now, time.Second)
		b := providers.Backend{Name: "vastai.cloud", Workdir: workdir, Dir: t.TempDir(), Lineage: "abc", OnHold: "stop", Config: json.RawMessage(`{"image":"i","max_usd_per_hour":1}`)}
		if err := p.Configure(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		found, err := p.Preflight(t.Context(), b.Name, nil)
		if err != nil || (len(found) > 0) != (says != "") || says != "" && !strings.Contains(fmt.Sprint(found), says) {
			t.Errorf("%s: %+v, %v", workdir, found, err)
		}
	}
}
