package node

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// rigid is a scheduler whose jobs cannot be put back, and counts what it is asked.
type rigid struct {
	cluster.Node
	requeues, cancels int
}

func (r *rigid) Requeue(context.Context, string) error {
	r.requeues++
	return errors.ErrUnsupported
}
func (r *rigid) Avoid(context.Context, scheduler.Retry) string { return "" }
func (r *rigid) CancelWaiting(context.Context, string, []scheduler.Jobs) error {
	r.cancels++
	return nil
}

// TestNoRequeue: where no job may put itself back, one whose policy starts it again
// ends as it ended, once and for its own reason, and what comes after it waits for
// the launch that the engine submits.
func TestNoRequeue(t *testing.T) {
	// Requirement: WT-05
	t.Parallel()
	w := newWorld(t)
	j := w.job("echo 'CUDA out of memory' >&2; exit 1")
	j.Retry = providers.Retry{Max: 3, On: []string{failure.OOM}, Scale: map[string]providers.Scale{failure.OOM: {Memory: 2}}}
	w.follows("students", "11", `{"array": true}`, []string{j.Token})
	r := &rigid{}
	code, e := w.run(j, allocation{scheduler: r, job: "5"})
	if code != 1 || !e.Final || e.Seen.Status != offer.Failed || e.Seen.Class != failure.OOMGPU || !e.Seen.Expected.IsZero() {
		t.Errorf("status %d, %+v", code, e)
	}
	if e.Seen.Reason == "" || strings.Contains(e.Seen.Reason, "requeue") {
		t.Errorf("it failed for %q", e.Seen.Reason)
	}
	if r.requeues != 1 || r.cancels != 0 {
		t.Errorf("it asked to be put back %d times, and %d times to cancel what comes after it", r.requeues, r.cancels)
	}
}

// asks is Slurm, but for what is asked about other nodes.
type asks struct {
	cluster.Node
	avoid func(context.Context, scheduler.Retry) string
}

func (a *asks) Avoid(ctx context.Context, l scheduler.Retry) string { return a.avoid(ctx, l) }

// TestWithout: what failed for a cause of its node is to keep off it, and off all
// of its nodes where it had several, with what it asks for next.
func TestWithout(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	one := scheduler.Retry{ElementID: scheduler.ElementID{Array: "7", Index: 3}, Node: "gpu1", Nodes: "gpu1", Needs: 1}
	for name, tt := range map[string]struct {
		class, node string
		nodes       string // of a job that has several
		growth      *Growth
		want        func(*scheduler.Retry) // nil = nothing is asked
	}{
		"a GPU lost":           {class: failure.GPULost, node: "gpu1", want: func(*scheduler.Retry) {}},
		"which of them":        {class: failure.NCCLHang, node: "gpu1", nodes: "gpu[1-2]", want: func(l *scheduler.Retry) { l.Nodes = "gpu[1-2]" }},
		"with more memory":     {class: failure.OOMGPU, node: "gpu1", growth: &Growth{Memory: 6 * gib}, want: func(l *scheduler.Retry) { l.More.Memory = 6 * gib }},
		"with more time":       {class: failure.GPULost, node: "gpu1", growth: &Growth{Walltime: 90 * time.Minute}, want: func(l *scheduler.Retry) { l.More.Walltime = 90 * time.Minute }},
		"the job's own":        {class: failure.OOMSched, node: "gpu1"},
		"node is not known":    {class: failure.NodeFailure},
		"preempted, elsewhere": {class: failure.Preempted, node: "gpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked *scheduler.Retry
			s := &start{spool: newSpool(t), batch: "/spool/batches/k", job: &providers.Job{Shape: offer.Shape{Memory: 4 * gib, Walltime: time.Hour}}, begin: Begin{ID: "7_3", Node: tt.node}}
			s.allocation = allocation{array: "7", task: "3", nodes: tt.nodes, scheduler: &asks{avoid: func(ctx context.Context, l scheduler.Retry) string {
				if _, ends := ctx.Deadline(); !ends {
					t.Error("the scheduler is asked without an end: the requeue comes after it")
				}
				asked = &l
				return "all of them"
			}}}
			got := (&requeue{start: s, end: End{Growth: tt.growth, Seen: offer.Observation{Class: tt.class}}}).without(t.Context())
			if tt.want == nil {
				if got != "" || asked != nil {
					t.Errorf("it keeps off %q, and the scheduler was asked %+v", got, asked)
				}
				return
			}
			want := one
			want.Script = "/spool/batches/k/script.sh"
			tt.want(&want)
			if diff := cmp.Diff(&want, asked); diff != "" || got != "all of them" {
				t.Errorf("it keeps off %q; the scheduler was asked (-want +got)\n%s", got, diff)
			}
		})
	}
}

// TestEndedBeforeItsRequeue: what somebody cancels while Slurm is asked where it
// could start again is not put back into the queue.
func TestEndedBeforeItsRequeue(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	program.Write(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\necho \"$@\" >> "+said+"\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	heard := make(chan os.Signal, 1)
	s := &start{spool: newSpool(t), batch: Batch(t.TempDir()), job: &providers.Job{}, begin: Begin{ID: "7_3", Node: "gpu1"}}
	s.allocation.scheduler = &asks{avoid: func(context.Context, scheduler.Retry) string {
		signal.Notify(heard, syscall.SIGTERM)
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-heard
		signal.Stop(heard) // when all have heard it
		return ""
	}}
	if err := (&requeue{start: s, end: End{Seen: offer.Observation{Class: failure.GPULost}}}).run(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(said); err == nil {
		t.Errorf("scontrol was told %q", text)
	}
}
