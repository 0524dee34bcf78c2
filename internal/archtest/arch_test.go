// Package archtest tests which packages may import which, against
// docs/architecture.md.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/muster-run/muster/"

// rules say, for packages whose path begins with a prefix, which of our
// packages their non-test code may import. The first rule that fits decides;
// a package without a rule fails the test, so that a new room gets a wall.
var rules = []struct {
	room string
	may  []string
}{
	{"internal/", []string{"internal/"}},
	{"lang/addr", []string{"internal/"}},
	{"lang", []string{"lang", "providers/offer", "providers/failure", "providers/retry", "internal/"}},
	{"state", []string{"state", "lang/addr", "internal/"}},
	{"providers/offer", nil},
	{"providers/failure/breaker", []string{"providers/failure"}},
	{"providers/failure", []string{"internal/lazyregexp"}},
	{"providers/retry", []string{"providers/offer", "providers/failure"}},
	{"providers", []string{"providers", "internal/"}},
	{"planner/apply", []string{"planner", "lang", "state", "providers", "internal/"}},
	{"planner", []string{"planner", "lang", "state", "providers/offer", "providers/failure", "providers/retry", "internal/"}},
	{"cmd/", []string{"planner", "lang", "state", "providers", "internal/", "cmd/"}},
	{"examples/", []string{"providers", "internal/"}},
}

type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

func TestRooms(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, ok := ruleFor(name)
		if !ok {
			t.Errorf("%s stands in no room: add a rule", name)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := strings.CutPrefix(imp, module); ours && !under(dep, may) {
				t.Errorf("%s must not import %s", name, dep)
			}
		}
	}
}

// walls are within a room of rules: a package, and what of the same room it must
// not import.
var walls = []struct {
	room string
	not  []string
}{
	// What expressions may call knows no expressions, and what files hold neither.
	{"lang/functions", []string{"lang/expr", "lang/grid"}},
	{"lang/disk", []string{"lang"}},
	// What every batch scheduler needs knows none of them.
	{"providers/batch", []string{"providers/slurm", "providers/pbs"}},
	// What every cloud needs knows none of them.
	{"providers/rental", []string{"providers/lambda", "providers/paperspace", "providers/runpod", "providers/vastai"}},
	// What Slurm's commands answer, the script and what a site offers are known
	// without what is done with them.
	{"providers/slurm/cluster", []string{"providers/batch/node", "providers/host", "providers/ssh"}},
	{"providers/slurm", []string{"providers/batch/node", "providers/batch/arrays", "providers/ssh"}},
	{"providers/pbs/cluster", []string{"providers/batch/node", "providers/host", "providers/ssh", "providers/slurm"}},
	{"providers/pbs", []string{"providers/batch/node", "providers/batch/arrays", "providers/ssh", "providers/slurm"}},
	// Which GPUs a job gets, and what they are used for, is known without jobs.
	{"providers/host/queue/devices", []string{"providers/host/attempt", "providers/host/journal", "providers/host/spool", "providers/host/wire", "providers/wrapper"}},
	// What runs closures knows nothing of what they do.
	{"planner/apply/loop", []string{"planner", "lang", "state", "providers"}},
	// Where cells stand is known without backends.
	{"planner/apply/cells", []string{"planner/apply/backends", "planner/apply/staging", "planner/apply/connection", "providers"}},
	// What moves files knows no budget.
	{"planner/apply/staging", []string{"planner/apply/ledger"}},
	// What reaches backends beside a run knows nothing of plans and runs.
	{"cmd/muster/contact", []string{"planner/apply/backends", "planner/apply/connection", "planner/apply/refresh", "planner/planfile", "planner/view"}},
	// What backends have is told to the engine, which decides what follows.
	{"planner/apply/backends", []string{"planner/apply/ledger", "planner/apply/retry", "planner/place"}},
}

func TestWalls(t *testing.T) {
	pkgs := list(t)
	for _, w := range walls {
		stands := false
		for _, p := range pkgs {
			name := strings.TrimPrefix(p.ImportPath, module)
			if !within(name, w.room) {
				continue
			}
			stands = true
			for _, imp := range p.Imports {
				if dep, ours := strings.CutPrefix(imp, module); ours && under(dep, w.not) {
					t.Errorf("%s must not import %s", name, dep)
				}
			}
		}
		if !stands {
			t.Errorf("there is no %s: its wall holds nothing", w.room)
		}
	}
}

// pure are the rooms that only compute.
var pure = []string{
	"cmd/muster/selection", "cmd/muster/page",
	"planner", "planner/advice", "planner/amount", "planner/budget", "planner/change", "planner/checklist", "planner/history", "planner/explain",
	"planner/fit", "planner/forecast", "planner/ceiling", "planner/observed",
	"planner/place", "planner/warnings", "planner/result",
	"planner/transfers", "planner/unattended",
	"providers/failure", "providers/retry",
}

// TestPureRooms holds that planning, and wording what was found, read no clock
// and touch nothing.
func TestPureRooms(t *testing.T) {
	forbidden := []string{"os", "net", "context", "os/exec", "net/http"}
	for _, name := range pure {
		if _, err := os.Stat("../../" + name); err != nil {
			t.Errorf("there is no %s: take it out of the list", name)
		}
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if !slices.Contains(pure, name) {
			continue
		}
		for _, imp := range p.Imports {
			for _, f := range forbidden {
				if imp == f {
					t.Errorf("%s is pure and must not import %s", name, imp)
				}
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table of packages in docs/architecture.md")

// TestPackagesAreDescribed: every package says in its comment what it owns, and the
// page about the architecture has that sentence, so that whoever is new finds it.
func TestPackagesAreDescribed(t *testing.T) {
	const path, begin, end = "../../docs/architecture.md", "<!-- packages -->\n", "<!-- end of packages -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of packages between %q and %q", path, begin, end)
	}
	var table strings.Builder
	table.WriteString("| package | what it is |\n|---|---|\n")
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		switch {
		case name == "internal/archtest", name == "internal/systemtest", strings.HasSuffix(name, "/pb"):
			continue // tests alone, and generated code
		case p.Doc == "":
			t.Errorf("%s has no package comment", name)
		}
		fmt.Fprintf(&table, "| `%s` | %s |\n", name, strings.ReplaceAll(summary(p), "|", "\\|"))
	}
	if table.String() == old {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of packages in docs/architecture.md is out of date: run `go test ./internal/archtest -update`")
}

// summary is the first sentence of a package's comment, without its first words.
func summary(p pkg) string {
	for _, start := range []string{"Package " + p.Name + " ", "Command " + path.Base(p.ImportPath) + " "} {
		if rest, ok := strings.CutPrefix(p.Doc, start); ok {
			return strings.TrimSuffix(rest, ".")
		}
	}
	return strings.TrimSuffix(p.Doc, ".")
}

func ruleFor(name string) ([]string, bool) {
	for _, r := range rules {
		if within(name, r.room) {
			return r.may, true
		}
	}
	return nil, false
}

func under(dep string, rooms []string) bool {
	for _, r := range rooms {
		if within(dep, r) {
			return true
		}
	}
	return false
}

// within reports whether a package is in a room: the room itself or below.
func within(name, room string) bool {
	if strings.HasSuffix(room, "/") {
		return strings.HasPrefix(name, room)
	}
	return name == room || strings.HasPrefix(name, room+"/")
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Imports", module+"...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // cmd/muster-nvml is empty without
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	return pkgs
}
