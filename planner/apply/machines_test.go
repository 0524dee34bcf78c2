package apply

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// machines are this machine and others: real queues, real jobs, real files.
type machines struct {
	t     testing.TB
	dir   string
	here  *local.Local
	far   *far
	disk  *disk
	conf  func(*Config)
	notes []string
	opts  planner.Options
	// digests is a folder in which plans keep them; "" = none.
	digests string
}

func newMachines(t testing.TB, hcl string) *machines {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	spool, err := os.MkdirTemp("", "q")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(spool) })
	f := &machines{t: t, dir: t.TempDir(), far: newFar(t), disk: &disk{}}
	f.here = local.NewWith(host.Options{Spool: spool, Command: []string{os.Args[0]}, Env: []string{beQueue + "=1"}, Idle: 200 * time.Millisecond})
	t.Cleanup(func() { f.here.Close() })
	f.file("c.muster.hcl", "campaign \"c\" {}\n"+hcl)
	return f
}

func (f *machines) file(name, text string) {
	f.t.Helper()
	if strings.HasSuffix(name, ".sh") {
		program.Write(f.t, filepath.Join(f.dir, name), text)
		return
	}
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// read is a file of a host's home, "" if there is none.
func (f *machines) read(host, name string) string {
	path := filepath.Join(f.dir, name)
	if host != "" {
		path = filepath.Join(f.far.root, host, name)
	}
	b, _ := os.ReadFile(path)
	return string(b)
}

func (f *machines) provider(backendType string) (providers.Provider, error) {
	if backendType == "far" {
		return f.far, nil
	}
	return f.here, nil
}

func (f *machines) plan(st *state.State) (*lang.Campaign, *planner.Plan) {
	f.t.Helper()
	c, diags := lang.Load(lang.LoadOptions{Dir: f.dir, Schemas: map[string]offer.Schema{"local": local.Schema(), "far": farSchema()}})
	if diags.HasErrors() {
		f.t.Fatal(diags.Err())
	}
	r := refresh.Observe(f.t.Context(), refresh.Input{Campaign: c, State: st, Provider: f.provider, Now: time.Now(), Refresh: true, Preflight: true, Options: f.opts, Cache: f.digests})
	p, diags := planner.Make(planner.Input{Campaign: c, State: st, Observed: r.Observed, Pools: r.Pools, Quotes: r.Quotes, Can: r.Can, Now: time.Now(), Options: f.opts})
	if diags.HasErrors() {
		f.t.Fatal(diags.Err())
	}
	return c, p
}

func (f *machines) apply(ctx context.Context) progress.Outcome {
	f.t.Helper()
	m := f.disk.open(nil)
	c, plan := f.plan(m.st)
	conf := Config{Plan: plan, Campaign: c, Session: m, Provider: f.provider, Who: "ada",
		Progress: func(p progress.Snapshot) {
			if p.Note != "" {
				f.notes = append(f.notes, p.Address+": "+p.Note)
			}
		}}
	if f.conf != nil {
		f.conf(&conf)
	}
	o, err := Run(ctx, conf)
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func (f *machines) state() *state.State {
	st := &state.State{Version: state.SchemaVersion}
	for _, ev := range f.disk.events {
		st.Apply(ev)
	}
	return st
}

func (f *machines) done(o progress.Outcome, n int) {
	f.t.Helper()
	if o.Done != n || o.Stopped != progress.None {
		f.t.Fatalf("outcome %+v\nnotes:\n%s\nstate: %s", o, strings.Join(f.notes, "\n"), text(f.state().Jobs))
	}
}

const spread = `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
backend "far" "y" {
  hosts   = ["b"]
  workdir = "~/work/y"
}
phase "make" {
  grid { axes = { n = [1, 2, 3] } }
  place { candidates = [backend.far.x] }
  job {
    command = "echo ${cell.n} > ${output.o}; mkdir -p ${output.d}; echo d${cell.n} > ${output.d}/one; echo e > ${output.d}/two; pwd > ${output.o}.pwd"
    output "o" { path = "out/a${cell.n}.txt" }
    output "d" { dir = "out/d${cell.n}" }
  }
}
phase "mix" {
  grid { axes = { n = [1, 2, 3] } }
  place { candidates = [backend.far.y] }
  job {
    command = "cat ${input.i} ${input.d}/* > ${output.o}"
    input "i" { from = phase.make.output.o }
    input "d" { from = phase.make.output.d }
    output "o" { path = "out/b${cell.n}.txt" }
  }
}
phase "sum" {
  place { candidates = [backend.local.local] }
  job {
    command = "cat $(cat ${input_file.mixed}) $(cat ${input_file.made}) > ${output.o}"
    input "mixed" { from_all = phase.mix.output.o }
    input "made" { from_all = phase.make.output.o }
    output "o" { path = "sum.txt" }
  }
}`

func TestFilesMoveToWhereTheyAreRead(t *testing.T) {
	// Requirement: HND-01, HND-04
	t.Parallel()
	f := newMachines(t, spread)
	_, plan := f.plan(&state.State{})
	var rows []string
	for _, tr := range plan.Transfers {
		rows = append(rows, tr.Phase+"."+tr.Input+" "+tr.From+" "+tr.To)
	}
	slices.Sort(rows)
	want := []string{"mix.d far.x far.y", "mix.i far.x far.y", "sum.made far.x local.local", "sum.mixed far.y local.local"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %v, want %v", rows, want)
	}
	f.done(f.apply(t.Context()), 7)
	if got := f.read("", "sum.txt"); got != "1\nd1\ne\n2\nd2\ne\n3\nd3\ne\n1\n2\n3\n" {
		t.Errorf("sum %q", got)
	}
	if got := f.read("b", "work/y/out/d2/one"); got != "d2\n" {
		t.Errorf("the folder on b holds %q", got)
	}
	for _, j := range f.far.sent {
		if len(j.After) > 0 {
			t.Errorf("%s was handed over to come after %v", j.Address, j.After)
		}
	}
	rec := f.state().Jobs[`phase.make["n=2"]`]
	o := staging.OutputNamed(rec, "o")
	if len(o.Copies) != 2 || o.Copies[0].Digest != o.Digest || o.Workdir != filepath.Join(f.far.root, "a/w") {
		t.Errorf("output %s", text(o))
	}
	if _, plan := f.plan(f.state()); plan.Counts.Changes() || len(plan.Transfers) > 0 {
		t.Errorf("the plan of an applied plan: %+v %v", plan.Counts, plan.Transfers)
	}
}

func TestBrokenTransferGoesOnWhereItStopped(t *testing.T) {
	// Requirement: HND-03, TDN-09
	t.Parallel()
	f := newMachines(t, spread)
	path := filepath.Join(f.far.root, "a/w/out/a2.txt")
	f.far.dropAt[path] = 1
	f.done(f.apply(t.Context()), 7)
	if at := f.far.offsets[path]; len(at) < 2 || !slices.Contains(at, 1) {
		t.Errorf("pulled from %v", at)
	}
	if got := f.read("b", "work/y/out/a2.txt"); got != "2\n" {
		t.Errorf("copy %q", got)
	}
}

// billed is the campaign whose first backend bills a tenth of a cent for every
// byte that leaves it.
var billed = strings.Replace(spread, `workdir = "~/w"`, `workdir = "~/w"
  price   = { usd_per_gb_out = 1000000 }`, 1)

// TestFilesThatLeaveAreBilledOnce: each output of x goes to y, and one of its
// two goes here as well, whatever breaks on the way.
func TestFilesThatLeaveAreBilledOnce(t *testing.T) {
	t.Parallel()
	f := newMachines(t, billed)
	f.far.dropAt[filepath.Join(f.far.root, "a/w/out/a2.txt")] = 1
	f.done(f.apply(t.Context()), 7)
	spent, _ := f.state().Spent(func(e state.Entry) bool { return e.Phase == "make" && e.Backend == "far.x" })
	if want := "0.027"; spent["usd"] != want { // 3 × (2 + 5 + 2) bytes
		t.Errorf("$%s, not %s: %s", spent["usd"], want, text(f.state().Ledger))
	}
	if total, _ := f.state().Spent(nil); total["usd"] != "0.027" {
		t.Errorf("$%s in all", total["usd"])
	}
}

// TestFilesAreBilledAsTheyLeave: what is there already costs nothing, and what
// is made again is billed again.
func TestFilesAreBilledAsTheyLeave(t *testing.T) {
	t.Parallel()
	f := newMachines(t, billed)
	there := filepath.Join(f.far.root, "b/work/y/out/a1.txt")
	if err := os.MkdirAll(filepath.Dir(there), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spent := func(want, when string) {
		t.Helper()
		if got, _ := f.state().Spent(nil); got["usd"] != want {
			t.Errorf("%s: $%s, not %s: %s", when, got["usd"], want, text(f.state().Ledger))
		}
	}
	f.done(f.apply(t.Context()), 7)
	spent("0.025", "one copy of two bytes was there")
	f.file("c.muster.hcl", "campaign \"c\" {}\n"+strings.Replace(billed, "echo ${cell.n} >", "echo ${cell.n}! >", 1))
	f.done(f.apply(t.Context()), 7)
	spent("0.043", "three files of three bytes went to both places")
}

// TestNoBudgetIsPassedByFiles: what is not covered does not move, and who waits
// for it is held and says why.
func TestNoBudgetIsPassedByFiles(t *testing.T) {
	t.Parallel()
	f := newMachines(t, billed+`
budget "b" { limits = { usd = 0.012 } }`)
	o := f.apply(t.Context())
	spent, _ := f.state().Spent(nil)
	if amount.Of(spent["usd"]).GreaterThan(amount.Of("0.012")) || amount.Of(spent["usd"]).IsZero() {
		t.Errorf("$%s spent", spent["usd"])
	}
	why := ""
	for _, j := range f.state().Jobs {
		why += j.Reason + "\n"
	}
	if o.Held == 0 || !strings.Contains(why, `budget "b" does not cover the files of phase.make[`) {
		t.Errorf("outcome %+v, held since %q", o, why)
	}
}

func TestWhatLiesInTheWayOfACopyIsMovedAside(t *testing.T) {
	t.Parallel()
	f := newMachines(t, spread)
	old := filepath.Join(f.far.root, "b/work/y/out/a1.txt")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.done(f.apply(t.Context()), 7)
	kept, _ := filepath.Glob(filepath.Join(f.far.root, "b/work/y/.muster/replaced/*/out/a1.txt"))
	if len(kept) != 1 {
		t.Fatalf("kept %v", kept)
	}
	if b, _ := os.ReadFile(kept[0]); string(b) != "precious" {
		t.Errorf("kept %q", b)
	}
}

func TestResumeTriesATransferAgain(t *testing.T) {
	t.Parallel()
	f := newMachines(t, spread+`
phase "hang" {
  job {
    command = "while [ ! -e go ]; do sleep 0.1; done; touch ${output.o}"
    output "o" { path = "hung.txt" }
  }
}`)
	var mended atomic.Bool
	f.far.trip = func(call, path string) error {
		if call == "pull" && strings.HasSuffix(path, "a2.txt") && !mended.Load() {
			return providers.Errorf(providers.NotFound, "the file hides")
		}
		return nil
	}
	dir := t.TempDir()
	sent := make(chan error, 1)
	var once sync.Once
	f.conf = func(c *Config) {
		c.Requests = dir
		c.Event = func(ev state.Event) {
			if h, ok := ev.(state.HeldJob); ok && strings.HasPrefix(h.Address, "phase.mix") {
				once.Do(func() {
					go func() {
						mended.Store(true)
						_, err := request.Send(t.Context(), dir, request.Request{Verb: request.Resume, Who: "bob"}, time.Minute)
						f.file("go", "")
						sent <- err
					}()
				})
			}
		}
	}
	f.done(f.apply(t.Context()), 8)
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestInputWhoseBackendIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	f := newMachines(t, spread)
	f.conf = func(c *Config) { c.Mode = Once }
	ctx, stop := context.WithCancel(t.Context())
	f.conf = func(c *Config) {
		c.Event = func(ev state.Event) {
			if o, ok := ev.(state.Observed); ok && strings.HasPrefix(o.Address, "phase.mix") && o.Status == state.Completed {
				stop()
			}
		}
	}
	f.apply(ctx)
	f.far.cut("a", true)
	f.conf = func(c *Config) {
		old := c.Progress
		c.Progress = func(p progress.Snapshot) {
			old(p)
			if strings.Contains(p.Note, "cannot be reached") {
				f.far.cut("a", false)
			}
		}
	}
	f.done(f.apply(t.Context()), 7)
	for a, j := range f.state().Jobs {
		if len(j.Attempts) != 1 {
			t.Errorf("%s has %d attempts", a, len(j.Attempts))
		}
	}
}
