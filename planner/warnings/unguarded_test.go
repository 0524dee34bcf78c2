package warnings

import (
	"slices"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestUnguarded: a plan names each backend once that writes over what is at
// output paths, if jobs with outputs start there.
func TestUnguarded(t *testing.T) {
	t.Parallel()
	can := map[string]offer.Capabilities{"bare": {}, "local": {Guard: true}}
	work := func(backend string, starting int, outputs ...*lang.Output) Work {
		return Work{Phase: &lang.Phase{Name: "p", Outputs: outputs}, Placements: []place.Decision{{}, {Backend: backend}}, Starting: map[int]int{1: starting}}
	}
	out := &lang.Output{Name: "o"}
	for name, c := range map[string]struct {
		works []Work
		want  []string
	}{
		"guards":         {works: []Work{work("local.local", 1, out)}},
		"not asked":      {works: []Work{work("other.x", 1, out)}},
		"no outputs":     {works: []Work{work("bare.x", 1)}},
		"nothing starts": {works: []Work{work("bare.x", 0, out)}},
		"no place":       {works: []Work{{Phase: &lang.Phase{Outputs: []*lang.Output{out}}, Starting: map[int]int{0: 1}}}},
		"two phases": {works: []Work{work("bare.x", 1, out), work("bare.x", 2, out)}, want: []string{
			"backend.bare.x does not protect files: a job there writes over a file that comes to its output path after this plan.",
		}},
	} {
		if got := Unguarded(c.works, can); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
