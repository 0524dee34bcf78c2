package result

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

func phase(t *testing.T) *lang.Phase {
	t.Helper()
	return load(t, `campaign "test" {}
phase "a" {
  grid {
    axes = { seed = [1, 2] }
  }
  job {
    command = "train --seed ${cell.seed} --out ${output.out}"
    output "out" {
      path = "out/${cell.seed}.txt"
    }
    resources {
      walltime = "1h"
    }
  }
}
`)
}

func load(t *testing.T, text string) *lang.Phase {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.muster.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, diags := lang.Load(lang.LoadOptions{Dir: dir, Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return c.Phases[0]
}

// TestHashingACellAllocatesNothing is exact where a time would not be.
func TestHashingACellAllocatesNothing(t *testing.T) {
	p := phase(t)
	h := New(Scheme, nil)
	h.Phase(p)
	if n := testing.AllocsPerRun(100, func() { h.cell(p, 1, 0, "", nil) }); n > 0 {
		t.Errorf("%v allocations a cell", n)
	}
}

// TestHashesAreTextAndBack: what is written into a record is read again and
// compared; what is no hash is none.
func TestHashesAreTextAndBack(t *testing.T) {
	column := New(Scheme, nil).Phase(phase(t))
	if column[0] == column[1] {
		t.Error("two seeds have one hash")
	}
	for i, h := range column {
		back, ok := ParseHash(h.String())
		if !ok || back != h || !h.Is(h.String()) || h.Is(column[1-i].String()) {
			t.Errorf("%s comes back as %s", h, back)
		}
	}
	for _, text := range []string{"", "12", column[0].String() + "0", "G" + column[0].String()[1:]} {
		if _, ok := ParseHash(text); ok || column[0].Is(text) {
			t.Errorf("%q counts as a hash", text)
		}
	}
}

// A campaign that says nothing new about its checkpoints keeps the hashes that older states
// hold, and how checkpoints are verified determines no result.
//
// Requirement: WT-08, STO-08
func TestCheckpointHashesStay(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"path": {`checkpoint { path = "ck/${cell.seed}" }`, "ec5b16c56f461acde96b076fd185e166"},
		"interval": {`checkpoint {
    path     = "ck/${cell.seed}"
    interval = "10m"
    signal   = "USR1"
    grace    = "30s"
  }`, "ec5b16c56f461acde96b076fd185e166"},
		"verified": {`checkpoint {
    path           = "ck/${cell.seed}"
    verify         = "zip"
    min_size       = "1KiB"
    verify_timeout = "5m"
  }`, "ec5b16c56f461acde96b076fd185e166"},
		"kept": {`checkpoint {
    glob = "ck/${cell.seed}/*"
    keep = 2
  }`, "ec5b16c56f461acde96b076fd185e166"},
	} {
		p := load(t, `campaign "test" {}
phase "a" {
  grid { axes = { seed = [1, 2] } }
  job {
    command = "train --seed ${cell.seed} --resume ${checkpoint} --out ${output.out}"
    output "out" { path = "out/${cell.seed}.txt" }
    resources { walltime = "1h" }
  }
  `+c.block+`
}
`)
		if got := New(Scheme, nil).Phase(p)[1].String(); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestADrillIsAnotherSmoke: a smoke that passed without its drill does not count for
// one with it, and the runs have the hash that they had.
func TestADrillIsAnotherSmoke(t *testing.T) {
	const text = `
campaign "c" {}
phase "a" {
  checkpoint { path = "ck" }
  smoke {
    %s
    expect { condition = metric.m > 0 }
  }
  job {
    command = "x ${checkpoint} ${output.o}"
    output "o" { path = "o" }
    metric "m" {
      output = "o"
      json   = "/m"
    }
  }
}
`
	without, with := load(t, fmt.Sprintf(text, "")), load(t, fmt.Sprintf(text, "resume_drill = true"))
	h := New(Scheme, nil)
	if h.Fingerprint(without, 0, "local.local", nil) == h.Fingerprint(with, 0, "local.local", nil) {
		t.Error("a smoke with a drill has the fingerprint of one without")
	}
	if a, b := h.Phase(without)[0], h.Phase(with)[0]; a != b {
		t.Errorf("the drill changed the hash of the run from %s to %s", a, b)
	}
}
