package observed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestMachines: records follow what providers say, and an orphan is no machine of the
// campaign.
func TestMachines(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	recorded := map[string]state.Rental{
		"gone":    {ID: "gone", Backend: "far.x", Status: state.RentalRunning, PerHour: "0.50", Since: at},
		"leaving": {ID: "leaving", Backend: "far.x", Status: state.RentalDeleting, PerHour: "0.50", Since: at},
		"unheard": {ID: "unheard", Backend: "far.y", Status: state.RentalRunning, Since: at},
	}
	var r Refresh
	if diff := cmp.Diff(recorded, r.Machines(recorded, at)); diff != "" {
		t.Errorf("nobody was asked, (-recorded +got):\n%s", diff)
	}
	later := at.Add(time.Hour)
	r.Rented("far.x", []offer.Rental{
		{ID: "gone", Status: offer.RentalReleased, Since: later},
		{ID: "leaving", Status: offer.RentalRunning},
		{ID: "new", Status: offer.RentalRunning, Since: later, Rate: "0.40", Kind: "1× RTX 4090"},
		{ID: "never heard of, and gone", Status: offer.RentalReleased},
		{ID: "stray", Status: offer.RentalRunning, Rate: "0.30", Orphan: true},
		{ID: "stray, and gone", Status: offer.RentalReleased, Orphan: true},
	})
	want := map[string]state.Rental{
		"gone":    {ID: "gone", Backend: "far.x", Status: state.RentalReleased, PerHour: "0.50", Since: later},
		"leaving": recorded["leaving"],
		"unheard": recorded["unheard"],
		"new":     {ID: "new", Kind: "1× RTX 4090", Backend: "far.x", Status: state.RentalRunning, PerHour: "0.40", Since: later},
	}
	if diff := cmp.Diff(want, r.Machines(recorded, later)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Orphan{{Backend: "far.x", ID: "stray", PerHour: "0.30"}}, r.Orphans); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
	if recorded["gone"].Status != state.RentalRunning {
		t.Error("the records were changed")
	}
}
