package apply

import (
	"testing"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/fleet"
)

// TestWhatMovesIsKnownWhileAJobRuns: behind an open breaker tens of thousands of
// jobs may be queued, and at every turn it is asked whether anything moves. While
// a job runs the first that is on a known host answers for all; when nothing runs,
// queued jobs do not move.
func TestWhatMovesIsKnownWhileAJobRuns(t *testing.T) {
	p := &phase{Node: cells.Node{Tally: cells.NewTally(2)}}
	p.breaker.Open = true
	p.Set(0, cells.Running)
	p.Set(1, cells.Queued)
	e := &engine{phases: []*phase{p}, flights: map[string]*flight{"running": {p: p}}}
	if !e.moves() {
		t.Error("a job runs, and nothing is said to move")
	}

	e.flights["running"].Stranded = true
	if e.moves() {
		t.Error("a job on a host that left the configuration is said to move")
	}

	b := &fleet.Backend{Contact: &fleet.Contact{}}
	b.Can.HostQueue = true
	e.flights = map[string]*flight{"a": {p: p, cell: 1, Flight: fleet.Flight{B: b, Status: cells.Queued}}}
	p.Set(0, cells.Done)
	if e.moves() {
		t.Error("what an open breaker keeps in a queue is said to move")
	}
	p.breaker.Open = false
	if !e.moves() {
		t.Error("what is queued, and may start, is said to stand still")
	}
}
