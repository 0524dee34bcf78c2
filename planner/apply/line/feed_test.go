package line

import (
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func TestTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place  Place
		given  int // on this queue
		all    int // on the place
		driven bool
		want   bool
	}{
		"slots are fed twice over":         {Place{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 7, 7, true, true},
		"and no deeper":                    {Place{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 8, 8, true, false},
		"a queue that goes on alone":       {Place{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 8, 8, false, true},
		"a pool takes no more submissions": {Place{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, 3, 3, false, false},
		"a cap over all queues of a place": {Place{Conf: providers.Backend{MaxParallel: 4}}, 1, 4, false, false},
		"its queue keeps the cap":          {Place{Can: offer.Capabilities{HostQueue: true}, Conf: providers.Backend{MaxParallel: 4}}, 4, 4, false, true},
	} {
		f := Feed{Slots: 4}
		for range c.given {
			f.Give("p", 1)
		}
		if got := f.Takes(&c.place, "p", c.driven, c.all+1); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
