package cells

import (
	"fmt"
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// chain is three phases of the same axis: b reads a cell by cell, and c waits
// for all of b.
func chain(t *testing.T) []*Vertex {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(`campaign "c" {}
backend "local" "local" {}
grid "g" { axes = { n = [1, 2, 3] } }
phase "a" {
  grid = grid.g
  job {
    command = ["true"]
    output "o" { path = "a/${cell.n}" }
  }
}
phase "b" {
  grid = grid.g
  job {
    command = ["true", input.a]
    input "a" { from = phase.a.output.o }
    output "o" { path = "b/${cell.n}" }
  }
}
phase "c" {
  grid       = grid.g
  depends_on = [phase.b]
  job {
    command = ["true"]
    output "o" { path = "c/${cell.n}" }
  }
}
`)}, lang.LoadOptions{Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	all := make([]*Vertex, 3)
	for i, p := range c.Phases {
		all[i] = &Vertex{Tally: NewTally(p.Len()), Ord: i}
		for cell := range int32(p.Len()) {
			all[i].Set(cell, Pending)
		}
	}
	gs := NewGroups(c.Phases[1].Inputs[0], 3, 3)
	Connect(&gs, all[0], all[1])
	all[2].Await(all[1])
	return all
}

func TestCellsAreFreedByWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	all := chain(t)
	a, b := all[0], all[1]
	a.Set(0, Done)
	Count(all)
	if !slices.Equal(b.Waits, []int32{0, 1, 1}) || !slices.Equal(all[2].Waits, []int32{1, 1, 1}) {
		t.Errorf("waits %v and %v", b.Waits, all[2].Waits)
	}
	var freed []string
	done := func(n *Vertex, cell int32) {
		n.Set(cell, Done)
		n.Complete(cell, func(to *Vertex, c int32) { freed = append(freed, fmt.Sprint(to.Ord, ".", c)) })
	}
	done(a, 2)
	for c := range int32(3) {
		done(b, c)
	}
	if got := fmt.Sprint(freed); got != "[1.2 2.0 2.1 2.2]" {
		t.Errorf("freed %s", got)
	}
}

func TestBlockedInTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   int // phase
		s    Status
		gate bool // of b failed
		want [3]int
	}{
		"nothing":             {0, Done, false, [3]int{}},
		"one of a failed":     {0, Failed, false, [3]int{0, 1, 3}},
		"one of a is skipped": {0, Skipped, false, [3]int{0, 1, 3}},
		"one of a is there":   {0, SkippedDone, false, [3]int{}},
		"one of c is held":    {2, Held, false, [3]int{}},
		"the gate of b":       {0, Done, true, [3]int{0, 3, 3}},
	} {
		all := chain(t)
		all[c.of].Set(1, c.s)
		if c.gate {
			all[1].Gate.Order, all[1].Gate.Smokes = []int32{0}, map[int32]Status{0: Failed}
		}
		Count(all)
		if got := Blocked(all); [3]int(got) != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestAheadAndBehind(t *testing.T) {
	t.Parallel()
	all := chain(t)
	all[1].Set(0, Done)
	Count(all)
	var got []string
	for n, c := range all[2].Ahead(0) {
		got = append(got, fmt.Sprint(n.Ord, ".", c))
	}
	for n, c := range all[0].Behind(1) {
		got = append(got, fmt.Sprint(n.Ord, ".", c))
	}
	if text := fmt.Sprint(got); text != "[1.1 1.2 1.1]" {
		t.Error(text)
	}
}
