package freight

import (
	"iter"
	"testing"

	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers/offer"
)

// TestTogether: hosts that have a queue each never count as having the same
// files, though only one of them answers: what the others made lies there.
func TestTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pools []offer.Pool
		want  bool
	}{
		"one machine":            {[]offer.Pool{{Filesystem: "x"}}, true},
		"nobody answers":         {nil, true},
		"one of several answers": {[]offer.Pool{{Name: "b", Filesystem: "x"}}, false},
		"two with other files":   {[]offer.Pool{{Name: "a", Filesystem: "x"}, {Name: "b", Filesystem: "y"}}, false},
	} {
		p := &line.Place{Name: "ssh.lab", Can: offer.Capabilities{HostQueue: true}, Offers: c.pools}
		fr := New(Run{Places: func() iter.Seq[*line.Place] { return func(yield func(*line.Place) bool) { yield(p) } }})
		if got := fr.Together(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
