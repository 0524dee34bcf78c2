package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm"
)

// values are a fake command's fields of one job, by squeue's letters or
// sacct's names.
type values map[string]string

// printed lays jobs out as squeue or sacct was asked to print them, by the last
// word of its command line.
func printed(argv []string, jobs ...values) []byte {
	format := argv[len(argv)-1]
	fields, end := strings.Split(strings.TrimSuffix(format, "\x1e"), "\x1f"), "\x1e\n"
	if argv[0] == "sacct" {
		fields, end = strings.Split(format, ","), "\x1f\n"
	}
	var out strings.Builder
	for _, v := range jobs {
		line := make([]string, len(fields))
		for i, name := range fields {
			line[i] = v[name]
		}
		out.WriteString(strings.Join(line, "\x1f") + end)
	}
	return []byte(out.String())
}

// A fakeSlurm answers as Slurm's commands would; sbatch gives ids out in order.
type fakeSlurm struct {
	mu      sync.Mutex
	calls   []string
	last    int
	refuse  func(argv []string) *command.Result // of sbatch; nil = it is taken
	answer  func(argv []string) *command.Result // of any other; nil = the usual
	queued  []values                            // of squeue
	scripts []string
}

func (f *fakeSlurm) Run(_ context.Context, argv []string, _ []byte) (command.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(argv, " "))
	if f.answer != nil && argv[0] != "sbatch" {
		if r := f.answer(argv); r != nil {
			return *r, nil
		}
	}
	switch argv[0] {
	case "scontrol":
		if slices.Contains(argv, "partition") {
			return command.Result{Out: []byte("PartitionName=amilan AllowQos=ALL MaxTime=1-00:00:00 MaxNodes=UNLIMITED TotalNodes=2 State=UP Default=YES\n")}, nil
		}
		if slices.Contains(argv, "config") {
			return command.Result{Out: []byte("MaxArraySize = 101\n")}, nil
		}
	case "squeue":
		return command.Result{Out: printed(argv, f.queued...)}, nil
	case "sbatch":
		if f.refuse != nil {
			if r := f.refuse(argv); r != nil {
				return *r, nil
			}
		}
		f.last++
		text, _ := os.ReadFile(argv[len(argv)-1])
		f.scripts = append(f.scripts, string(text))
		return command.Result{Out: fmt.Appendf(nil, "%d\n", f.last)}, nil
	}
	return command.Result{}, nil
}

// sent are the submissions, by what follows the script's folder.
func (f *fakeSlurm) sent() (out []string) {
	for _, c := range f.calls {
		if strings.HasPrefix(c, "sbatch") {
			out = append(out, c)
		}
	}
	return out
}

type bench struct {
	*testing.T
	f *fakeSlurm
	s *Provider
	b providers.Backend
}

func newBench(t *testing.T) *bench {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	program.Write(t, path, "#!/bin/sh\n")
	k := &bench{T: t, f: &fakeSlurm{}, b: providers.Backend{Name: "slurm.test", Type: "slurm", Workdir: t.TempDir(), Campaign: "test", Lineage: "0123", Config: json.RawMessage(`{}`)}}
	k.s = New(Options{Program: path, Type: slurm.Type{Runner: k.f}})
	k.configure()
	return k
}

func (k *bench) configure() {
	k.Helper()
	if err := k.s.Configure(k.Context(), k.b); err != nil {
		k.Fatal(err)
	}
	if _, err := k.s.Pools(k.Context(), k.b.Name); err != nil {
		k.Fatal(err)
	}
}

// restart forgets all but the spool.
func (k *bench) restart() {
	k.s = New(k.s.options)
	k.configure()
}

func (k *bench) jobs(phase string, n int, after func(i int) []string) []providers.Job {
	out := make([]providers.Job, n)
	for i := range out {
		out[i] = providers.Job{Token: fmt.Sprintf("%s%d", phase, i), Address: fmt.Sprintf("phase.%s[%d]", phase, i), Phase: phase, Pool: "amilan", Attempt: 1,
			Shell: "true", Workdir: k.b.Workdir, Dir: k.b.Workdir, Shape: offer.Shape{CPUs: 1, Nodes: 1, Walltime: time.Hour}}
		if after != nil {
			out[i].After = after(i)
		}
	}
	return out
}

