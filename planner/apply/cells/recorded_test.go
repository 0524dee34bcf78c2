package cells

import (
	"testing"

	"github.com/muster-run/muster/state"
)

func TestFromRecords(t *testing.T) {
	t.Parallel()
	for s, want := range map[state.Status][2]Status{
		state.Submitting: {Submitting, Held},
		state.Queued:     {Queued, Held},
		state.Running:    {Running, Held},
		state.Verifying:  {Verifying, Held},
		state.Waiting:    {Queued, Held},
		state.Held:       {Queued, Held},
		state.Failed:     {Queued, Failed},
		state.Cancelled:  {Queued, Cancelled},
	} {
		if got := [2]Status{InFlightAs(s), HeldAs(&state.Job{Status: s})}; got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
		if in := InFlightAs(s); !in.InFlight() {
			t.Errorf("%s in flight is %v", s, in)
		}
	}
	if got := HeldAs(nil); got != Held {
		t.Errorf("without a record %v", got)
	}
}

func TestRestsAs(t *testing.T) {
	t.Parallel()
	for s, want := range map[state.Status][2]Status{ // as it is, and where it is tried again
		state.Completed: {Done, Done},
		state.Failed:    {Failed, Pending},
		state.Cancelled: {Cancelled, Cancelled},
		state.Held:      {Held, Held},
		state.Waiting:   {Pending, Pending},
		state.Forgotten: {Pending, Pending},
	} {
		rec := &state.Job{Status: s}
		if got := [2]Status{RestsAs(rec, false), RestsAs(rec, true)}; got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
	if got := RestsAs(nil, true); got != Skipped {
		t.Errorf("without a record %v", got)
	}
}
