package warnings

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/backends"
)

func byHand(machines ...backends.Machine) []*lang.Backend {
	return []*lang.Backend{{Type: "ssh", Name: "gpu", Rented: machines}}
}

// TestWhatIsRentedByHandIsNotOurs: who destroys a campaign is told what goes on
// being billed, since when and how much, and by whom it is to be ended.
func TestWhatIsRentedByHandIsNotOurs(t *testing.T) {
	t.Parallel()
	if got := NotOurs(byHand()); got != "" {
		t.Errorf("%q of none", got)
	}
	box := backends.Machine{Name: "box", Status: "stopped", Since: now.AddDate(0, 0, -9), PerHour: "0.02"}
	want := "Rented by hand, so that muster does not end it: box on ssh.gpu, stopped since 2026-02-20, at $0.02/h. It is billed until you give it back where you rented it."
	if got := NotOurs(byHand(box)); got != want {
		t.Errorf("%q", got)
	}
	want = "Rented by hand, so that muster does not end them: big on ssh.gpu, running, at an unknown price; box on ssh.gpu, stopped since 2026-02-20, at $0.02/h. They are billed until you give them back where you rented them."
	if got := NotOurs(byHand(box, backends.Machine{Name: "big", Status: "running"})); got != want {
		t.Errorf("%q", got)
	}
}

// TestNobodyRentsSinceATimeToCome: muster computes no date from it; but a day that has begun
// somewhere is not in the future.
func TestNobodyRentsSinceATimeToCome(t *testing.T) {
	t.Parallel()
	for since, ahead := range map[time.Time]bool{
		{}: false, now: false, now.Add(-time.Hour): false,
		time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC): false, // it is noon, and tomorrow in Kiribati
		time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC): true,
		now.Add(time.Minute):                        true,
		now.AddDate(1, 0, 0):                        true,
	} {
		got := Ahead(byHand(backends.Machine{Name: "box", Status: "stopped", Since: since}), now)
		if got.HasErrors() != ahead {
			t.Errorf("since %v: %v", since, got)
			continue
		}
		if ahead && (!strings.Contains(got.Err().Error(), "box has been stopped since a time in the future") || !strings.Contains(got[0].Detail, "and it is 2026-03-01T12:00:00Z now. Write since when it has been stopped")) {
			t.Errorf("%v", got.Err())
		}
	}
}
