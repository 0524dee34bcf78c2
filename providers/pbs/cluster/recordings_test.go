package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// recorded is the output of a command in a recording.
func recorded(t *testing.T, name string) command.Result {
	t.Helper()
	read := func(end string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name+end))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return b
	}
	r := command.Result{Out: asText(t, read(".out")), Err: read(".err")}
	if len(r.Out)+len(r.Err) == 0 {
		t.Fatalf("there is no recording %s", name)
	}
	r.Code, _ = strconv.Atoi(strings.TrimSpace(string(read(".rc"))))
	return r
}

// asText is qstat -f of jobs that were recorded as JSON; anything else is itself.
func asText(t *testing.T, out []byte) []byte {
	t.Helper()
	var all struct{ Jobs map[string]map[string]any }
	d := json.NewDecoder(bytes.NewReader(out))
	d.UseNumber()
	if d.Decode(&all) != nil || len(all.Jobs) == 0 {
		return out
	}
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(all.Jobs)) {
		fmt.Fprintf(&b, "Job Id: %s\n", id)
		for _, name := range slices.Sorted(maps.Keys(all.Jobs[id])) {
			switch v := all.Jobs[id][name].(type) {
			case map[string]any:
				for _, sub := range slices.Sorted(maps.Keys(v)) {
					fmt.Fprintf(&b, "    %s.%s = %v\n", name, sub, v[sub])
				}
			default:
				text := fmt.Sprint(v)
				if cut := 60; len(text) > cut {
					text = text[:cut] + "\n\t" + text[cut:]
				}
				fmt.Fprintf(&b, "    %s = %s\n", name, text)
			}
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// A player answers each command, by its first words, with a recording.
type player struct {
	t    *testing.T
	says map[string]command.Result // by the command line's beginning; the longest that fits
	runs []string
}

func (p *player) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	line := strings.Join(argv, " ")
	p.runs = append(p.runs, line)
	best := ""
	for begin := range p.says {
		if strings.HasPrefix(line, begin) && len(begin) > len(best) {
			best = begin
		}
	}
	if best == "" {
		p.t.Errorf("%s is not expected", line)
	}
	return p.says[best], nil
}

// TestEnds: how PBS says that jobs ended, and what that means.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]scheduler.End{
		"qstat-x-ok-json":    {Outcome: scheduler.Completed},
		"qstat-x-f3-json":    {Outcome: scheduler.Failed, Exit: 3},
		"qstat-x-seg-json":   {Outcome: scheduler.Failed, Exit: 139},
		"qstat-x-wt-json":    {Outcome: scheduler.TimedOut},
		"qstat-x-trm-json":   {Outcome: scheduler.TimedOut},
		"qstat-x-mem-json":   {Outcome: scheduler.OutOfMemory},
		"qstat-x-run-json":   {Outcome: scheduler.Cancelled, By: " by alice@pbs1"},
		"qstat-x-hld-json":   {Outcome: scheduler.Cancelled},
		"qstat-x-nrr-json":   {Outcome: scheduler.NodeFailed},
		"qstat-x-depf-json":  {Outcome: scheduler.Cancelled},
		"qstat-x-late3-json": {Outcome: scheduler.Cancelled},
		"qstat-x-depu-json":  {Outcome: scheduler.Cancelled},
		"qstat-x-late-json":  {Outcome: scheduler.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &player{t: t, says: map[string]command.Result{"qstat -x -t -f": recorded(t, name)}}
			list, err := New(p, "alice").Account(t.Context(), []string{"1.pbs1"})
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			got := list[0].End
			if got.Said = ""; got != want {
				t.Errorf("%+v, not %+v", got, want)
			}
			if ran := !list[0].Start.IsZero(); ran != (list[0].Usage != nil) || list[0].Finish.Before(list[0].Submit) {
				t.Errorf("%+v", list[0])
			}
		})
	}
}

