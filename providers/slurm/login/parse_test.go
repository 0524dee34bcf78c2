package login

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
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

func queueRows(t *testing.T, name string) map[place]queueRow {
	t.Helper()
	rows, unread := parseQueue(recorded(t, name))
	if unread > 0 || len(rows) == 0 {
		t.Fatalf("%s: %d rows, %d records could not be read", name, len(rows), unread)
	}
	out := map[place]queueRow{}
	for _, r := range rows {
		out[place{r.array, r.index}] = r
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
		states[r.state]++
		if r.submit.IsZero() || r.name == "" || r.pool == "" {
			t.Fatalf("a row lacks something: %+v", r)
		}
	}
	for _, want := range []string{"PENDING", "RUNNING", "COMPLETED", "FAILED"} {
		if states[want] == 0 {
			t.Errorf("no row is %s: %v", want, states)
		}
	}
	if r := rows[place{"29", -1}]; r.reason != "DependencyNeverSatisfied" || r.state != "PENDING" || !r.start.IsZero() {
		t.Errorf("job 29 is %+v", r)
	}
	if r := rows[place{"26", -1}]; r.reason != "Resources" || r.start.IsZero() {
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
		if _, unread := parseQueue(whole[:cut]); unread == 0 {
			t.Errorf("a listing cut after %d of %d bytes was read as whole", cut, len(whole))
		}
	}
	if _, unread := parseQueue([]byte("slurm_load_jobs error: Unexpected message received\x1e")); unread == 0 {
		t.Error("a message was read as a job")
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct.out"))
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	seen := map[string]int{}
	for _, r := range rows {
		if r.step == "" {
			seen[firstWord(r.state)]++
		}
	}
	for _, want := range []string{"COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "CANCELLED", "NODE_FAIL", "PREEMPTED", "DEADLINE", "REQUEUED"} {
		if seen[want] == 0 {
			t.Errorf("no row is %s: %v", want, seen)
		}
	}
	by := accounts(rows)
	named := func(name, state string) *accountRow {
		for _, h := range by {
			for i := range h.rows {
				if h.rows[i].name == name && firstWord(h.rows[i].state) == state {
					return &h.rows[i]
				}
			}
		}
		t.Fatalf("there is no %s job %s", state, name)
		return nil
	}
	if r := named("oom", "OUT_OF_MEMORY"); r.exit != 0 || r.signal != 125 || r.end.IsZero() {
		t.Errorf("oom is %+v", *r)
	}
	if r := named("fail3", "FAILED"); r.exit != 3 {
		t.Errorf("fail3 is %+v", *r)
	}
	// An element cancelled before it started stands in a list that is expanded.
	many := 0
	for k := range by {
		if k.index >= 0 {
			many++
		}
	}
	if many < 500 {
		t.Errorf("%d elements", many)
	}
}

// TestAccountRunning: rows that are not complete yet have no name, and are
// nobody's.
func TestAccountRunning(t *testing.T) {
	t.Parallel()
	rows, unread := parseAccount(recorded(t, "sacct-running.out"))
	if unread > 0 {
		t.Fatalf("%d rows could not be read", unread)
	}
	h := accounts(rows)[place{"25", -1}]
	if h == nil || len(h.rows) != 1 || h.rows[0].name != "allocation" {
		t.Fatalf("job 25 is %+v", h)
	}
	if r := h.last(&batch{Name: "gpu.0123.0"}); r != nil {
		t.Errorf("a row without a name was taken for ours: %+v", r)
	}
}

// TestOldID: an id that was given out again is not our job.
func TestOldID(t *testing.T) {
	t.Parallel()
	tried := time.Unix(1_800_000_000, 0)
	h := &history{rows: []accountRow{
		{state: "COMPLETED", name: "students.0123.0", submit: tried.Add(-time.Hour)},
		{state: "FAILED", name: "other.0123.0", submit: tried.Add(time.Second)},
	}}
	b := &batch{Name: "students.0123.0", tried: tried}
	if r := h.last(b); r != nil {
		t.Errorf("took %+v for ours", *r)
	}
	h.rows = append(h.rows, accountRow{state: "TIMEOUT", name: "students.0123.0", submit: tried.Add(time.Second)})
	if r := h.last(b); r == nil || r.state != "TIMEOUT" {
		t.Errorf("our row is %+v", r)
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int{"N/A": {-1}, "": {-1}, "3": {3}, "[0-2]": {0, 1, 2}, "0-8:4%50": {0, 4, 8}, "1,5,7-9%2]": {1, 5, 7, 8, 9}} {
		if got, err := parseIndexes(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"a", "3-", "5-2", "0-99999999", "1..3", "1:0", "-4"} {
		if got, err := parseIndexes(in); err == nil {
			t.Errorf("%q is %v", in, got)
		}
	}
	for _, in := range [][]int{{0}, {0, 1, 2}, {0, 2, 3, 9}, {5, 7}} {
		if got, err := parseIndexes(indexList(in)); err != nil || !slices.Equal(got, in) {
			t.Errorf("%v is written %s and read %v, %v", in, indexList(in), got, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{"7-00:00:00": 168 * time.Hour, "01:00:00": time.Hour, "30": 30 * time.Minute, "5:30": 5*time.Minute + 30*time.Second,
		"UNLIMITED": 0, "1-12": 36 * time.Hour, "2-01:30": 49*time.Hour + 30*time.Minute, "": 0, "NONE": 0} {
		if got := parseLimit(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "0-00:01:00", 24 * time.Hour: "1-00:00:00", 90 * time.Minute: "0-01:30:00", 49*time.Hour + time.Second: "2-01:01:00"} {
		if got := limitText(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
	for in, want := range map[string]time.Duration{"00:00.004": 4 * time.Millisecond, "01:02:03": time.Hour + 2*time.Minute + 3*time.Second, "x": -1, "": -1} {
		if got := parseClock(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]int64{"1234K": 1234 << 10, "1.50M": 3 << 19, "512": 512, "2000Mn": 2000 << 20, "": -1, "x": -1} {
		if got := parseKilo(in); got != want {
			t.Errorf("%q is %d, want %d", in, got, want)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	list := parsePartitions(string(recorded(t, "scontrol-partitions.out")))
	if len(list) != 4 || list[0].name != "amilan" || list[0].maxTime != 168*time.Hour || !list[0].isDefault || list[1].maxTime != time.Hour ||
		!slices.Equal(list[1].allowQoS, []string{"testing", "normal"}) || list[2].nodes != 2 {
		t.Errorf("partitions are %+v", list)
	}
	qos := parseQoS(string(recorded(t, "sacctmgr-qos.out")))
	if len(qos) != 4 || qos[2] != (liveQoS{name: "testing", maxWall: time.Hour, maxSubmit: 5, maxJobs: 2, maxGPUs: 3}) {
		t.Errorf("qos are %+v", qos)
	}
	assoc := parseAssoc(string(recorded(t, "sacctmgr-assoc.out")))
	if len(assoc) != 3 || assoc[0].account != "campus" || assoc[0].defaultQoS != "normal" || !slices.Contains(assoc[0].qos, "long") {
		t.Errorf("associations are %+v", assoc)
	}
	if got := requeueExits(parseConfig(string(recorded(t, "config.out")))); !slices.Equal(got, []int{99, 98}) {
		t.Errorf("statuses that requeue are %v", got)
	}
	if n := maxArray(parseConfig(string(recorded(t, "config.out")))); n != 20000 {
		t.Errorf("MaxArraySize is %d", n)
	}
	for line := range strings.Lines(string(recorded(t, "sinfo-nodes-gres.out"))) {
		f := columns(line, []int{64, 64, 32, 32, 64, 64, 64})
		if i := slices.IndexFunc(list, func(p livePartition) bool { return p.name == strings.TrimSuffix(f[1], "*") }); i >= 0 {
			list[i].add([]string{f[0], f[1], f[2], f[3], "262144", f[4], f[5], f[6]})
		}
	}
	if p := list[2]; p.gpus["a100"] != 3 || p.allGPUs != 6 || p.idleGPUs != 6 || p.cpus != 64 || p.memory != 256<<30 || !slices.Contains(p.features, "a100") {
		t.Errorf("aa100 is %+v", p)
	}
}

func TestGres(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]map[string]int{
		"gpu:a100:3(S:0-1)": {"a100": 3}, "(null)": {}, "gpu:4": {"": 4}, "gpu:a100:2(IDX:0,2),craynetwork:4": {"a100": 2}, "gpu:h100:2,gpu:a30:1": {"h100": 2, "a30": 1},
	} {
		got := parseGres(in)
		if len(got) != len(want) {
			t.Errorf("%s is %v, want %v", in, got, want)
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%s is %v, want %v", in, got, want)
			}
		}
	}
}

// TestRefusals: what a real sbatch refuses is told by its kind, and what may
// have been submitted all the same is never taken for refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	want := map[string]providers.ErrorClass{"err-submit-limit.err": providers.Quota, "err-submit-limit-fill.err": providers.Quota,
		"frozen-sbatch.err": providers.Unreachable, "down-sbatch.err": providers.Unreachable, "err-dependency-syntax.err": providers.Unreachable}
	files, err := filepath.Glob("testdata/22.05/*.err")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		if strings.Contains(name, "squeue") {
			continue
		}
		class, ok := want[name]
		if !ok {
			class = providers.Invalid
		}
		e := refusal("sbatch", result{err: recorded(t, name), code: 1})
		if e.Class != class || e.Summary == "" || e.Detail == "" {
			t.Errorf("%s: %s: %s (%s), want class %s", name, e.Class, e.Summary, e.Detail, class)
		}
	}
	if e := refusal("squeue", result{err: recorded(t, "frozen-squeue.err"), code: 1}); e.Class != providers.Unreachable {
		t.Errorf("a squeue that hung is %s", e.Class)
	}
}

func FuzzQueue(f *testing.F) {
	f.Add(recorded(f, "squeue-preempted.out"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseQueue(b) })
}

func FuzzAccount(f *testing.F) {
	f.Add(recorded(f, "sacct-running.out"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseAccount(b) })
}
