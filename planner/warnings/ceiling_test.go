package warnings

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A plan says what it costs an hour that nothing ends with muster off.
func TestNoCeiling(t *testing.T) {
	t.Parallel()
	can := map[string]offer.Capabilities{"ends": {Rents: true, DeadMan: true}, "bills": {Rents: true}, "ssh": {}}
	pools := []offer.Pool{
		{Backend: "bills.x", Name: "a", GPUs: 8, Total: 16, Price: offer.Price{Known: true, USDPerHour: "31.92"}},
		{Backend: "bills.x", Name: "b", GPUs: 1, Total: 2, Price: offer.Price{Known: true, USDPerHour: "1.29"}},
		{Backend: "bills.x", Name: "unused", GPUs: 1, Total: 2, Price: offer.Price{Known: true, USDPerHour: "99"}},
		{Backend: "ends.x", Name: "a", GPUs: 1, Total: 1, Price: offer.Price{Known: true, USDPerHour: "0.30"}},
	}
	for _, c := range []struct {
		typ, hold string
		used      [][2]string
		want      string
	}{
		{"ends", "release", [][2]string{{"ends.x", "a"}}, ""},
		{"ends", "stop", [][2]string{{"ends.x", "a"}}, ""},
		{"ends", "keep", [][2]string{{"ends.x", "a"}}, "backend.ends.x: no ceiling while muster is off: $0.30/h."},
		{"bills", "release", [][2]string{{"ends.x", "a"}}, ""},
		{"bills", "release", [][2]string{{"bills.x", "b"}}, "backend.bills.x: no ceiling while muster is off: $2.58/h. Only muster and the provider's console end a machine there."},
		{"bills", "keep", [][2]string{{"bills.x", "b"}, {"bills.x", "a"}}, "backend.bills.x: no ceiling while muster is off: $63.84/h."},
		{"bills", "release", [][2]string{{"bills.x", "gone"}}, "backend.bills.x: no ceiling while muster is off: $?/h. Only muster and the provider's console end a machine there."},
		{"ssh", "", [][2]string{{"ssh.x", "a"}}, ""},
	} {
		b := &lang.Backend{Type: c.typ, Name: "x", OnHold: c.hold}
		if got := strings.Join(NoCeiling([]*lang.Backend{b}, c.used, pools, can), "\n"); got != c.want {
			t.Errorf("%s, %s, %v: %q, not %q", c.typ, c.hold, c.used, got, c.want)
		}
	}
}

// TestIdling: a plan says how long a machine is kept after its last job, what that costs,
// and what ends it.
func TestIdling(t *testing.T) {
	// Requirement: TDN-19
	t.Parallel()
	can := map[string]offer.Capabilities{"cloud": {Rents: true}, "ssh": {}}
	pools := []offer.Pool{
		{Backend: "cloud.x", Name: "a", GPUs: 8, Total: 16, Price: offer.Price{Known: true, USDPerHour: "3"}},
		{Backend: "cloud.x", Name: "b", GPUs: 1, Total: 2, Price: offer.Price{Known: true, USDPerHour: "0.45"}},
		{Backend: "cloud.x", Name: "c", GPUs: 1, Total: 2},
		{Backend: "ssh.x", Name: "a", GPUs: 1, Total: 1, Price: offer.Price{Known: true, USDPerHour: "0.30"}},
	}
	for _, c := range []struct {
		typ, hold, pool, want string
	}{
		{"cloud", "release", "b", "backend.cloud.x keeps an idle machine for 10m, at up to $0.45/h ($0.08 each, counted above), then releases it if every output is here."},
		{"cloud", "stop", "a", "backend.cloud.x keeps an idle machine for 10m, at up to $3/h ($0.50 each, counted above), then stops it, and its disk is billed on."},
		{"cloud", "keep", "a", "backend.cloud.x keeps an idle machine for 10m, at up to $3/h ($0.50 each, counted above), and longer, until `muster destroy`."},
		{"cloud", "release dead-man", "b", "backend.cloud.x keeps an idle machine for 10m, at up to $0.45/h ($0.08 each, counted above), then releases it if every output is here. With muster off it does so itself, too; without every output here it stops, and its disk is billed until `muster destroy`."},
		{"cloud", "stop dead-man", "b", "backend.cloud.x keeps an idle machine for 10m, at up to $0.45/h ($0.08 each, counted above), then stops it, and its disk is billed on. With muster off it stops itself then, too."},
		{"cloud", "release dead-man timer", "b", "backend.cloud.x keeps an idle machine for 10m, at up to $0.45/h ($0.08 each, counted above), then releases it if every output is here. With muster off it runs until the platform's timer stops it; its disk is billed until `muster destroy`."},
		{"cloud", "keep dead-man", "b", "backend.cloud.x keeps an idle machine for 10m, at up to $0.45/h ($0.08 each, counted above), and longer, until `muster destroy`."},
		{"cloud", "release", "c", ""},
		{"cloud", "", "a", ""},
		{"ssh", "", "a", ""},
	} {
		hold, more, _ := strings.Cut(c.hold, " ")
		b := &lang.Backend{Type: c.typ, Name: "x", OnHold: hold, Hold: 10 * time.Minute, DeadMan: more != "", Timer: strings.Contains(more, "timer")}
		if got := strings.Join(Idling([]*lang.Backend{b}, [][2]string{{c.typ + ".x", c.pool}}, pools, can), "\n"); got != c.want {
			t.Errorf("%s, %s, %s: %q, not %q", c.typ, c.hold, c.pool, got, c.want)
		}
	}
}
