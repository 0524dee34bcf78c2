package main

import (
	"bytes"
	"testing"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/progress"
)

// TestWaitsAreToldOnce: the plan waits for a backend, is made again under the
// lock, and the run waits for it, too.
func TestWaitsAreToldOnce(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	a := &terminal{stderr: &b, err: term.Style{UTF8: true, Width: term.MaxWidth}}
	a.waiting("waiting for backend.slurm.lab")
	a.waiting("waiting for backend.slurm.lab")
	a.waiting("waiting for backend.ssh.box")
	s := a.progress(&planner.Plan{}, false)
	for _, note := range []progress.Snapshot{
		{Waits: "waiting for backend.slurm.lab", Note: "waiting for backend.slurm.lab"},
		{Waits: "waiting for backend.sim.x", Note: "waiting for backend.sim.x"},
		{Waits: "waiting for backend.sim.x", Note: "waiting for backend.sim.x"},
		{Note: "phase.a starts nothing more"},
		{Note: "phase.a starts nothing more"},
	} {
		s.Show(note)
	}
	s.Close()
	want := "Waiting for backend.slurm.lab…\nWaiting for backend.ssh.box…\nwaiting for backend.sim.x\nphase.a starts nothing more\nphase.a starts nothing more\n"
	if got := b.String(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}
