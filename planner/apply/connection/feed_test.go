package connection

import (
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func TestTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		place  Backend
		given  int // on this queue
		all    int // on the place
		own    offer.Limits
		driven bool
		asleep int
		want   bool
	}{
		"slots are fed twice over":         {Backend{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 7, 7, offer.Limits{}, true, 0, true},
		"and no deeper":                    {Backend{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 8, 8, offer.Limits{}, true, 0, false},
		"but for jobs that must not start": {Backend{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 9, 9, offer.Limits{}, true, 2, true},
		"a queue that goes on alone":       {Backend{Can: offer.Capabilities{HostQueue: true, FeedSlots: 2}}, 8, 8, offer.Limits{}, false, 0, true},
		"a pool takes no more submissions": {Backend{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, 3, 3, offer.Limits{}, false, 0, false},
		"but more of those of another qos": {Backend{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, 3, 3, offer.Limits{MaxSubmit: 5}, false, 0, true},
		"or fewer":                         {Backend{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, 2, 2, offer.Limits{MaxSubmit: 2}, false, 0, false},
		"or any number":                    {Backend{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, 9, 9, offer.Limits{MaxSubmit: offer.NoLimit}, false, 0, true},
		"where the pool sets none":         {Backend{Pools: map[string]offer.Pool{"p": {}}}, 2, 2, offer.Limits{MaxSubmit: 2}, false, 0, false},
		"a cap over all queues of a place": {Backend{Conf: providers.Backend{MaxParallel: 4}}, 1, 4, offer.Limits{}, false, 0, false},
		"its queue keeps the cap":          {Backend{Can: offer.Capabilities{HostQueue: true}, Conf: providers.Backend{MaxParallel: 4}}, 4, 4, offer.Limits{}, false, 0, true},
	} {
		f := Feed{Slots: 4}
		for range c.given {
			f.Give("p", c.own, 1)
		}
		if got := f.Takes(&c.place, "p", c.own, c.driven, c.asleep, c.all+1); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTakesBesideOthers: jobs with a limit of their own take none of the others'.
func TestTakesBesideOthers(t *testing.T) {
	t.Parallel()
	f, place, own := Feed{Slots: 4}, Backend{Pools: map[string]offer.Pool{"p": {MaxSubmit: 3}}}, offer.Limits{MaxSubmit: 5}
	for range 5 {
		f.Give("p", own, 1)
	}
	if f.Takes(&place, "p", own, false, 0, 6) || !f.Takes(&place, "p", offer.Limits{}, false, 0, 6) {
		t.Error("five of five are there, and none of three")
	}
}
