package events

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func loaded(t *testing.T, spool string) *Log {
	t.Helper()
	l := In(spool)
	if err := l.Load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestALogIsReadAsItWasWritten, but for a last line that was cut short: its
// number is given to the next.
func TestALogIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	spool := t.TempDir()
	l := loaded(t, spool)
	bell := l.Bell()
	if err := l.Add(Event{Seen: offer.Observation{Token: "a"}}, Event{Note: &providers.Note{Text: "b"}}, Event{Seen: offer.Observation{Token: "c"}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-bell:
	default:
		t.Error("nobody was woken")
	}
	path := filepath.Join(spool, "events")
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, fi.Size()-1); err != nil {
		t.Fatal(err)
	}
	l = loaded(t, spool)
	if err := l.Add(Event{Seen: offer.Observation{Token: "d"}}); err != nil {
		t.Fatal(err)
	}
	all := loaded(t, spool).All()
	if len(all) != 3 || all[0].Seen.Token != "a" || all[1].Note == nil || all[1].Note.Text != "b" || all[2].Seen.Token != "d" || all[2].Seq != 3 {
		t.Errorf("the log is %+v", all)
	}
}

func TestACursorIsKept(t *testing.T) {
	t.Parallel()
	spool := t.TempDir()
	l := loaded(t, spool)
	if err := l.Add(make([]Event, 5)...); err != nil {
		t.Fatal(err)
	}
	for cursor, want := range map[string]int{"": 0, "3": 3, "-1": 0, "9": 5, "x": 0} {
		if at := l.From(cursor); at != want {
			t.Errorf("from %q: %d, want %d", cursor, at, want)
		}
	}
	l.Ack("4")
	if at := loaded(t, spool).From(""); at != 4 {
		t.Errorf("what was acknowledged: %d, want 4", at)
	}
}
