package host

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestTwoCampaignsWriteOneFile: a job does not start while one of another campaign
// writes where it is to write: neither would find a file of the other. It finds the
// file afterwards, and leaves it alone. What others of its campaign write is its own
// business, and so is a file that is shared.
func TestTwoCampaignsWriteOneFile(t *testing.T) {
	// Requirement: STO-16
	t.Parallel()
	w := newWorld(t)
	first := w.job("until test -e go; do sleep 0.02; done; echo first > r", "r")
	first.Address = "phase.first"
	w.submit(first)
	w.until("the first to run", func() bool { return w.seen[first.Token].Status == offer.Running })

	other := *w
	other.place.Lineage, other.place.Campaign = "other", "theirs"
	other.cursor, other.seen, other.all, other.notes = "", map[string]offer.Observation{}, nil, nil
	second := w.job("echo second > r", w.path("r"))
	second.Guard = &offer.Guard{}
	shared := w.job("echo shared > s", "s")
	shared.Outputs = append(shared.Outputs, providers.Output{Name: "r", Kind: "path", Path: "r", Shared: true})
	shared.Phase = "shared"
	other.submit(second, shared)
	other.until("the second to wait", func() bool {
		return strings.Contains(other.seen[second.Token].Reason, "phase.first of campaign \"c\" writes to")
	})
	other.until("the shared one to run", func() bool {
		return other.seen[shared.Token].Status != "" && other.seen[shared.Token].Status != offer.Queued
	})
	if _, err := os.Stat(w.path("r")); err == nil {
		t.Error("the second wrote before the first had ended")
	}
	os.WriteFile(w.path("go"), nil, 0o644)
	if o := w.wait(first)[0]; o.Status != offer.Completed {
		t.Errorf("the first: %+v", o)
	}
	if o := other.wait(second)[0]; o.Status != offer.Failed || o.Class != "not_its_own" {
		t.Errorf("the second: %+v", o)
	}
	if b, _ := os.ReadFile(w.path("r")); string(b) != "first\n" {
		t.Errorf("the file has %q", b)
	}
}

// TestWaitNamesTheOtherCampaign: a job that waits for room says which other campaign has it: its
// folder may be gone, with its state.
func TestWaitNamesTheOtherCampaign(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.place.Slots = 1
	first := w.job("until test -e go; do sleep 0.02; done")
	w.submit(first)
	w.until("the first to run", func() bool { return w.seen[first.Token].Status == offer.Running })
	other := *w
	other.place.Lineage, other.place.Campaign = "other", "theirs"
	other.cursor, other.seen, other.all, other.notes = "", map[string]offer.Observation{}, nil, nil
	second := w.job("true")
	other.submit(second)
	want := "1 of 1 slots are in use; campaign \"c\" in " + w.place.Workdir + " runs 1 job"
	other.poll("the second to wait", func() bool { return other.find(second).Reason == want })
	os.WriteFile(w.path("go"), nil, 0o644)
	if o := other.wait(second)[0]; o.Status != offer.Completed {
		t.Errorf("the second: %+v", o)
	}
}
