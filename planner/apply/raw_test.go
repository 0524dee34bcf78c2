package apply

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

const rawSpread = `
backend "far" "x" {
  hosts   = ["a"]
  workdir = "~/w"
}
phase "there" {
  place { candidates = [backend.far.x] }
  job {
    command = "cat ${input.raw} > ${output.o}; cat ${input_file.raw} > ${output.l}"
    input "raw" { path = "data/*.csv" }
    output "o" { path = "out/there.txt" }
    output "l" { path = "out/list.txt" }
  }
}
phase "here" {
  place { candidates = [backend.local.local] }
  job {
    command = "cat ${input.theirs} > ${output.o}"
    input "theirs" {
      path    = "big/*.bin"
      backend = backend.far.x
    }
    output "o" { path = "out/here.txt" }
  }
}
phase "place" {
  place { candidates = [backend.far.x] }
  job {
    command = "echo ${input.theirs} > ${output.o}"
    input "theirs" {
      path    = "big/one.bin"
      backend = backend.far.x
    }
    output "o" { path = "out/place.txt" }
  }
}`

func newRaw(t *testing.T) *machines { return newRawOf(t, rawSpread) }

func newRawOf(t *testing.T, campaign string) *machines {
	f := newMachines(t, campaign)
	big := filepath.Join(f.far.root, "a/w/big")
	for _, dir := range []string{big, filepath.Join(f.dir, "data")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(big, "one.bin"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.file("data/a.csv", "a\n")
	f.file("data/b.csv", "b\n")
	return f
}

func transfersOf(p *planner.Plan) (out []string) {
	for _, t := range p.Transfers {
		way := map[bool]string{true: "push", false: "pull"}[t.Push]
		out = append(out, strings.Join([]string{t.Phase, t.Input, way, t.From, t.To, string(rune('0' + t.Files)), string(rune('0' + t.Bytes))}, " "))
	}
	return out
}

// TestFilesThatNoPhaseMakesAreCopied: to backends that do not see them, once for
// the same bytes; where they are they are read in place.
func TestFilesThatNoPhaseMakesAreCopied(t *testing.T) {
	t.Parallel()
	f := newRaw(t)
	_, plan := f.plan(f.state())
	if got, want := transfersOf(plan), []string{"here theirs pull far.x local.local 1 4", "there raw push local.local far.x 2 4"}; !slices.Equal(got, want) {
		t.Errorf("the plan moves %q, want %q", got, want)
	}
	f.done(f.apply(t.Context()), 3)
	for name, want := range map[string]string{"w/out/there.txt": "a\nb\n", "w/out/place.txt": f.far.root + "/a/w/big/one.bin\n"} {
		if got := f.read("a", name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if got := f.read("", "out/here.txt"); got != "one\n" {
		t.Errorf("out/here.txt holds %q", got)
	}
	if got := f.read("a", "w/out/list.txt"); !strings.Contains(got, "/a/w/.muster/inputs/") || !strings.HasSuffix(got, "/b.csv\n") {
		t.Errorf("the list is %q", got)
	}
	_, plan = f.plan(f.state())
	if plan.Counts.Changes() || len(plan.Transfers) > 0 {
		t.Errorf("the plan of an applied plan: %+v, %q", plan.Counts, transfersOf(plan))
	}

	f.file("data/b.csv", "new\n")
	_, plan = f.plan(f.state())
	if got, want := transfersOf(plan), []string{"there raw push local.local far.x 1 4"}; !slices.Equal(got, want) || plan.Counts.Rerun != 1 {
		t.Errorf("with one file changed the plan moves %q, want %q; %+v", got, want, plan.Counts)
	}
	if err := os.WriteFile(filepath.Join(f.far.root, "a/w/big/one.bin"), []byte("two\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.notes = nil
	f.done(f.apply(t.Context()), 3)
	if got := f.read("a", "w/out/there.txt") + f.read("", "out/here.txt"); got != "a\nnew\ntwo\n" {
		t.Errorf("the files hold %q", got)
	}
	if notes := strings.Join(f.notes, "\n"); !strings.Contains(notes, "copied 1 file of the input raw to far.x") {
		t.Errorf("notes:\n%s", notes)
	}
}

// TestFileThatChangesBeforeItIsCopied: no byte of it leaves, and its job is held.
func TestFileThatChangesBeforeItIsCopied(t *testing.T) {
	t.Parallel()
	f := newRaw(t)
	f.conf = func(*Config) { f.file("data/b.csv", "later\n") }
	o := f.apply(t.Context())
	job := f.state().Jobs["phase.there"]
	if o.Done != 2 || job == nil || !strings.Contains(text(job), "data/b.csv changed after its digest was taken; plan again") {
		t.Errorf("outcome %+v\n%s\n%s", o, strings.Join(f.notes, "\n"), text(job))
	}
	if sent, _ := filepath.Glob(filepath.Join(f.far.root, "a/w/.muster/inputs/*/b.csv*")); len(sent) > 0 {
		if b, _ := os.ReadFile(sent[0]); len(b) > 0 {
			t.Errorf("%s was sent: %q", sent[0], b)
		}
	}
}

// TestEditedCopyIsMovedAside: what somebody made of a copy is kept, and is not
// read in its place.
func TestEditedCopyIsMovedAside(t *testing.T) {
	t.Parallel()
	f := newRaw(t)
	f.done(f.apply(t.Context()), 3)
	copies, _ := filepath.Glob(filepath.Join(f.far.root, "a/w/.muster/inputs/*/a.csv"))
	if len(copies) != 1 {
		t.Fatalf("copies: %q", copies)
	}
	if err := os.WriteFile(copies[0], []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.opts = planner.Options{Rerun: []string{"phase.there"}}
	f.done(f.apply(t.Context()), 3)
	if got := f.read("a", "w/out/there.txt"); got != "a\nb\n" {
		t.Errorf("out/there.txt holds %q", got)
	}
	if aside, _ := filepath.Glob(filepath.Join(f.far.root, "a/w/.muster/replaced/inputs/*/.muster/inputs/*/a.csv")); len(aside) == 0 {
		t.Error("the edited copy is not in .muster/replaced")
	}
}

// rawBilled is rawSpread where every byte that leaves the host costs a tenth of a cent.
var rawBilled = strings.Replace(rawSpread, `workdir = "~/w"`, `workdir = "~/w"
  price   = { usd_per_gb_out = 1000000 }`, 1)

// TestFilesThatNoPhaseMakesAreBilledAsTheyLeave: the ledger has what the plan
// says, once for the same bytes; what goes there, or is read there, costs nothing.
func TestFilesThatNoPhaseMakesAreBilledAsTheyLeave(t *testing.T) {
	t.Parallel()
	f := newRawOf(t, rawBilled)
	_, plan := f.plan(f.state())
	if row := plan.Transfers[0]; row.Cost == nil || row.Cost.Expected != "0.004" {
		t.Errorf("the plan says %+v", row.Cost)
	}
	spent := func(want, when string) {
		t.Helper()
		if got, _ := f.state().Spent(func(e state.Entry) bool { return e.Phase == "here" && e.Backend == "far.x" }); got["usd"] != want {
			t.Errorf("%s: $%s, not %s: %s", when, got["usd"], want, text(f.state().Ledger))
		}
	}
	f.done(f.apply(t.Context()), 3)
	spent("0.004", "four bytes left")
	f.opts = planner.Options{Rerun: []string{"phase.here"}}
	f.done(f.apply(t.Context()), 3)
	spent("0.004", "they were there")
	f.opts = planner.Options{}
	if err := os.WriteFile(filepath.Join(f.far.root, "a/w/big/one.bin"), []byte("other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.done(f.apply(t.Context()), 3)
	spent("0.01", "six others left")
	if total, _ := f.state().Spent(nil); total["usd"] != "0.01" {
		t.Errorf("$%s in all", total["usd"])
	}
}

// TestFilesOfThisMachineAreBilledAsTheyLeave: a backend "local" may have a price for
// that, too.
func TestFilesOfThisMachineAreBilledAsTheyLeave(t *testing.T) {
	t.Parallel()
	for name, phases := range map[string]string{"with jobs there": rawSpread, "without": rawSpread[:strings.Index(rawSpread, `phase "here"`)]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRawOf(t, phases+`
backend "local" "local" { price = { usd_per_gb_out = 1000000 } }`)
			c, plan := f.plan(f.state())
			if i := slices.IndexFunc(plan.Transfers, func(t planner.Transfer) bool { return t.Push }); plan.Transfers[i].Cost == nil || plan.Transfers[i].Cost.Expected != "0.004" {
				t.Errorf("the plan says %+v", plan.Transfers[i].Cost)
			}
			f.done(f.apply(t.Context()), len(c.Phases))
			if got, _ := f.state().Spent(func(e state.Entry) bool { return e.Phase == "there" && e.Backend == "local.local" }); got["usd"] != "0.004" {
				t.Errorf("$%s: %s", got["usd"], text(f.state().Ledger))
			}
		})
	}
}

// TestNoBudgetIsPassedByFilesThatNoPhaseMakes: no byte leaves that is not covered.
func TestNoBudgetIsPassedByFilesThatNoPhaseMakes(t *testing.T) {
	t.Parallel()
	f := newRawOf(t, rawBilled+`
budget "b" { limits = { usd = 0.003 } }`)
	o := f.apply(t.Context())
	job := f.state().Jobs["phase.here"]
	if spent, _ := f.state().Spent(nil); o.Done != 2 || spent["usd"] != "" || job == nil || !strings.Contains(job.Reason, `budget "b" does not cover the files of big/one.bin`) {
		t.Errorf("outcome %+v, spent %v\n%s", o, spent, text(job))
	}
	if left, _ := filepath.Glob(filepath.Join(f.dir, ".muster/inputs/*/one.bin*")); len(left) > 0 {
		t.Errorf("it was copied: %q", left)
	}
}
