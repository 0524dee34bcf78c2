package cells

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestGoOn: a job goes on with some producers only when all have ended and enough are
// done.
// Requirement: DEP-02, DEP-03
func TestGoOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		require string
		at      [4]Status
		reads   []int // nil: it does not go on
	}{
		"enough done":           {`"75%"`, [4]Status{Done, Failed, Done, Done}, []int{0, 2, 3}},
		"a share is rounded up": {`"60%"`, [4]Status{Done, Failed, Failed, Done}, nil},
		"a count":               {`2`, [4]Status{Done, Failed, Cancelled, SkippedDone}, []int{0, 3}},
		"one runs":              {`2`, [4]Status{Done, Failed, Running, Done}, nil},
		"one is retried":        {`2`, [4]Status{Done, Failed, Waiting, Done}, nil},
		"one has yet to start":  {`2`, [4]Status{Done, Failed, Ready, Done}, nil},
		"one is held":           {`2`, [4]Status{Done, Failed, Held, Done}, nil},
		"one is not selected":   {`2`, [4]Status{Done, Failed, Skipped, Done}, nil},
		"none, and none needed": {`"0%"`, [4]Status{Failed, Failed, Failed, Failed}, []int{}},
		"all needed":            {`"100%"`, [4]Status{Done, Failed, Done, Done}, nil},
	} {
		all := gathers(t, c.require)
		for cell, s := range c.at {
			all[0].Set(int32(cell), s)
		}
		Count(all)
		freed := 0
		opened := GoOn(all, func(n *Vertex, cell int32) bool { return n.At[cell] == Failed || n.At[cell] == Cancelled }, func(*Vertex, int32) { freed++ })
		if opened != (c.reads != nil) || opened != (freed == 1) {
			t.Errorf("%s: opened %v, freed %d", name, opened, freed)
			continue
		}
		if got := all[1].Reads[0].Members(0); opened && !slices.Equal(got, c.reads) {
			t.Errorf("%s: reads %v, not %v", name, got, c.reads)
		}
		if opened && GoOn(all, func(*Vertex, int32) bool { return true }, func(*Vertex, int32) { t.Errorf("%s: freed twice", name) }) {
			t.Errorf("%s: opened twice", name)
		}
	}
}

// gathers is a phase of four cells and one cell that reads all of them.
func gathers(t *testing.T, require string) []*Vertex {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
grid "g" { axes = { n = [1, 2, 3, 4] } }
phase "a" {
  grid = grid.g
  job {
    command = ["true"]
    output "o" { path = "a/${cell.n}" }
  }
}
phase "b" {
  job {
    command = ["true", input.a]
    input "a" {
      from_all = phase.a.output.o
      require  = ` + require + `
    }
    output "o" { path = "b" }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	all := []*Vertex{{Tally: NewTally(4)}, {Tally: NewTally(1), Ord: 1}}
	all[1].Set(0, Pending)
	gs := NewGroups(c.Phases[1].Inputs[0], 4, 1)
	Connect(&gs, all[0], all[1])
	return all
}
