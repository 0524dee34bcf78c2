package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"

	"github.com/muster-run/muster/providers"
)

func TestOneJob(t *testing.T) {
	w := newWorld(t)
	j := w.job("echo hello > out; echo said; echo bad >&2; sleep 0.5", "out")
	w.submit(j)
	o := w.wait(j)[0]
	if o.Status != offer.Completed || o.Exit == nil || *o.Exit != 0 {
		t.Fatalf("got %+v", o)
	}
	if got := w.read("out"); got != "hello\n" {
		t.Errorf("out holds %q", got)
	}
	if len(o.Outputs) != 1 || !o.Outputs[0].OK || o.Outputs[0].Size != 6 {
		t.Errorf("outputs: %+v", o.Outputs)
	}
	// A shell and a sleep, and nothing of the queue's own memory.
	if o.Usage == nil || o.Usage.CPU < 0 || o.Usage.MaxRSS <= 0 || o.Usage.MaxRSS > 16<<20 || o.Usage.GPUMaxMem != nil {
		t.Errorf("usage: %+v", o.Usage)
	}
}

func TestSurvivesKillOfQueue(t *testing.T) {
	// Requirement: WCH-06
	w := newWorld(t)
	j := w.job("echo start >> record; sleep 1; echo end >> record; echo x > out", "out")
	w.submit(j)
	w.until("a start", func() bool { return w.seen[j.Token].Status == offer.Running })
	w.kill()
	o := w.wait(j)[0]
	if o.Status != offer.Completed {
		t.Fatalf("got %+v", o)
	}
	if got := w.read("record"); got != "start\nend\n" {
		t.Errorf("record holds %q", got)
	}
}

// A call that failed after the queue had noted its jobs is repeated by the
// engine; the jobs run then, once.
func TestSubmittedAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.job("echo > first", "first")
	w.submit(first)
	w.wait(first)
	j := w.job(`echo "$KEY" >> out`, "out")
	j.Secrets = []providers.EnvVar{{Name: "KEY", Value: "k"}}
	secrets := filepath.Join(w.dir, "s", "secrets")
	os.Rename(secrets, secrets+".away")
	w.client.Patience = 300 * time.Millisecond // what is refused is asked again for so long
	if _, err := w.client.Submit(context.Background(), w.place, testEnviron, providers.SubmitRequest{Fence: 1, Jobs: []providers.Job{j}}); err == nil {
		t.Fatal("a job was taken without its secrets")
	}
	w.client.Patience = 0
	os.Rename(secrets+".away", secrets)
	w.submit(j)
	w.submit(j)
	w.wait(j)
	if got := w.read("out"); got != "k\n" {
		t.Errorf("out is %q", got)
	}
}