func (k *bench) submit(batch string, jobs ...providers.Job) []providers.Submitted {
	k.Helper()
	out, err := k.s.Submit(k.Context(), providers.SubmitRequest{Backend: k.b.Name, Fence: 1, Batch: batch, Jobs: jobs})
	if err != nil {
		k.Fatal(err)
	}
	return out
}

// found is Find's answer for a token.
func (k *bench) found(token string) offer.Observation {
	k.Helper()
	out, err := k.s.Find(k.Context(), k.b.Name, []string{token})
	if err != nil {
		k.Fatal(err)
	}
	return out[0]
}

// record writes the record of a start's end as a node would.
func (k *bench) record(token string, e node.End) {
	k.Helper()
	text, err := json.Marshal(e)
	if err == nil {
		err = os.WriteFile(filepath.Join(k.spool(), "ends", node.RecordName(token, e.Restart)), text, 0o600)
	}
	if err != nil {
		k.Fatal(err)
	}
}

// directive is the value of an #SBATCH line of a script.
func directive(script, name string) string {
	for line := range strings.Lines(script) {
		if v, ok := strings.CutPrefix(line, "#SBATCH --"+name+"="); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// TestChain: one array a phase, the roots held until all is in, element after
// like element.
func TestChain(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 3, nil)
	jobs = append(jobs, k.jobs("b", 3, func(i int) []string { return []string{fmt.Sprintf("a%d", (i+1)%3)} })...) // not in the same order
	jobs = append(jobs, k.jobs("c", 1, func(int) []string { return []string{"b0", "b1", "b2"} })...)
	jobs = append(jobs, k.jobs("d", 1, func(int) []string { return []string{"b2", "a1"} })...)
	for i, r := range k.submit("batch0123456789", jobs...) {
		if r.Err != nil || r.Handle == "" {
			t.Errorf("job %d: %+v", i, r)
		}
	}
	if got := len(k.f.sent()); got != 4 || !strings.Contains(k.f.sent()[0], "--hold") {
		t.Fatalf("submissions: %q", k.f.sent())
	}
	if told := k.f.told(); told[len(told)-1] != "scontrol release 1,2" {
		t.Errorf("the last that Slurm is told is %q", told)
	}
	for i, want := range []struct{ array, depend string }{{"0-2", ""}, {"0-2", "aftercorr:1"}, {"", "afterok:2"}, {"", "afterok:1_1,afterok:2_0"}} {
		s := k.f.scripts[i]
		if directive(s, "array") != want.array || directive(s, "dependency") != want.depend {
			t.Errorf("script %d has array %q and dependency %q, want %+v", i, directive(s, "array"), directive(s, "dependency"), want)
		}
	}
	// Element 1 of b is the job that comes after element 1 of a.
	b := k.s.backends[k.b.Name].campaign.jobs.byToken
	for i := range 3 {
		if got, want := b[fmt.Sprintf("b%d", i)].index, (i+1)%3; got != want {
			t.Errorf("b%d is element %d, want %d", i, got, want)
		}
	}
}

// TestFanOut: several jobs after each of a few: one array still, each element
// with its own dependency before it could start.
func TestFanOut(t *testing.T) {
	// Requirement: DEP-01, DEP-05
	t.Parallel()
	k := newBench(t)
	jobs := append(k.jobs("a", 2, nil), k.jobs("b", 4, func(i int) []string { return []string{fmt.Sprintf("a%d", i/2)} })...)
	k.submit("batch0123456789", jobs...)
	if len(k.f.sent()) != 2 || !strings.Contains(k.f.sent()[1], "--hold") {
		t.Fatalf("submissions: %q", k.f.sent())
	}
	if d := directive(k.f.scripts[1], "dependency"); d != "afterok:1" {
		t.Errorf("until it is told otherwise the array comes after %q", d)
	}
	var updates []string
	for _, c := range k.f.told() {
		if strings.HasPrefix(c, "scontrol update") {
			updates = append(updates, c)
		}
	}
	if want := []string{"scontrol update JobId=2_[0-1] Dependency=afterok:1_0", "scontrol update JobId=2_[2-3] Dependency=afterok:1_1"}; !slices.Equal(updates, want) {
		t.Errorf("updates are %q, want %q", updates, want)
	}
}

// TestFanOutIsTold: elements that do not know yet what they come after stay
// held, whoever was killed or not heard before they were told.
func TestFanOutIsTold(t *testing.T) {
	t.Parallel()
	hung := func() *command.Result {
		return &command.Result{Code: 1, Err: []byte("slurm_update error: Unable to contact slurm controller (connect failure)")}
	}
	want := []string{"scontrol update JobId=2_[0-1] Dependency=afterok:1_0", "scontrol update JobId=2_[2-3] Dependency=afterok:1_1", "scontrol release 1,2"}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			t.Parallel()
			k := newBench(t)
			jobs := append(k.jobs("a", 2, nil), k.jobs("b", 4, func(i int) []string { return []string{fmt.Sprintf("a%d", i/2)} })...)
			k.f.answer = func(argv []string) *command.Result {
				if argv[0] == "scontrol" && argv[1] == "update" && strings.HasPrefix(argv[2], "JobId=2_[2") {
					return hung()
				}
				return nil
			}
			for i, r := range k.submit("batch0123456789", jobs...) {
				if i >= 2 && (r.Err == nil || r.Err.Class != providers.Unreachable) {
					t.Errorf("job %d is said to be in good hands: %+v", i, r)
				}
			}
			if got := k.f.told(); len(got) != 4 || strings.Contains(got[3], "release") {
				t.Errorf("Slurm is told %q", got)
			}
			if killed {
				k.restart()
			}
			k.f.answer, k.f.calls = nil, nil
			k.submit("batch0123456789", jobs...)
			if got := k.f.told(); !slices.Equal(got, want) {
				t.Errorf("then Slurm is told %q, want %q", got, want)
			}
		})
	}
}

