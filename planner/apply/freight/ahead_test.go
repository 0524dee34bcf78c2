package freight

import (
	"iter"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestNothingIsMovedToAPlaceThatHasNotAnswered: while a host is away nobody knows
// what ~ is there, nor which files it shares; a consumer waits, and its files are
// brought to where the host says that they lie.
func TestNothingIsMovedToAPlaceThatHasNotAnswered(t *testing.T) {
	t.Parallel()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
phase "a" {
  job {
    command = "true"
    output "o" { path = "a" }
  }
}
phase "b" {
  job {
    command = "true"
    input "i" { from = phase.a.output.o }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	here := &line.Place{Name: "local.local", Conf: providers.Backend{Name: "local.local", Type: "local", Workdir: "/w"}, Provider: silent{}}
	here.Stock([]offer.Pool{{}})
	lab := &line.Place{Name: "ssh.lab", Conf: providers.Backend{Name: "ssh.lab", Type: "ssh", Workdir: "~/work"}, Can: offer.Capabilities{HostQueue: true}}
	lost, asked, later := 0, 0, []func(){}
	berth := &Berth{Place: lab, Lost: func(error) { lost++ }, Back: func() {}}
	made := &state.Job{Address: "phase.a", Status: state.Completed, Attempts: []state.Attempt{{N: 1, Backend: "local.local"}},
		Outputs: []state.Output{{Name: "o", Backend: "local.local", Workdir: "/w", Path: "a", Digest: "d"}}}
	fr := New(Run{
		State: &state.State{Jobs: map[string]*state.Job{"phase.a": made}},
		Places: func() iter.Seq[*line.Place] {
			return func(yield func(*line.Place) bool) { _ = yield(here) && yield(lab) }
		},
		At: func(name, pool string) *Berth {
			if name == "local.local" {
				return &Berth{Place: here}
			}
			return berth
		},
		Ask: func(*Berth) { asked++ }, Later: func(_ time.Duration, f func()) { later = append(later, f) }, Stopped: func() bool { return true },
	})
	var freed []int32
	ed := NewEdge(cells.NewGroups(c.Phases[1].Inputs[0], 1, 1), func(late []int32) { freed = append(freed, late...) })

	fr.Ahead(&ed, 0, berth, "h1")
	if v, why := fr.Bring(&ed, 0, berth, "h1", false); v != Coming || why != "" {
		t.Errorf("brought to a host that is away: %v %q", v, why)
	}
	fr.Bring(&ed, 0, berth, "h1", false)
	if len(fr.cargoes) != 0 || lost != 1 || asked != 1 || len(later) != 1 || !fr.Asking() {
		t.Errorf("%d cargoes, lost %d, asked %d, later %d, asking %t", len(fr.cargoes), lost, asked, len(later), fr.Asking())
	}
	lab.Provider = silent{}
	lab.Stock([]offer.Pool{{Name: "h1", Home: "/home/alice", Filesystem: "h1"}})
	fr.Met()
	later[0]()
	if len(freed) != 1 || fr.Asking() {
		t.Errorf("freed %v, asking %t", freed, fr.Asking())
	}
	if v, _ := fr.Bring(&ed, 0, berth, "h1", false); v != Coming || len(fr.cargoes) != 1 {
		t.Errorf("%v, %d cargoes", v, len(fr.cargoes))
	}
	fr.Ahead(&ed, 0, berth, "h1") // the same cargo
	for _, cargo := range fr.cargoes {
		if cargo.to.Workdir != "/home/alice/work" || len(fr.cargoes) != 1 {
			t.Errorf("moved to %q", cargo.to.Workdir)
		}
	}
}

// silent answers nothing: it is not asked.
type silent struct{ providers.Provider }
