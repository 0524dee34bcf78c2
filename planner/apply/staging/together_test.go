package staging

import (
	"testing"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers/offer"
)

// TestTogether: hosts that have a queue each never count as having the same
// files, though only one of them answers: what the others made is there.
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
		p := &connection.Backend{Name: "ssh.lab", Can: offer.Capabilities{HostQueue: true}, Offers: c.pools}
		ts := New(Config{Backends: known{places: []*connection.Backend{p}}})
		if got := ts.Together(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
