package batch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
)

// on makes the login node one of another cluster, which sees the same workdir; "" is
// one that does not answer.
func (k *bench) on(name string) {
	k.Helper()
	k.f = &fakeSlurm{answer: func(argv []string) *command.Result {
		switch {
		case name == "":
			return &command.Result{Code: 1, Err: []byte("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n")}
		case slices.Contains(argv, "config"):
			return &command.Result{Out: []byte("ClusterName = " + name + "\n")}
		}
		return nil
	}}
	k.s.options.Type = slurm.Type{Runner: k.f}
	k.s = New(k.s.options)
	if err := k.s.Configure(k.Context(), k.b); err != nil {
		k.Fatal(err)
	}
}

func (k *bench) queueOf() string {
	k.Helper()
	pools, err := k.s.Pools(k.Context(), k.b.Name)
	if err != nil {
		k.Fatal(err)
	}
	return pools[0].Queue
}

// TestTwoClustersOneWorkdir: the login nodes of two clusters see one home. What one
// of them has is nothing that the other can tell of, and is never lost.
func TestTwoClustersOneWorkdir(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.on("alpine")
	first := k.submit("batch0123456789", k.jobs("a", 2, nil)...)
	name := k.first()
	if q := k.queueOf(); q == "" || q != first[0].Queue {
		t.Errorf("the queue of the partitions is %q, that of the job %q", q, first[0].Queue)
	}
	if path := attempt.LogPath(k.b.Workdir, "a0", 1, false); os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte("said\n"), 0o600) != nil {
		t.Fatal(path)
	}

	k.on("blanca")
	if q := k.queueOf(); q != "" {
		t.Errorf("the second cluster's queue is %q before it took a job", q)
	}
	for range 3 {
		o := k.found("a0")
		if o.Presence != offer.Absent || o.Cause != offer.OtherCluster || !strings.Contains(o.Reason, "cluster alpine, and blanca answers") || slices.Contains(o.Queues, first[0].Queue) {
			t.Fatalf("found %+v", o)
		}
		k.s.backends[k.b.Name].campaign.queue.looked = time.Time{}
	}
	err := k.s.Logs(t.Context(), providers.LogRequest{Backend: k.b.Name, Token: "a0"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "cluster alpine") {
		t.Errorf("its log: %v", err)
	}
	if again := k.submit("batch0123456789", k.jobs("a", 1, nil)...); again[0].Err == nil || len(k.f.sent()) > 0 {
		t.Errorf("submitted a second time: %+v, %q", again[0], k.f.sent())
	}
	own := k.submit("batch1", k.jobs("b", 1, nil)...)
	if own[0].Err != nil || own[0].Queue == "" || own[0].Queue == first[0].Queue {
		t.Errorf("a job of its own: %+v", own[0])
	}
	if _, err := k.s.Cancel(t.Context(), providers.CancelRequest{Backend: k.b.Name, Fence: 1, Tokens: []string{"a0", "b0"}}); err != nil {
		t.Error(err)
	}
	k.told(func(e providers.Batch) {
		if slices.ContainsFunc(e.Events, func(o offer.Observation) bool { return strings.HasPrefix(o.Token, "a") }) {
			t.Errorf("the watch tells %+v", e)
		}
	})
	for _, call := range k.f.calls {
		if strings.HasPrefix(call, "scancel") && !strings.HasSuffix(call, "-- 1") {
			t.Errorf("ran %s", call)
		}
	}
	if _, err := k.s.Clean(t.Context(), k.b.Name); err == nil {
		t.Error("cleaned up under the other cluster's jobs")
	}

	k.on("alpine")
	for _, i := range []string{"0", "1"} {
		k.f.queued = append(k.f.queued, values{"%F": "1", "%K": i, "%T": "PENDING", "%r": "None", "%V": "1", "%j": name})
	}
	if o := k.found("a1"); o.Presence != offer.Found || o.Status != offer.Queued || !slices.Equal(o.Queues, []string{first[0].Queue}) {
		t.Errorf("on its own cluster found %+v", o)
	}
	if o := k.found("b0"); o.Cause != offer.OtherCluster || !strings.Contains(o.Reason, "cluster blanca, and alpine answers") {
		t.Errorf("of the other found %+v", o)
	}
	k.on("")
	if out, err := k.s.Find(t.Context(), k.b.Name, []string{"a0"}); err == nil {
		t.Errorf("of a cluster that does not answer: %+v", out)
	}
	var log bytes.Buffer
	if err := k.s.Logs(t.Context(), providers.LogRequest{Backend: k.b.Name, Token: "a0"}, &log); err != nil || log.String() != "said\n" {
		t.Errorf("its log is %q, %v", log.String(), err)
	}
}

// told hands on what a watch tells first.
func (k *bench) told(fn func(providers.Batch)) {
	k.Helper()
	ctx, stop := context.WithCancel(k.Context())
	defer stop()
	err := k.s.Watch(ctx, providers.WatchRequest{Backend: k.b.Name}, func(e providers.Batch) error {
		fn(e)
		stop()
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		k.Error(err)
	}
}

// TestSpoolOfAnOlderVersion: it names no cluster. The one that answers has its
// jobs, as ever, and from the next submission on it names it.
func TestSpoolOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	if exists(filepath.Join(k.spool(), clusterFile)) {
		t.Fatal("a cluster that does not tell its name has one")
	}
	k.on("alpine")
	if o := k.found("a0"); o.Presence != offer.Found {
		t.Errorf("found %+v", o)
	}
	k.submit("batch1", k.jobs("b", 1, nil)...)
	if got := clusterOf(k.spool()); got != "alpine" || exists(ownSpool(k.spool(), "alpine")) {
		t.Errorf("the spool is of %q", got)
	}
}
