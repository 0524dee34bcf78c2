package page

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/state"
)

// The last words say how it ended and what to type next.
func TestEnding(t *testing.T) {
	for _, test := range []struct {
		name    string
		destroy bool
		saved   string
		o       progress.Outcome
		want    string
	}{
		{"done", false, "", progress.Outcome{Total: 2, Done: 2}, "\nDone: 2 of 2 jobs done and verified.\n"},
		{"idle", false, "", progress.Outcome{Total: 3, Done: 1, Left: 2, Idle: 2}, "\nEnded before all jobs started: 1 of 3 jobs done and verified, 2 left.\nThe next plan says what starts them:\n\n    muster plan\n    muster apply\n"},
		{"held", false, "", progress.Outcome{Stopped: progress.Hold, Total: 2, Done: 1, Left: 1}, "\nHeld: 1 of 2 jobs done and verified, 1 left.\nTo continue:\n\n    muster resume\n    muster apply\n"},
		{"interrupted", false, "", progress.Outcome{Stopped: progress.Interrupted, Total: 9, Running: 2, Queued: 7, QueuedOn: []progress.BackendCount{{Backend: "ssh.lab", Jobs: 7}}, Next: "muster apply"},
			"\nInterrupted: 0 of 9 jobs done and verified, 2 running, 7 queued.\n2 running; 7 queued on ssh.lab will still start. Stop that: muster hold\nTo continue:\n\n    muster apply\n"},
		{"a saved plan is held", false, "my plan", progress.Outcome{Stopped: progress.Hold, Total: 2, Done: 1, Left: 1}, "\nHeld: 1 of 2 jobs done and verified, 1 left.\nTo continue:\n\n    muster resume\n    muster apply 'my plan'\n"},
		{"a saved plan is interrupted", false, "x.mplan", progress.Outcome{Stopped: progress.Interrupted, Total: 9, Running: 9, Next: "muster apply"},
			"\nInterrupted: 0 of 9 jobs done and verified, 9 running.\n9 running\nTo continue:\n\n    muster apply x.mplan\n"},
		{"a saved plan has nothing to clear", false, "x.mplan", progress.Outcome{Total: 9, Done: 7, Held: 2, LetGo: 2},
			"\nEnded with work that needs you: 7 of 9 jobs done and verified, 2 held.\n2 jobs were held when this plan was made, and released since. A new plan runs them:\n\n    muster apply\n"},
		{"some of it is held still", false, "x.mplan", progress.Outcome{Total: 9, Done: 7, Held: 2, LetGo: 1},
			"\nEnded with work that needs you: 7 of 9 jobs done and verified, 2 held.\nTo see why: muster status. When you have fixed the cause:\n\n    muster resume\n    muster apply\n"},
		{"a budget", false, "", progress.Outcome{Stopped: progress.Budget, Total: 5, Done: 4, Left: 1, Why: `budget "b" does not cover x`, First: `budget "b" does not cover x`, Next: "muster apply -once"},
			"\nStopped by a budget: 4 of 5 jobs done and verified, 1 left.\nBudget \"b\" does not cover x\nAfter raising the budget, or reducing the work:\n\n    muster plan\n"},
		{"a budget beside what runs", false, "", progress.Outcome{Stopped: progress.Budget, Total: 5, Running: 4, Left: 1, Why: `budget "b" does not cover x`, First: "a smoke whose expect muster checks", Next: "muster apply -once"},
			"\nStopped by a budget: 0 of 5 jobs done and verified, 4 running, 1 left.\nBudget \"b\" does not cover x\nWaits for muster: a smoke whose expect muster checks\nTo continue:\n\n    muster apply -once\n"},
		{"a backend does not answer", false, "", progress.Outcome{Total: 300, Unknown: 300, Next: "muster apply -once"},
			"\nEnded with jobs whose backend cannot be asked: 0 of 300 jobs done and verified, 300 unknown.\nUnknown jobs keep their records, and muster does not submit them again. When their backend answers:\n\n    muster apply -once\n"},
		{"a backend does not answer, another does", false, "", progress.Outcome{Total: 7, Done: 1, Running: 2, Unknown: 4, Next: "muster apply -once"},
			"\nEnded with jobs whose backend cannot be asked: 1 of 7 jobs done and verified, 4 unknown, 2 running.\nTo continue:\n\n    muster apply -once\n"},
		{"jobs were left out", false, "", progress.Outcome{Total: 6, Done: 2, Held: 3, LeftOut: 3, Blocked: 1, LeftOutWhy: "ssh.far cannot be asked: connection refused"},
			"\nEnded with jobs whose backend cannot be asked: 2 of 6 jobs done and verified, 3 waiting for a\nbackend, 1 blocked.\nWaiting for a backend: ssh.far cannot be asked: connection refused.\nWhen it answers:\n\n    muster apply\n"},
		{"jobs were left out, and one is held", false, "", progress.Outcome{Total: 6, Done: 2, Held: 4, LeftOut: 3, LeftOutWhy: "ssh.far cannot be asked: connection refused"},
			"\nEnded with work that needs you: 2 of 6 jobs done and verified, 1 held, 3 waiting for a backend.\nWaiting for a backend: ssh.far cannot be asked: connection refused.\nTo see why: muster status. When you have fixed the cause:\n\n    muster resume\n    muster apply\n"},
		{"a machine is there", true, "", progress.Outcome{Cancelled: 2, Rentals: []state.Rental{{ID: "9", Backend: "vastai.cloud", Status: state.RentalRunning, PerHour: "0.34"}}},
			"\nNot destroyed: 1 machine still rented, 2 jobs cancelled.\nStill rented: 9 on vastai.cloud, running, $0.34/h.\n`muster destroy` releases machines that no job needs; `muster cost` shows the bill.\n"},
		{"destroyed with its machines", true, "", progress.Outcome{Released: 2}, "\nDestroyed: 0 jobs cancelled, 2 machines released.\n"},
		{"destroyed", true, "", progress.Outcome{Cancelled: 1, Deleted: 3}, "\nDestroyed: 1 job cancelled, 3 outputs deleted.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Ending(&planner.Plan{Destroy: test.destroy}, test.o, test.saved, nil, term.MaxWidth); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// A result that is wider than the terminal is cut, and the command named that
// shows it whole.
func TestEndingOfALongResult(t *testing.T) {
	o := progress.Outcome{Total: 1, Done: 1, Results: []lang.ResultValue{{Name: "loss", Known: true, JSON: "0.25"}, {Name: "curve", Known: true, JSON: strings.Repeat("1, ", 60)}}}
	lines := strings.Split(strings.TrimSpace(Ending(&planner.Plan{}, o, "", nil, 80)), "\n")
	if len(lines) != 3 || lines[1] != "  result.loss = 0.25" || term.Width(lines[2]) > 80 || !strings.HasSuffix(lines[2], "…  (whole: muster outputs)") {
		t.Errorf("%q", lines)
	}
}

// A destroy names the jobs that it could not end, where they are and what to do.
func TestEndingOfADestroyThatLeavesJobs(t *testing.T) {
	p := &planner.Plan{Destroy: true, Loose: []planner.Row{{Kind: planner.UnknownAt, Address: "phase.p", Backend: "ssh.far"}, {Kind: planner.Cancel, Address: "phase.q", Backend: "local.local"}}}
	want := "\nDestroyed: 1 job cancelled.\nbackend.ssh.far cannot be asked: muster did not cancel 1 job there, which may still run and cost:\nphase.p\n" +
		"The state keeps these jobs. When the backend can be asked again, or its block is back in the\ncampaign:\n\n    muster destroy\n"
	if got := Ending(p, progress.Outcome{Cancelled: 1}, "", nil, term.MaxWidth); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestStillRented: the last words of a run name what is billed, and what ends that.
func TestStillRented(t *testing.T) {
	t.Parallel()
	box := state.Rental{ID: "9", Backend: "vastai.cloud", Status: state.RentalRunning, PerHour: "0.3441095890410959"}
	cloud := &lang.Backend{Type: "vastai", Name: "cloud", Hold: 2 * time.Minute, Rents: true, DeadMan: true}
	for on, want := range map[string]string{
		"release": "Still rented: 9 on vastai.cloud, running, $0.3441/h, released 2m after its last job.\n",
		"stop":    "Still rented: 9 on vastai.cloud, running, $0.3441/h, stopped 2m after its last job, and its disk is billed then.\n",
		"keep":    "Still rented: 9 on vastai.cloud, running, $0.3441/h, kept and billed until you release it.\n",
		"":        "Still rented: 9 on vastai.cloud, running, $0.3441/h.\n",
	} {
		cloud.OnHold = on
		if got := stillRented([]state.Rental{box}, []*lang.Backend{cloud}); !strings.HasPrefix(got, want) || !strings.Contains(got, "muster destroy") {
			t.Errorf("%q: %q, want %q", on, got, want)
		}
	}
	far := &lang.Backend{Type: "vastai", Name: "cloud", Hold: 2 * time.Minute, OnHold: "release", Rents: true}
	if got, want := stillRented([]state.Rental{box}, []*lang.Backend{far}), "running, $0.3441/h, still billed while muster is off: nothing else ends it.\n"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	far.DeadMan, far.Timer = true, true
	if got, want := stillRented([]state.Rental{box}, []*lang.Backend{far}), "stopped by its timer while muster is off, and its disk is billed then.\n"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	box.Status = state.RentalDeleting
	if got, want := stillRented([]state.Rental{box}, []*lang.Backend{cloud}), "Still rented: 9 on vastai.cloud, in deletion, $0.3441/h.\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := stillRented(nil, nil); got != "" {
		t.Errorf("%q, and nothing is rented", got)
	}
}

// TestEndingOfACancel: resume without an address leaves what was cancelled, so the ending names one.
func TestEndingOfACancel(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		o    progress.Outcome
		want string
	}{
		{progress.Outcome{Total: 4, Done: 2, Cancelled: 1, Blocked: 1}, "muster resume ADDR\n"},
		{progress.Outcome{Total: 4, Done: 2, Cancelled: 1, Failed: 1}, "muster resume\n"},
	} {
		if got := Ending(&planner.Plan{}, v.o, "", nil, 80); !strings.Contains(got, v.want) {
			t.Errorf("%+v: %q, want %q in it", v.o, got, v.want)
		}
	}
}