// TestFoundIsLetGo: a batch that was held until the rest was in is released where
// its sbatch did not say what became of it; and told before what it comes after.
func TestFoundIsLetGo(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	lies := ""
	k.f.refuse = func(argv []string) *command.Result {
		if !strings.Contains(argv[len(argv)-1], "/"+lies+".") {
			return nil
		}
		k.f.last++
		for i := range 4 {
			k.f.queued = append(k.f.queued, values{"%F": fmt.Sprint(k.f.last), "%K": fmt.Sprint(i), "%T": "PENDING", "%V": fmt.Sprint(time.Now().Unix()), "%j": filepath.Base(filepath.Dir(argv[len(argv)-1]))})
		}
		lies = "-"
		return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")}
	}
	jobs := append(k.jobs("a", 2, nil), k.jobs("b", 4, func(i int) []string { return []string{fmt.Sprintf("a%d", i/2)} })...)
	for _, lies = range []string{"a", "b"} {
		k.submit("batch0123456789", jobs...)
	}
	k.submit("batch0123456789", jobs...)
	want := []string{"sbatch --hold", "sbatch --hold", "scontrol update JobId=2_[0-1] Dependency=afterok:1_0", "scontrol update JobId=2_[2-3] Dependency=afterok:1_1", "scontrol release 1,2"}
	if got := k.f.told(); !slices.Equal(got, want) {
		t.Errorf("Slurm is told %q, want %q", got, want)
	}
}

// TestLongArray: an array is cut to MaxArraySize.
func TestLongArray(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 250, nil)...)
	var got []string
	for _, s := range k.f.scripts {
		got = append(got, directive(s, "array"))
	}
	if want := []string{"0-99", "0-99", "0-49"}; !slices.Equal(got, want) {
		t.Errorf("arrays are %q, want %q", got, want)
	}
}

