package apply

import (
	"testing"

	"github.com/muster-run/muster/state"
)

func TestWaived(t *testing.T) {
	t.Parallel()
	whole := state.Override{Address: "phase.a"}
	one := state.Override{Address: "phase.a", Fingerprint: "f1"}
	cell := state.Override{Address: `phase.a["n=1"]`, Fingerprint: "f1"}
	f1 := func() string { return "f1" }
	for name, c := range map[string]struct {
		o         state.Override
		print     func() string
		addresses []string
		want      bool
	}{
		"the whole gate":              {whole, nil, []string{"phase.a"}, true},
		"another phase's":             {whole, f1, []string{"phase.b"}, false},
		"one print, for the gate":     {one, nil, []string{"phase.a"}, false},
		"one print, for it":           {one, f1, []string{"phase.a"}, true},
		"one print, for another":      {one, func() string { return "f2" }, []string{"phase.a"}, false},
		"a cell by its address":       {cell, f1, []string{"phase.a", `phase.a["n=1"]`}, true},
		"a cell by another's address": {cell, f1, []string{"phase.a", `phase.a["n=2"]`}, false},
	} {
		if got := waived(&state.State{Overrides: []state.Override{c.o}}, c.print, c.addresses...); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
