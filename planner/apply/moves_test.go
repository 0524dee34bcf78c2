package apply

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
)

// TestWhatMovesIsKnownWhileAJobRuns: behind an open breaker tens of thousands of
// jobs may be queued, and at every turn it is asked whether anything moves. While
// a job runs the first that is on a known host answers for all; when nothing runs,
// queued jobs do not move.
func TestWhatMovesIsKnownWhileAJobRuns(t *testing.T) {
	p := &phase{Phase: &lang.Phase{Name: "p"}, Vertex: cells.Vertex{Tally: cells.NewTally(2)}}
	p.breaker(p.Name).Open = true
	p.Set(0, cells.Running)
	p.Set(1, cells.Queued)
	js := &jobs{run: &run{}, phases: []*phase{p}, attempts: map[string]*attempt{"running": {p: p}}}
	h := &holds{jobs: js, accounts: &accounts{jobs: js}}
	if !h.moves() {
		t.Error("a job runs, and nothing is said to move")
	}

	js.attempts["running"].Stranded = true
	if h.moves() {
		t.Error("a job on a host that left the configuration is said to move")
	}

	b := &backends.Backend{Contact: &backends.Contact{}}
	b.Can.HostQueue = true
	js.attempts = map[string]*attempt{"a": {p: p, cell: 1, Attempt: backends.Attempt{B: b, Status: cells.Queued}}}
	p.Set(0, cells.Done)
	if h.moves() {
		t.Error("what an open breaker keeps in a queue is said to move")
	}
	p.breaker(p.Name).Open = false
	if !h.moves() {
		t.Error("what is queued, and may start, is said to stand still")
	}
}
