package rental_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/rental"
)

// cannotProve is the program of a machine whose own key does not work.
const cannotProve = "prove"

var errTold = errors.New("told")

type doubtful struct{ platform }

func (doubtful) ProveItself() string { return cannotProve }

// A machine whose own key does not work is used, and said to have no ceiling.
func TestAMachineThatCannotEndItself(t *testing.T) {
	t.Parallel()
	n := newTown(t, nil)
	n.provider.Close()
	n.backend.OnHold = "release"
	n.provider = rental.NewWith(doubtful{platform{world: n.world, key: "key"}}, n, n.now, 20*time.Millisecond)
	if err := n.provider.Configure(t.Context(), n.backend); err != nil {
		t.Fatal(err)
	}
	n.submit(n.job("a", "echo '{}' > a.json"))
	told := false
	err := n.provider.Watch(t.Context(), providers.WatchRequest{Backend: n.backend.Name}, func(b providers.Batch) error {
		for _, note := range b.Notes {
			if strings.Contains(note.Text, "it cannot end itself: no ceiling while muster is off: $0.3441/h") {
				told = true
				return errTold
			}
		}
		return nil
	})
	if !told {
		t.Errorf("%v", err)
	}
}
