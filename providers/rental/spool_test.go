package rental

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// A queue's records are where the files of its jobs survive a stop.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts Facts
		want  string
	}{
		{Facts{Home: "/root"}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/", Stop: true}}}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}}}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}, {Name: "volume", Path: "/workspace", Stop: true}}}, "/workspace/.muster/queue"},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}, {Name: "volume", Path: "/root", Stop: true}}}, ""},
	} {
		if got := c.facts.spool(); got != c.want {
			t.Errorf("%+v: %q, not %q", c.facts.Tiers, got, c.want)
		}
	}
}

// Where a stop erases the key of a machine's ssh server, the key that was learned
// before it ran again is forgotten; elsewhere it is not.
func TestKeysOfMachinesThatRanAgain(t *testing.T) {
	// Requirement: ACC-04
	t.Parallel()
	for _, c := range []struct {
		spool string
		after time.Duration // its start, after the key was learned
		there bool
	}{{"", time.Minute, true}, {"/workspace/q", time.Minute, false}, {"/workspace/q", -time.Minute, true}} {
		folder := filepath.Join(t.TempDir(), "boxes", "a")
		known := filepath.Join(folder, "known_hosts")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(known, []byte("host key\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h, err := overSSH{c.spool}.Dial(providers.Backend{Name: "c", Workdir: "/workspace/w"}, Machine{Host: "192.0.2.1", Port: 22, User: "root", Up: time.Now().Add(c.after)}, folder)
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		if _, err := os.Stat(known); (err == nil) != c.there {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
