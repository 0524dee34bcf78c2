package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func TestHoldAndResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	yes, no := true, false
	if err := w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 1, Hold: &yes}); err != nil {
		t.Fatal(err)
	}
	a, b := w.job("echo > a", "a"), w.job("echo > b", "b")
	w.submit(a, b)
	w.kill() // held is remembered
	time.Sleep(50 * time.Millisecond)
	found, err := w.client.Find(ctx, w.place, []string{a.Token})
	if err != nil || found[0].Status != offer.Queued {
		t.Fatalf("%+v %v", found, err)
	}
	if err := w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 1, Hold: &yes, Tokens: []string{b.Token}}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 1, Hold: &no}); err != nil {
		t.Fatal(err)
	}
	w.wait(a)
	found, _ = w.client.Find(ctx, w.place, []string{b.Token})
	if found[0].Status != offer.Queued || found[0].Reason != "held" {
		t.Errorf("%+v", found[0])
	}
	if err := w.client.Control(ctx, w.place, providers.ControlRequest{Fence: 1, Hold: &no, Tokens: []string{b.Token}}); err != nil {
		t.Fatal(err)
	}
	w.wait(b)
}

// most counts how many of the jobs ran at once, by their own record.
func most(t *testing.T, record string) int {
	n, top := 0, 0
	for line := range strings.Lines(record) {
		switch strings.TrimSpace(line) {
		case "+":
			n++
			top = max(top, n)
		case "-":
			n--
		}
	}
	return top
}

func TestCaps(t *testing.T) {
	t.Parallel()
	two := 2
	for _, c := range []struct {
		name string
		set  func(*world, *providers.Job)
		want int
	}{
		{"cores", func(w *world, _ *providers.Job) { w.place.CPUs = 3 }, 3},
		{"two cores a job", func(w *world, j *providers.Job) { w.place.CPUs, j.Shape.CPUs = 4, 2 }, 2},
		{"more cores than there are runs alone", func(w *world, j *providers.Job) { w.place.CPUs, j.Shape.CPUs = 2, 5 }, 1},
		{"phase", func(w *world, j *providers.Job) { w.place.CPUs, j.Cap = 8, 2 }, 2},
		{"backend", func(w *world, _ *providers.Job) { w.place.CPUs, w.place.MaxParallel = 8, 2 }, 2},
		{"slots", func(w *world, _ *providers.Job) { w.place.CPUs, w.place.Slots = 8, 2 }, 2},
		{"memory", func(w *world, j *providers.Job) { w.place.CPUs, w.place.Memory, j.Shape.Memory = 8, 100, 40 }, 2},
		{"control", func(w *world, _ *providers.Job) {
			w.place.CPUs = 8
			w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Cap: &two})
		}, 2},
		{"phase by control", func(w *world, _ *providers.Job) {
			w.place.CPUs = 8
			w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Phases: map[string]int{"p": 2}})
		}, 2},
		{"phase by control, more than the jobs came with", func(w *world, j *providers.Job) {
			w.place.CPUs, j.Cap = 8, 2
			w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Phases: map[string]int{"p": 4}})
		}, 4},
		{"phase by control, no limit any more", func(w *world, j *providers.Job) {
			w.place.CPUs, j.Cap = 3, 2
			w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Phases: map[string]int{"p": -1}})
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var jobs []providers.Job
			for i := range 8 {
				out := fmt.Sprint("o", i)
				j := w.job("echo + >> record; while [ ! -e go ]; do sleep 0.1; done; echo - >> record; echo > "+out, out)
				c.set(w, &j)
				jobs = append(jobs, j)
			}
			w.submit(jobs...)
			w.poll("so many starts", func() bool {
				record, _ := os.ReadFile(w.path("record"))
				return strings.Count(string(record), "+") >= c.want
			})
			os.WriteFile(w.path("go"), nil, 0o644)
			w.wait(jobs...)
			if got := most(t, w.read("record")); got != c.want {
				t.Errorf("%d ran at once, want %d", got, c.want)
			}
		})
	}
}

func TestCampaignsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 1
	other := *w
	other.place.Lineage = "other"
	other.seen, other.cursor = map[string]offer.Observation{}, ""
	jobs := func(who string) (list []providers.Job) {
		for i := range 6 {
			out := fmt.Sprint(who, i)
			list = append(list, w.job("echo "+who+" >> record; sleep 0.05; echo > "+out, out))
		}
		return list
	}
	a, b := jobs("a"), jobs("b")
	a[0].Shell = "while [ ! -e go ]; do sleep 0.1; done; " + a[0].Shell // until both are there
	w.submit(a...)
	other.submit(b...)
	os.WriteFile(w.path("go"), nil, 0o644)
	w.wait(a...)
	other.wait(b...)
	got := strings.ReplaceAll(w.read("record"), "\n", "")
	if strings.Contains(got[2:8], "aaa") || strings.Contains(got[2:8], "bbb") {
		t.Errorf("order: %s", got)
	}
}

func TestBreaker(t *testing.T) {
	// Requirement: E3
	t.Parallel()
	w := newWorld(t)
	w.place.CPUs = 1
	jobs, _ := w.broken(6, "echo 'ValueError: bad shape' >&2; exit 1")
	w.submit(jobs...)
	w.until("the breaker", func() bool { return len(w.notes) > 0 })
	if n := w.notes[0]; n.Kind != "breaker" || n.Phase != "p" || !strings.Contains(n.Text, "bad shape") {
		t.Errorf("%+v", n)
	}
	w.kill()
	found, err := w.client.Find(context.Background(), w.place, []string{jobs[3].Token})
	if err != nil || found[0].Status != offer.Queued {
		t.Fatalf("the fourth: %+v %v", found, err)
	}
	if err := w.client.Control(context.Background(), w.place, providers.ControlRequest{Fence: 1, Resume: []string{"p"}}); err != nil {
		t.Fatal(err)
	}
	w.wait(jobs...)
}

// TestAbsentSaysWhichQueueWasAsked: there is one for each spool.
func TestAbsentSaysWhichQueueWasAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if o := w.find(w.job("true")); o.Presence != offer.Absent || !strings.Contains(o.Reason, "the queue of spool "+filepath.Join(w.dir, "s")+" does not know it") {
		t.Errorf("%v %q", o.Presence, o.Reason)
	}
}
