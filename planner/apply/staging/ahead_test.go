package staging

import (
	"iter"
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestNothingIsMovedToAPlaceThatHasNotAnswered: while a host is away nobody knows
// what ~ is there, nor which files it shares; a consumer waits, and its files are
// brought to where the host says that they are.
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
	here := &connection.Backend{Name: "local.local", Conf: providers.Backend{Name: "local.local", Type: "local", Workdir: "/w"}, Provider: silent{}}
	here.Stock([]offer.Pool{{}})
	lab := &connection.Backend{Name: "ssh.lab", Conf: providers.Backend{Name: "ssh.lab", Type: "ssh", Workdir: "~/work"}, Can: offer.Capabilities{HostQueue: true}}
	lost, asked, r := 0, 0, &direct{stopped: true}
	there := &Endpoint{Backend: lab}
	made := &state.Job{Address: "phase.a", Status: state.Completed, Attempts: []state.Attempt{{N: 1, Backend: "local.local"}},
		Outputs: []state.Output{{Name: "o", Backend: "local.local", Workdir: "/w", Path: "a", Digest: "d"}}}
	ts := New(Config{
		State: &state.State{Jobs: map[string]*state.Job{"phase.a": made}},
		Backends: known{places: []*connection.Backend{here, lab}, at: func(name string) *Endpoint {
			if name == "local.local" {
				return &Endpoint{Backend: here}
			}
			return there
		}, ask: func() { asked++ }, lost: func() { lost++ }},
		Loop: r, Engine: r,
	})
	var freed []int32
	ed := NewEdge(cells.NewGroups(c.Phases[1].Inputs[0], 1, 1), func(late []int32) { freed = append(freed, late...) })

	ts.Ahead(&ed, 0, there, "h1")
	if v, why := ts.Bring(&ed, 0, there, "h1", false); v != Coming || why != "" {
		t.Errorf("brought to a host that is away: %v %q", v, why)
	}
	ts.Bring(&ed, 0, there, "h1", false)
	if len(ts.deliveries) != 0 || lost != 1 || asked != 1 || len(r.later) != 1 || !ts.Asking() {
		t.Errorf("%d deliveries, lost %d, asked %d, later %d, asking %t", len(ts.deliveries), lost, asked, len(r.later), ts.Asking())
	}
	lab.Provider = silent{}
	lab.Stock([]offer.Pool{{Name: "h1", Home: "/home/alice", Filesystem: "h1"}})
	ts.Met()
	r.later[0]()
	if len(freed) != 1 || ts.Asking() {
		t.Errorf("freed %v, asking %t", freed, ts.Asking())
	}
	if v, _ := ts.Bring(&ed, 0, there, "h1", false); v != Coming || len(ts.deliveries) != 1 {
		t.Errorf("%v, %d deliveries", v, len(ts.deliveries))
	}
	ts.Ahead(&ed, 0, there, "h1") // the same delivery
	for _, delivery := range ts.deliveries {
		if delivery.to.Workdir != "/home/alice/work" || len(ts.deliveries) != 1 {
			t.Errorf("moved to %q", delivery.to.Workdir)
		}
	}
}

// silent answers nothing: it is not asked.
type silent struct{ providers.Provider }

// known are backends of a run.
type known struct {
	places []*connection.Backend
	at     func(name string) *Endpoint
	ask    func()
	lost   func()
}

func (k known) Places() iter.Seq[*connection.Backend] { return slices.Values(k.places) }

func (k known) Endpoint(name, _ string) *Endpoint { return k.at(name) }

func (k known) Ask(*Endpoint) { k.ask() }

func (k known) Lost(*Endpoint, error) { k.lost() }

func (k known) Answered(*Endpoint) {}