// TestLimit: what the limit on submitted jobs does not let in waits, and is
// told to nobody as an error; so does what comes after it.
func TestLimit(t *testing.T) {
	// Requirement: SUB-05
	t.Parallel()
	k := newBench(t)
	full := true
	k.f.refuse = func([]string) *command.Result {
		if !full {
			return nil
		}
		return &command.Result{Code: 1, Err: []byte("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy")}
	}
	jobs := append(k.jobs("a", 2, nil), k.jobs("b", 2, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)
	for _, r := range k.submit("batch0123456789", jobs...) {
		if r.Err != nil {
			t.Errorf("%+v", r)
		}
	}
	if o := k.found("a0"); o.Stage != offer.Accepted || !strings.Contains(o.Reason, "(QOSMaxSubmitJobPerUserLimit)") {
		t.Errorf("what waits is told as %+v", o)
	}
	if len(k.f.scripts) != 0 {
		t.Fatalf("submitted %d", len(k.f.scripts))
	}
	full = false
	k.restart()
	k.submit("batch0123456789", jobs...)
	if len(k.f.scripts) != 2 || directive(k.f.scripts[1], "dependency") != "aftercorr:1" {
		t.Errorf("later: %q", k.f.scripts)
	}
}

// TestLostAnswer: an sbatch that did not say what became of it is looked for
// under its name, and never sent again while it may be there.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")}
	}
	jobs := k.jobs("a", 2, nil)
	for _, r := range k.submit("batch0123456789", jobs...) {
		if r.Err == nil || r.Err.Class != providers.Unreachable {
			t.Fatalf("%+v", r)
		}
	}
	k.f.refuse = nil
	k.restart()
	seen, err := k.s.Find(t.Context(), k.b.Name, []string{"a0", "a1"})
	if err != nil || seen[0].Presence != offer.Unknown {
		t.Fatalf("right after it: %+v, %v", seen, err)
	}
	k.submit("batch0123456789", jobs...)
	if n := len(k.f.sent()); n != 1 {
		t.Fatalf("it was sent %d times", n)
	}
	// The controller thaws, and has it.
	name := k.s.backends[k.b.Name].campaign.jobs.batches[0].Name
	for i := range 2 {
		k.f.queued = append(k.f.queued, values{"%F": "77", "%K": fmt.Sprint(i), "%T": "PENDING", "%V": fmt.Sprint(time.Now().Unix()), "%j": name})
	}
	seen, err = k.s.Find(t.Context(), k.b.Name, []string{"a0", "a1"})
	if err != nil || seen[1].Presence != offer.Found {
		t.Fatalf("after the thaw: %+v, %v", seen, err)
	}
	if out := k.submit("batch0123456789", jobs...); out[1].Handle != "77_1" || len(k.f.sent()) != 1 {
		t.Errorf("handle %q, sent %d times", out[1].Handle, len(k.f.sent()))
	}
}