// TestTexts: a real server's own text is read, its long values whole, and what is cut
// is no answer.
func TestTexts(t *testing.T) {
	t.Parallel()
	r := recorded(t, "qstat-running-f")
	all, err := parseJobs(r.Out)
	if err != nil || len(all) == 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	for id, j := range all {
		if when(j["ctime"]).IsZero() || j["job_state"] != "R" || strings.ContainsAny(string(j["Variable_List"]), "\t\n") || !strings.Contains(string(j["Variable_List"]), "PBS_O_HOST=") || j["Resource_List.ncpus"].int() == 0 {
			t.Errorf("%s: %v", id, j)
		}
	}
	if _, err := parseJobs(r.Out[:60]); err == nil {
		t.Error("an answer that is cut is read")
	}
}

// TestPartialAnswers: an id that is gone is an error of qstat's, and its answer has
// the others.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"qstat-some-unknown-json": 1, "qstat-some-finished-json": 1, "qstat-unknown-json": 0} {
		p := &player{t: t, says: map[string]command.Result{"qstat -x -t -f": recorded(t, name)}}
		list, err := New(p, "alice").Account(t.Context(), []string{"1.pbs1", "2.pbs1"}[:1+want])
		if err != nil || len(list) < want || want == 0 && len(list) > 0 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	for _, name := range []string{"down-qstat", "down-qstat-refused"} {
		p := &player{t: t, says: map[string]command.Result{"qstat": recorded(t, name), "qselect": recorded(t, name)}}
		c := New(p, "alice")
		_, err1 := c.Account(t.Context(), []string{"1.pbs1"})
		_, err2 := c.Queue(t.Context())
		for _, err := range []error{err1, err2} {
			if err == nil || scheduler.Heard(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSilence: a job of which qstat says nothing is not one that has gone.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := &player{t: t, says: map[string]command.Result{"qstat": recorded(t, "qstat-running-f")}}
	if _, err := New(p, "alice").Account(t.Context(), []string{"148.pbs1", "149.pbs1"}); err == nil || scheduler.Heard(err) {
		t.Errorf("one of two jobs: %v", err)
	}
}

// TestQueue: elements are asked for only of arrays that moved, once.
func TestQueue(t *testing.T) {
	t.Parallel()
	moving := recorded(t, "qstat-array-tasks-json")
	_, parent, _ := strings.Cut(string(moving.Out), "Job Id: 135[].pbs1\n")
	parent = "Job Id: 135[].pbs1\n" + parent
	p := &player{t: t, says: map[string]command.Result{"qselect": {Out: []byte("135[].pbs1\n")}, "qstat -f": {Out: []byte(parent)}, "qstat -t -f": moving}}
	c := New(p, "alice")
	for range 3 {
		rows, err := c.Queue(t.Context())
		if err != nil || len(rows) != 10 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		states := map[scheduler.State]int{}
		for _, r := range rows {
			states[r.State]++
			if r.State == scheduler.Waiting && r.End.Outcome != "" {
				t.Errorf("a waiting element has ended: %+v", r)
			}
		}
		if states[scheduler.Ended] != 3 || states[scheduler.Running] != 3 || states[scheduler.Waiting] != 4 {
			t.Errorf("%v", states)
		}
	}
	if n := len(slices.DeleteFunc(p.runs, func(s string) bool { return !strings.HasPrefix(s, "qstat -t") })); n != 1 {
		t.Errorf("elements were asked for %d times", n)
	}
}

// TestStill: an array of which nothing has begun is known without its elements.
func TestStill(t *testing.T) {
	t.Parallel()
	out := "Job Id: 7[].s\n    Job_Name = x\n    job_state = H\n    Hold_Types = u\n    array_state_count = Queued:5000 Running:0 Exiting:0 Expired:0\n    array_indices_submitted = 0-4999\n"
	p := &player{t: t, says: map[string]command.Result{"qselect": {Out: []byte("7[].s\n")}, "qstat -f": {Out: []byte(out)}}}
	rows, err := New(p, "alice").Queue(t.Context())
	if err != nil || len(rows) != 5000 || rows[4999].Index != 4999 || rows[7].HeldBy != offer.HeldByUser || len(p.runs) != 2 {
		t.Errorf("%d rows, %v, %q", len(rows), err, p.runs)
	}
}

// TestReasons: why jobs wait, and who holds them.
func TestReasons(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		reason string
		by     offer.Holder
	}{
		"qstat-held-json":          {"held; `muster resume` releases it", offer.HeldByUser},
		"qstat-dependent-json":     {"waits for its dependencies", ""},
		"qstat-never-fits-json":    {"it will never start: Insufficient amount of resource: ncpus (R: 256 A: 64 T: 64)", ""},
		"qstat-queue-limit-json":   {"User has reached queue debug running job limit", ""},
		"qstat-estimated-json":     {"waits for free nodes (Insufficient amount of resource: ncpus (R: 64 A: 48 T: 64))", ""},
		"qstat-waiting-begin-json": {"waits for its time", ""},
	} {
		p := &player{t: t, says: map[string]command.Result{"qselect": {Out: []byte("1.pbs1\n")}, "qstat -f": recorded(t, name)}}
		rows, err := New(p, "alice").Queue(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Reason != want.reason || rows[0].HeldBy != want.by || rows[0].State != scheduler.Waiting {
			t.Errorf("%s: %+v, %v", name, rows, err)
		} else if time.Until(rows[0].Start) > farOff {
			t.Errorf("%s: it starts %v", name, rows[0].Start)
		}
	}
}

// TestRefusals: what qsub refuses is invalid or a limit, and known; a server that is
// away leaves it open whether it took the job.
func TestRefusals(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/err-*.err")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".err")
		p := &player{t: t, says: map[string]command.Result{"qsub": recorded(t, name)}}
		_, unclear, err := New(p, "alice").Submit(t.Context(), "script.sh", false)
		var pe *providers.Error
		if !errors.As(err, &pe) || unclear || pe.Class == providers.Unreachable || (pe.Class == providers.Quota) != (name == "err-queue-limit") {
			t.Errorf("%s: %+v, unclear %v", name, err, unclear)
		}
	}
	p := &player{t: t, says: map[string]command.Result{"qsub": recorded(t, "down-qsub")}}
	if _, unclear, err := New(p, "alice").Submit(t.Context(), "script.sh", false); err == nil || !unclear {
		t.Errorf("a server that is away: %v, unclear %v", err, unclear)
	}
}

// TestChanges: a job that is gone is no failure of a cancel; what may not be changed
// is a refusal.
func TestChanges(t *testing.T) {
	t.Parallel()
	do := func(name string, call func(*Commands) error) error {
		r := recorded(t, name)
		return call(New(&player{t: t, says: map[string]command.Result{"q": r}}, "alice"))
	}
	cancel := func(c *Commands) error { return c.Cancel(t.Context(), scheduler.Whole("1.pbs1")) }
	for name, ok := range map[string]bool{"qdel-finished": true, "qdel-unknown": true, "qdel-several": true, "qdel-twice": true, "qdel-not-yours": false} {
		if err := do(name, cancel); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	ending := command.Result{Code: 168, Err: []byte("qdel: Request invalid for state of job 34[7].pbs1\n")} // seen on 23.06.06
	if err := cancel(New(&player{t: t, says: map[string]command.Result{"q": ending}}, "alice")); err != nil {
		t.Errorf("qdel of an element that ends: %v", err)
	}
	alter := func(c *Commands) error {
		return c.Change(t.Context(), scheduler.Whole("1.pbs1"), scheduler.Throttle(2))
	}
	if err := do("qalter-running-refused", alter); !scheduler.Unchangeable(err) {
		t.Errorf("qalter of a running job: %v", err)
	}
	release := func(c *Commands) error { return c.Release(t.Context(), scheduler.Whole("1.pbs1")) }
	if err := do("qrls-not-yours", release); !scheduler.Unchangeable(err) || scheduler.Gone(err) {
		t.Errorf("qrls of another user's job: %v", err)
	}
	c := New(&player{t: t}, "alice")
	if err := c.Change(t.Context(), scheduler.Whole("1.pbs1"), scheduler.Label("x")); !scheduler.Unchangeable(err) {
		t.Errorf("PBS has no label: %v", err)
	}
}

// TestIDs: ids as PBS writes them, there and back.
func TestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]scheduler.ElementID{
		"12.pbs1":                {Array: "12.pbs1", Index: -1},
		"12[3].polaris-pbs-01.x": {Array: "12[].polaris-pbs-01.x", Index: 3},
		"12[].pbs1":              {Array: "12[].pbs1", Index: -1},
	} {
		if at, ok := (Notation{}).Place(id); !ok || at != want || (Notation{}).ID(at) != id {
			t.Errorf("%s: %+v, %v", id, at, ok)
		}
	}
	if at, ok := (Notation{}).Place("job accepted"); ok {
		t.Errorf("%+v", at)
	}
	got := idsOf([]scheduler.Jobs{{ID: "7[].s", Indexes: []int{0, 1, 2, 5, 7, 8}}, {ID: "8.s"}})
	if want := []string{"7[0-2].s", "7[5].s", "7[7-8].s", "8.s"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestFacts: queues with their limits, and nodes.
func TestFacts(t *testing.T) {
	t.Parallel()
	says := map[string]command.Result{"qstat -Bf": recorded(t, "qstat-Bf-json"), "qstat -Qf": recorded(t, "qstat-Qf-json"), "pbsnodes": recorded(t, "pbsnodes-json")}
	f, err := New(&player{t: t, says: says}, "alice").Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.Default != "workq" || f.MaxArray != 10000 || f.Queues[0].Name != "workq" || len(f.Nodes) != 1 || f.Nodes[0].CPUs != 64 || f.Nodes[0].GPUs != 4 || f.Nodes[0].Memory != 256<<30 {
		t.Errorf("%+v", f)
	}
	debug := f.Queue("debug")
	if debug.MaxTime != time.Hour || debug.MaxNodes != 2 || debug.MaxQueue != 8 || debug.MaxRun != 2 || debug.QueueBy != "queue debug" {
		t.Errorf("debug: %+v", debug)
	}
	var server, queue map[string]any
	if err := json.Unmarshal([]byte(`{"max_run": "[u:PBS_GENERIC=9]", "max_run_res": {"ncpus": "[u:PBS_GENERIC=64]", "ngpus": "[o:PBS_ALL=4]"}}`), &server); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"max_run_res": {"ngpus": "[u:PBS_GENERIC=8]", "nodect": "[u:PBS_GENERIC=9],[u:alice=2]"}}`), &queue); err != nil {
		t.Fatal(err)
	}
	if q := New(nil, "alice").queue("q", queue, server); q.MaxRun != 9 || q.Most != (Amounts{CPUs: 64, GPUs: 4, Nodes: 2}) || q.MostBy != "the server" {
		t.Errorf("limits on what is held: %+v", q)
	}
	if prod := f.Widest(*f.Queue("prod")); prod.MaxTime != 24*time.Hour || prod.MaxNodes != 0 {
		t.Errorf("prod routes: %+v", prod)
	}
	if !f.Queue("small").Inner || f.Queue("closed").Enabled || f.Queue("paused").Started || f.Queue("members").Yours {
		t.Errorf("%+v", f.Queues)
	}
	for name, up := range map[string]bool{"pbsnodes-down-json": false, "pbsnodes-offline-json": false} {
		says["pbsnodes"] = recorded(t, name)
		if f, err := New(&player{t: t, says: says}, "alice").Facts(t.Context()); err != nil || f.Nodes[0].Up != up {
			t.Errorf("%s: %+v, %v", name, f.Nodes, err)
		}
	}
}

// TestMessageOnce: a command that tries the server several times says so once.
func TestMessageOnce(t *testing.T) {
	t.Parallel()
	text := "Connection refused\nqstat: cannot connect to server pbs1 (errno=-1)\nConnection refused\nqstat: cannot connect to server pbs1 (errno=-1)\n"
	if got := message("qstat", []byte(text)); got != "Connection refused; cannot connect to server pbs1 (errno=-1)" {
		t.Errorf("%q", got)
	}
}
