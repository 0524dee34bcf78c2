package node

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// TestWithout: what failed for a cause of its node keeps off it, and off those
// that it kept off before, unless no other would do, for what it asks for next.
func TestWithout(t *testing.T) {
	t.Parallel()
	refused := exec.Command("false").Run()
	const gib = 1 << 30
	for name, tt := range map[string]struct {
		class, node string
		nodes       string // of a job that has several
		growth      *Growth
		job         string // what scontrol prints
		noJob, none error  // of scontrol, of sbatch
		want        string
		tried       []string
	}{
		"a GPU lost":           {class: failure.GPULost, node: "gpu1", job: "JobId=7 ExcNodeList=(null) x=y", want: "gpu1", tried: []string{"--exclude=gpu1"}},
		"and one before":       {class: failure.OOMGPU, node: "gpu2", job: "JobId=7 ExcNodeList=gpu1 x=y", want: "gpu1,gpu2", tried: []string{"--exclude=gpu1,gpu2"}},
		"which of them":        {class: failure.NCCLHang, node: "gpu1", nodes: "gpu[1-2]", job: "ExcNodeList=(null)", want: "gpu[1-2]", tried: []string{"--exclude=gpu[1-2]"}},
		"with more memory":     {class: failure.GPULost, node: "gpu1", growth: &Growth{Memory: 6 * gib}, want: "gpu1", tried: []string{"--exclude=gpu1", "--mem=6144M"}},
		"with more time":       {class: failure.GPULost, node: "gpu1", growth: &Growth{Walltime: 90 * time.Minute}, want: "gpu1", tried: []string{"--exclude=gpu1", "--time=90"}},
		"the only node":        {class: failure.GPULost, node: "gpu1", job: "JobId=7 ExcNodeList=(null)", none: refused, tried: []string{"--exclude=gpu1"}},
		"no answer":            {class: failure.GPULost, node: "gpu1", job: "JobId=7 ExcNodeList=(null)", none: context.DeadlineExceeded, tried: []string{"--exclude=gpu1"}},
		"not asked":            {class: failure.GPULost, node: "gpu1", noJob: refused},
		"the job's own":        {class: failure.OOMSched, node: "gpu1"},
		"node is not known":    {class: failure.NodeFailure},
		"preempted, elsewhere": {class: failure.Preempted, node: "gpu1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			batch := filepath.Join(t.TempDir(), "batches", "k")
			if err := os.MkdirAll(batch, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, again := range []bool{false, true} { // like jobs of the batch
				var tried []string
				s := &start{spool: newSpool(t), batch: Batch(batch), job: &providers.Job{Shape: offer.Shape{Memory: 4 * gib, Walltime: time.Hour}},
					place: place{nodes: tt.nodes}, begin: Begin{ID: "7_3", Node: tt.node}}
				e := End{Growth: tt.growth, Seen: offer.Observation{Class: tt.class}}
				got := s.without(t.Context(), e, func(ctx context.Context, name string, args ...string) (string, error) {
					if _, ends := ctx.Deadline(); !ends {
						t.Errorf("%s is waited for without an end: the requeue comes after it", name)
					}
					if name == "scontrol" {
						if !slices.Contains(args, "7_3") {
							t.Errorf("scontrol is asked %q", args)
						}
						return tt.job, tt.noJob
					}
					tried = append(tried, args...)
					return "", tt.none
				})
				if got != tt.want {
					t.Errorf("it keeps off %q, want %q", got, tt.want)
				}
				if again && !errors.Is(tt.none, context.DeadlineExceeded) {
					if len(tried) > 0 {
						t.Errorf("another asks again: %q", tried)
					}
					continue
				}
				if (len(tried) > 0) != (len(tt.tried) > 0) {
					t.Errorf("sbatch was asked %q", tried)
				}
				for _, option := range tt.tried {
					if !slices.Contains(tried, option) {
						t.Errorf("sbatch was asked %q, without %s", tried, option)
					}
				}
				if len(tried) > 0 && (!slices.Contains(tried, "--test-only") || !slices.Contains(tried, "--array=3") || !strings.HasSuffix(tried[len(tried)-1], "/batches/k/script.sh")) {
					t.Errorf("sbatch was asked %q, which would submit, or of another job", tried)
				}
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
	s.ask = func(context.Context, string, ...string) (string, error) {
		signal.Notify(heard, syscall.SIGTERM)
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-heard
		signal.Stop(heard) // when all have heard it
		return "", nil
	}
	if err := s.requeue(End{Seen: offer.Observation{Class: failure.GPULost}}); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(said); err == nil {
		t.Errorf("scontrol was told %q", text)
	}
}
