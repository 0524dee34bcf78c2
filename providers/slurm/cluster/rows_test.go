package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// recorded is the output of a command of a real Slurm.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "22.05", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What the recordings were printed by: more than is asked for now, and other
// fields in other places.
var (
	recordedQueue   = []string{"%F", "%K", "%i", "%A", "%T", "%r", "%V", "%S", "%e", "%l", "%M", "%P", "%a", "%q", "%u", "%D", "%C", "%m", "%b", "%Q", "%N", "%E", "%w", "%Z", "%j", "%k"}
	recordedAccount = strings.Split("JobID,JobIDRaw,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,Partition,Account,QOS,User,"+
		"NNodes,NCPUS,ReqTRES,AllocTRES,MaxRSS,TotalCPU,NodeList,Reason,WCKey,WorkDir,JobName,Comment", ",")
)

func queueRows(t *testing.T, name string) map[scheduler.ElementID]queueRow {
	t.Helper()
	rows, unread := parseQueue(recorded(t, name), recordedQueue)
	if unread > 0 || len(rows) == 0 {
		t.Fatalf("%s: %d rows, %d records could not be read", name, len(rows), unread)
	}
	out := map[scheduler.ElementID]queueRow{}
	for _, r := range rows {
		out[scheduler.ElementID{Array: r.Array, Index: r.Index}] = r
	}
	return out
}

func TestQueue(t *testing.T) {
	t.Parallel()
	rows := queueRows(t, "squeue.out")
	if len(rows) < 500 {
		t.Errorf("%d jobs and elements; an array of 500 is there alone", len(rows))
	}
	states := map[string]int{}
	for _, r := range rows {
		states[r.State]++
		if r.Submit.IsZero() || r.Name == "" || r.Partition == "" {
			t.Fatalf("a row lacks something: %+v", r)
		}
	}
	for _, want := range []string{"PENDING", "RUNNING", "COMPLETED", "FAILED"} {
		if states[want] == 0 {
			t.Errorf("no row is %s: %v", want, states)
		}
	}
	if r := rows[scheduler.ElementID{Array: "29", Index: -1}]; r.Reason != "DependencyNeverSatisfied" || r.State != "PENDING" || !r.Start.IsZero() {
		t.Errorf("job 29 is %+v", r)
	}
	if r := rows[scheduler.ElementID{Array: "26", Index: -1}]; r.Reason != "Resources" || r.Start.IsZero() {
		t.Errorf("job 26 is %+v", r)
	}
	for _, name := range []string{"squeue-finished.out", "squeue-node-failed.out", "squeue-preempted.out"} {
		queueRows(t, name)
	}
}

// TestQueueDamaged: no conclusion is drawn from what cannot be read.
func TestQueueDamaged(t *testing.T) {
	t.Parallel()
	whole := recorded(t, "squeue.out")
	for _, cut := range []int{3, 40, len(whole) / 2, len(whole) - 3} {
		if _, unread := parseQueue(whole[:cut], recordedQueue); unread == 0 {
			t.Errorf("a listing cut after %d of %d bytes was read as whole", cut, len(whole))
		}
	}
	if _, unread := parseQueue([]byte("slurm_load_jobs error: Unexpected message received\x1e"), recordedQueue); unread == 0 {
		t.Error("a message was read as a job")
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct.out"), recordedAccount)
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	seen := map[string]int{}
	for _, r := range rows {
		if r.Step == "" {
			seen[stateWord(r.State)]++
		}
	}
	for _, want := range []string{"COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL", "PREEMPTED", "DEADLINE", "REQUEUED"} {
		if seen[want] == 0 {
			t.Errorf("no row is %s: %v", want, seen)
		}
	}
	by := histories(rows)
	named := func(name, state string) *accountRow {
		for _, h := range by {
			for i := range h.rows {
				if h.rows[i].Name == name && stateWord(h.rows[i].State) == state {
					return &h.rows[i]
				}
			}
		}
		t.Fatalf("there is no %s job %s", state, name)
		return nil
	}
	if r := named("oom", "OUT_OF_MEMORY"); r.Exit != 0 || r.Signal != 125 || r.End.IsZero() {
		t.Errorf("oom is %+v", *r)
	}
	if r := named("fail3", "FAILED"); r.Exit != 3 {
		t.Errorf("fail3 is %+v", *r)
	}
	// An element cancelled before it started is in a list, which is expanded.
	many := 0
	for k := range by {
		if k.Index >= 0 {
			many++
		}
	}
	if many < 500 {
		t.Errorf("%d elements", many)
	}
}

func FuzzQueue(f *testing.F) {
	f.Add(recorded(f, "squeue-preempted.out"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseQueue(b, recordedQueue) })
}

func FuzzAccount(f *testing.F) {
	f.Add(recorded(f, "sacct-running.out"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseAccount(b, recordedAccount) })
}