// TestSubmittedTwice: if Slurm has an array twice, a job ends as the element that claimed its
// token ended, whichever array the element belongs to.
func TestSubmittedTwice(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.submit("batch0123456789", k.jobs("a", 2, nil)...)
	name := k.s.backends[k.b.Name].campaign.jobs.batches[0].Name
	for i, id := range []string{"1_0", "9_1"} {
		claim := filepath.Join(k.spool(), "claims", fmt.Sprintf("a%d", i))
		if err := os.MkdirAll(claim, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(claim, "id"), []byte(id+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now, ended := fmt.Sprint(time.Now().Unix()+1), fmt.Sprint(time.Now().Unix()-60) // that no record is waited for
	row := func(id, state string) values {
		return values{"JobID": id, "State": state, "ExitCode": "71:0", "Submit": now, "Start": ended, "End": ended, "JobName": name}
	}
	rows := []values{row("1_0", "NODE_FAIL"), row("1_1", "FAILED"), row("9_0", "FAILED")}
	k.f.answer = func(argv []string) *command.Result {
		if argv[0] == "sacct" {
			return &command.Result{Out: printed(argv, rows...)}
		}
		return nil
	}
	k.f.queued = []values{{"%F": "9", "%K": "1", "%T": "RUNNING", "%V": now, "%S": now, "%j": name}}
	if a, b := k.found("a0"), k.found("a1"); a.Status != offer.Failed || a.Class != "node_failure" || b.Status != offer.Running {
		t.Errorf("the one that ended is %s (%s), the one that goes on %s", a.Status, a.Class, b.Status)
	}
	k.f.queued, rows = nil, append(rows, row("9_1", "TIMEOUT"))
	k.restart()
	if b := k.found("a1"); b.Status != offer.Failed || b.Class != "walltime" {
		t.Errorf("then it is %s (%s)", b.Status, b.Class)
	}
}

// TestEarlierLaunches: who asks after a job only when it has ended sees
// the launches before its last, too, with what each used.
func TestEarlierLaunches(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 1, nil)
	jobs[0].Retry = providers.Retry{On: []string{"nan"}, Max: 3}
	k.submit("batch0123456789", jobs...)
	for restart, status := range []offer.Status{offer.Waiting, offer.Completed} {
		at := time.Now().Add(time.Duration(restart) * time.Minute)
		begin := node.Begin{Token: "a0", ID: "1", Restart: restart, At: at, Node: "cpu1"}
		k.record("a0", node.End{Begin: begin, Final: status == offer.Completed, Seen: offer.Observation{Token: "a0", Presence: offer.Found, Handle: "1",
			Status: status, Attempt: restart + 1, Started: at, Ended: at.Add(time.Second), Usage: &offer.Usage{Elapsed: time.Second}}})
	}
	o := k.found("a0")
	if o.Status != offer.Completed || o.Attempt != 2 || len(o.Earlier) != 1 {
		t.Fatalf("%+v", o)
	}
	if e := o.Earlier[0]; e.Status != offer.Waiting || e.Attempt != 1 || e.Usage == nil || e.Usage.Elapsed != time.Second {
		t.Errorf("the first launch is told as %+v", e)
	}
}

// TestMisread: an option that sbatch does not know is told at plan time, and is
// no answer that got lost where it comes to be submitted.
func TestMisread(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 255, Err: []byte("sbatch: unrecognized option '--parittion=x'\nTry \"sbatch --help\" for more information\n")}
	}
	quotes, err := k.s.Quote(t.Context(), k.b.Name, []offer.Shape{{CPUs: 1, Nodes: 1, Options: `{"extra": ["--parittion=x"]}`}})
	if err != nil || len(quotes) != 1 || quotes[0].Fits || !strings.Contains(quotes[0].Why, "unrecognized option '--parittion=x'") {
		t.Errorf("at plan time: %+v, %v", quotes, err)
	}
	if tried := k.f.sent(); len(tried) != 1 || !strings.Contains(tried[0], "--test-only") || !strings.Contains(tried[0], "--parittion=x") {
		t.Errorf("it was tried by %q", tried)
	}
	out := k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	if e := out[0].Err; e == nil || e.Class != providers.Invalid || !strings.Contains(e.Hint, "extra") {
		t.Errorf("submitted: %+v", out[0])
	}
}

// TestRefused: what Slurm will not have is told with its reason, and leaves
// the token free.
func TestRefused(t *testing.T) {
	// Requirement: SUB-04
	t.Parallel()
	k := newBench(t)
	k.f.refuse = func([]string) *command.Result {
		return &command.Result{Code: 1, Err: []byte("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified")}
	}
	out := k.submit("batch0123456789", k.jobs("a", 1, nil)...)
	if e := out[0].Err; e == nil || e.Class != providers.Invalid || e.Hint == "" {
		t.Fatalf("%+v", out[0])
	}
	seen, err := k.s.Find(t.Context(), k.b.Name, []string{"a0"})
	if err != nil || seen[0].Presence != offer.Absent {
		t.Errorf("%+v, %v", seen, err)
	}
}
