package jobspec

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    state.Output
		want lang.OutputKind
	}{
		{state.Output{Path: "out/a", MTime: 1}, lang.File},
		{state.Output{Path: "out/odd [1]*", MTime: 1}, lang.File},
		{state.Output{Path: "out/*.pt", MTime: 1, Files: 3}, lang.Glob},
		{state.Output{Path: "out/*.pt"}, lang.Glob},
		{state.Output{Path: "out", MTime: 1, Files: 3}, lang.Dir},
	} {
		if got := KindOf(&c.o); got != c.want {
			t.Errorf("%+v is a %s, want %s", c.o, got, c.want)
		}
	}
}
